// Multiplies by weights in blocks, whose parts have scales and may have offsets. For each part in order, an
// output takes y ← scale · Σ quant · x + y and then, if there are offsets, y ← offset · Σ x + y: products of
// x with the values would take one or two more instructions for every weight.
//
// Every function is a template over V, so that none is shared between instruction sets (lanes128.hpp).
#pragma once

#include <type_traits>

#include "kernels/simd/multiply.hpp"
#include "kernels/simd/weight_panels.hpp"
#include "kernels/workers.hpp"

namespace attn::simd {

// ---- A vector ---------------------------------------------------------------------------------------------

// Quants of the inputs 16 (pattern · group + i) + 4 j … 4 j + 3: a word has a byte of each, of Q4_K a nibble,
// with another nibble.
template <class B>
inline constexpr bool in_nibbles = std::is_same_v<B, Q4OrQ5K<false>>;

template <class V, class B, int i>
[[gnu::always_inline]] inline typename V::Words packed_quants(const std::byte* p, Index group, Index j,
                                                              Index v) {
    if constexpr (in_nibbles<B>)
        return B::template nibbles<V, i>(p, group, j, v);
    else
        return B::template quants<V, i>(p, group, j, v);
}

// A quant is masked where it lies, and so is 2 to the power of its place too large, or moved to place 0; one
// that may be negative is moved to the upper byte. A mask takes a register, of which V8 has 15 for up to four
// of them, four sums, four factors and what is between.
template <class B, int i, int input>
inline constexpr int place = B::in_upper_byte ? 24
                             : in_nibbles<B>  ? (8 * input + i / 2 * 4) % 28
                             : input < 2      ? 8 * input
                                              : 0;

template <class V, class B, int i, int input>
[[gnu::always_inline]] inline V quants_in_place(typename V::Words words) {
    using Words = typename V::Words;
    if constexpr (B::in_upper_byte) {
        static constexpr Words upper_byte = Words{} + 0xff000000u;
        words <<= 24 - 8 * input;
        return widened<V>(input == 0 ? words : words & kept(upper_byte));
    }
    constexpr int at = place<B, i, input>, in_word = 8 * input + (in_nibbles<B> ? i / 2 * 4 : 0);
    static constexpr Words mask = Words{} + ((in_nibbles<B> ? 15u : 63u) << at);
    if constexpr (at == in_word) return widened<V>(words & kept(mask));
    if constexpr (in_nibbles<B>) return widened<V>(moved_right<V, in_word>(words) & kept(mask));
    return widened<V>(moved_right<V, 24>(words << (24 - in_word)));
}

// A vector is made 2²⁴ times as large, but less by the place of the quants it is multiplied by, and scales
// are 2²⁴ times smaller. Sums keep their bits, save for those of a part that are below 2⁻¹²⁶, where floats
// have fewer.
inline constexpr float enlarged_by = 0x1p24f;

// What an input is multiplied by, the same for every `inputs` of them.
template <class B>
struct PowersOfInputs {
    static constexpr Index inputs = 16 * B::pattern;
    float power[inputs];

    constexpr PowersOfInputs() {
        unrolled<static_cast<int>(B::pattern)>([&]<int i> {
            unrolled<4>([&]<int input> {
                for (int j = 0; j < 4; ++j)
                    power[16 * i + 4 * j + input] = enlarged_by / static_cast<float>(1 << place<B, i, input>);
            });
        });
    }
};

// Reads one byte of each line of memory from `begin` to `end`, so that it is in the cache when it is needed.
// The fields of a block of 256 lie apart, and machines guess poorly what is read next: in WebAssembly, Q6_K
// took 1.4 times as long where a matrix is larger than the caches. Blocks of 32 are read in order, and were
// slower with this.
[[gnu::always_inline]] inline void touch(const std::byte* begin, const std::byte* end) {
    constexpr Index line = 64;
    for (; begin < end; begin += line) asm volatile("" ::"r"(static_cast<int>(*begin)));
}

// Adds to the panels' outputs y [16 panels] the products with `depth` inputs. x is enlarged; the bytes of all
// panels are there up to `end`.
template <class V, int panels, class B>
void add_parts(const float* x, const float* sums_of_x, PanelBytes from, const std::byte* end, Index depth,
               float* y) {
    constexpr Index sixteens = B::elements / 16 / B::parts;  // in a part
    constexpr Index block_bytes = panel_rows * B::bytes;
    Index words_of_sixteen = 4;
    asm("" : "+r"(words_of_sixteen));  // The compiler must not unroll this loop, too.
    for (Index block = 0; block < depth; block += B::elements, from.first += block_bytes) {
        OfRows<V> scale[panels][B::parts], offset[panels][B::parts];
        for (int p = 0; p < panels; ++p)
            B::template scales<V>(from.first + p * from.stride, 1 / enlarged_by, scale[p], offset[p]);
        for (Index group = 0; group < B::elements / 16 / B::pattern; ++group) {
            V sums[panels][vectors<V>];
            unrolled<static_cast<int>(B::pattern)>([&]<int i>() __attribute__((always_inline)) {
                const Index sixteen = B::pattern * group + i, part = sixteen / sixteens;
                if (const std::byte* next = from.first + block_bytes + sixteen * B::bytes;
                    panels == 1 && B::elements == 256 && end - next >= B::bytes)
                    touch(next, next + B::bytes);
                if constexpr (i % sixteens == 0)
                    for (auto& of_panel : sums)
                        for (V& sum : of_panel) sum = V::zero();
                for (Index j = 0; j < words_of_sixteen; ++j, x += 4)
                    unrolled<panels>([&]<int p>() __attribute__((always_inline)) {
                        for (Index v = 0; v < vectors<V>; ++v) {
                            const auto words =
                                packed_quants<V, B, i>(from.first + p * from.stride, group, j, v);
                            unrolled<4>([&]<int input>() __attribute__((always_inline)) {
                                sums[p][v] = V::fma(V::broadcast(x[input]),
                                                    quants_in_place<V, B, i, input>(words), sums[p][v]);
                            });
                        }
                    });
                if constexpr (i % sixteens == sixteens - 1) {
                    const V sum_of_x = V::broadcast(*sums_of_x++);
                    for (int p = 0; p < panels; ++p)
                        for (Index v = 0; v < vectors<V>; ++v) {
                            float* to = y + p * panel_rows + v * V::width;
                            V sum = V::fma(scale[p][part].v[v], sums[p][v], V::load(to));
                            if constexpr (B::has_offsets) sum = V::fma(offset[p][part].v[v], sum_of_x, sum);
                            sum.store(to);
                        }
                }
            });
        }
    }
}

// The sums of the parts of each row of x [rows, rows' parts]: those that both kinds of products take.
template <class V>
class SumsOfParts {
  public:
    SumsOfParts(ConstMatrix x, Index part) : stride_(x.cols / part), sums_(x.rows * stride_) {
        for_each_block(x.rows, 32, [&](Range rows) {
            for (Index r = rows.begin; r < rows.end; ++r)
                for (Index p = 0; p < stride_; ++p) {
                    const float* from = x.row(r) + p * part;
                    V sum = V::load(from);
                    for (Index i = V::width; i < part; i += V::width) sum = sum + V::load(from + i);
                    sums_.data[r * stride_ + p] = sum.total();
                }
        });
    }
    const float* row(Index r) const { return sums_.data + r * stride_; }
    Index stride() const { return stride_; }

  private:
    Index stride_;
    Scratch sums_;
};

// ---- Taken apart ------------------------------------------------------------------------------------------

// Blocks of some rows, taken apart: quants [inputs, rows], scales and offsets [parts, rows]. Offsets are null
// for types that have none.
struct BlocksApart {
    float *quants, *scales, *offsets;
    Index stride;

    BlocksApart from(Index row) const {
        return {quants + row, scales + row, offsets ? offsets + row : nullptr, stride};
    }
    template <class B>
    void skip_block() {
        quants += B::elements * stride;
        scales += B::parts * stride;
        if constexpr (B::has_offsets) offsets += B::parts * stride;
    }
};

template <class V, class B>
void take_panel_apart(const std::byte* blocks, Index inputs, BlocksApart to) {
    for (Index k = 0; k < inputs; k += B::elements, blocks += panel_rows * B::bytes, to.skip_block<B>()) {
        OfRows<V> scale[B::parts], offset[B::parts];
        B::template scales<V>(blocks, 1, scale, offset);
        for (Index v = 0; v < vectors<V>; ++v) {
            for (Index part = 0; part < B::parts; ++part) {
                scale[part].v[v].store(to.scales + part * to.stride + v * V::width);
                if constexpr (B::has_offsets)
                    offset[part].v[v].store(to.offsets + part * to.stride + v * V::width);
            }
            float* quants = to.quants + v * V::width;
            for (Index group = 0; group < B::elements / 16 / B::pattern; ++group)
                unrolled<static_cast<int>(B::pattern)>([&]<int i>() __attribute__((always_inline)) {
                    for (Index j = 0; j < 4; ++j) {
                        const auto words = B::template quants<V, i>(blocks, group, j, v);
                        unrolled<4>([&]<int input>() __attribute__((always_inline)) {
                            widened<V>(moved_right<V, 24>(words << (24 - 8 * input))).store(quants);
                            quants += to.stride;
                        });
                    }
                });
        }
    }
}

template <class B>
void take_row_apart(const WeightView& weight, Index row, Range inputs, BlocksApart to) {
    for (Index k = inputs.begin; k < inputs.end; k += B::elements, to.skip_block<B>()) {
        const WeightBlock block = block_of(weight, row, k);
        for (Index i = 0; i < B::elements; ++i)
            to.quants[i * to.stride] =
                static_cast<float>(block.quant[static_cast<std::size_t>(i)] + B::subtracted);
        for (Index part = 0; part < B::parts; ++part) {
            const auto p = static_cast<std::size_t>(part);
            to.scales[part * to.stride] = block.scale[p];
            if constexpr (B::has_offsets)
                to.offsets[part * to.stride] =
                    B::subtracted ? block.scale[p] * -B::subtracted : block.offset[p];
        }
    }
}

// The rows of a matrix of any type in blocks.
template <class V>
class BlockPanels {
  public:
    explicit BlockPanels(const WeightView& weight)
        : data_(weight.data),
          panel_bytes_(panel_rows * bytes_of_inputs(weight.dtype, weight.row_elements())),
          end_(data_ + weight.rows_in_panels / panel_rows * panel_bytes_) {
        for_blocks(weight.dtype, [&]<class B> { use<B>(); });
    }

    // How many inputs share a scale.
    Index part() const { return part_; }
    bool has_offsets() const { return has_offsets_; }
    // Returns x as `add` takes it, or null if it is too large for that.
    const float* enlarge(const float* x, Index in, float* to) const { return enlarge_(x, in, to); }
    // Adds to y [16 panels] the products of an enlarged x; there may be as many panels as are multiplied at a
    // time, or one.
    void add(const float* x, const float* sums_of_x, Index panel, int panels, Index in, float* y) const {
        (panels == 1 ? add_one_ : add_)(x, sums_of_x, {data_ + panel * panel_bytes_, panel_bytes_}, end_, in,
                                        y);
    }
    // How many floats some inputs of a row are, taken apart.
    Index floats_apart(Index inputs) const { return inputs + (has_offsets_ ? 2 : 1) * inputs / part_; }
    BlocksApart apart(float* floats, Index inputs, Index stride) const {
        float* const scales = floats + inputs * stride;
        return {floats, scales, has_offsets_ ? scales + inputs / part_ * stride : nullptr, stride};
    }
    // Takes apart the blocks of some stored rows, from the first of a panel on, that hold these inputs.
    void take_apart(const WeightView& weight, Range rows, Range inputs, BlocksApart to) const {
        Index row = rows.begin;
        for (; row < least(rows.end, weight.rows_in_panels); row += panel_rows)
            take_panel_(data_ + row / panel_rows * panel_bytes_ +
                            panel_rows * bytes_of_inputs(weight.dtype, inputs.begin),
                        inputs.size(), to.from(row - rows.begin));
        for (; row < rows.end; ++row)
            take_row_(weight, row - weight.first_row, inputs, to.from(row - rows.begin));
    }

  private:
    using Add = void (*)(const float* x, const float* sums_of_x, PanelBytes from, const std::byte* end,
                         Index depth, float* y);

    template <class B>
    void use() {
        part_ = B::elements / B::parts;
        has_offsets_ = B::has_offsets;
        enlarge_ = [](const float* x, Index in, float* to) {
            static constexpr PowersOfInputs<B> powers;
            return enlarged<V>(x, in, powers.power, 0x1p90f, to);
        };
        add_one_ = add_parts<V, 1, B>;
        add_ = add_parts<V, panels_at_once<V>, B>;
        take_panel_ = take_panel_apart<V, B>;
        take_row_ = take_row_apart<B>;
    }
    static Index bytes_of_inputs(DType dtype, Index inputs) {
        return inputs / block_elements(dtype) * static_cast<Index>(byte_size(dtype));
    }

    const std::byte* data_;
    Index panel_bytes_, part_ = 0;
    const std::byte* end_;
    bool has_offsets_ = false;
    const float* (*enlarge_)(const float* x, Index in, float* to) = nullptr;
    Add add_one_ = nullptr, add_ = nullptr;
    void (*take_panel_)(const std::byte* blocks, Index inputs, BlocksApart to) = nullptr;
    void (*take_row_)(const WeightView& weight, Index row, Range inputs, BlocksApart to) = nullptr;
};

// ---- A matrix ---------------------------------------------------------------------------------------------

// Some rows of x with the sums of their parts, and where their products are added.
struct RowsInParts {
    const float *x, *sums;
    Index x_stride, sums_stride;
    float* y;
    Index y_stride;
};

// Inputs of some columns, taken apart and packed as multiply.hpp takes them.
struct PackedBlocks {
    const float *quants, *scales, *offsets;
    Index parts, part;  // `part` inputs each
};

template <class V, bool offsets, int count>
[[gnu::always_inline]] inline void multiply_tile_in_parts(const RowsInParts& rows, PackedBlocks b) {
    constexpr int across = V::Lanes::panel_vectors;
    const float* x = rows.x;
    for (Index part = 0; part < b.parts; ++part, x += b.part) {
        V sums[count][across];
        sum_tile<V, Lies::straight, count>(x, rows.x_stride, b.quants, b.part, sums);
        for (int r = 0; r < count; ++r) {
            const V sum_of_x = V::broadcast(rows.sums[r * rows.sums_stride + part]);
            for (int v = 0; v < across; ++v) {
                float* to = rows.y + r * rows.y_stride + v * V::width;
                V sum = V::fma(V::load(b.scales + v * V::width), sums[r][v], V::load(to));
                if constexpr (offsets) sum = V::fma(V::load(b.offsets + v * V::width), sum_of_x, sum);
                sum.store(to);
            }
        }
        b.quants += b.part * panel_width<V>;
        b.scales += panel_width<V>;
        if constexpr (offsets) b.offsets += panel_width<V>;
    }
}

template <class V, bool offsets, int count = V::Lanes::tile_rows>
void multiply_panel_in_parts(RowsInParts rows, Index n, PackedBlocks b) {
    for (; n >= count; n -= count) {
        multiply_tile_in_parts<V, offsets, count>(rows, b);
        rows.x += count * rows.x_stride;
        rows.sums += count * rows.sums_stride;
        rows.y += count * rows.y_stride;
    }
    if constexpr (count > 1)
        if (n > 0) multiply_panel_in_parts<V, offsets, count - 1>(rows, n, b);
}

// y [rows, outputs rounded up to panels], one row after the other.
template <class V>
void multiply_in_parts(ConstMatrix x, const SumsOfParts<V>& sums_of_x, Range rows, const WeightView& weight,
                       const BlockPanels<V>& panels, Range outputs, float* y) {
    constexpr Index width = panel_width<V>;
    const Range stored{weight.first_row + outputs.begin, weight.first_row + outputs.end};
    const Index first = stored.begin / panel_rows * panel_rows, skipped = stored.begin - first,
                stride = round_up(stored.end - first, panel_rows), y_stride = round_up(outputs.size(), width),
                floats = panels.floats_apart(least(depth_block, x.cols)), part = panels.part();
    const Scratch apart(floats * stride), packed(floats * y_stride);
    fill_zero(y, rows.size() * y_stride);
    for (Index k = 0; k < x.cols; k += depth_block) {
        const Range inputs{k, least(k + depth_block, x.cols)};
        const Index count = inputs.size(), parts = count / part;
        const BlocksApart from = panels.apart(apart.data, count, stride),
                          to = panels.apart(packed.data, count, y_stride);
        panels.take_apart(weight, {first, stored.end}, inputs, from);
        const auto pack_some = [&](const float* some, Index depth, float* into) {
            pack<V>(attn::simd::stored(ConstMatrix{some + skipped, depth, outputs.size(), stride}), depth,
                    outputs.size(), into);
        };
        pack_some(from.quants, count, to.quants);
        pack_some(from.scales, parts, to.scales);
        if (panels.has_offsets()) pack_some(from.offsets, parts, to.offsets);
        for (Index column = 0; column < y_stride; column += width)
            (panels.has_offsets()
                 ? multiply_panel_in_parts<V, true>
                 : multiply_panel_in_parts<V, false>)({.x = x.row(rows.begin) + k,
                                                       .sums = sums_of_x.row(rows.begin) + k / part,
                                                       .x_stride = x.row_stride,
                                                       .sums_stride = sums_of_x.stride(),
                                                       .y = y + column,
                                                       .y_stride = y_stride},
                                                      rows.size(),
                                                      {.quants = to.quants + column * count,
                                                       .scales = to.scales + column * parts,
                                                       .offsets = panels.has_offsets()
                                                                      ? to.offsets + column * parts
                                                                      : nullptr,
                                                       .parts = parts,
                                                       .part = part});
    }
}

// Makes values of the quants of some inputs, in place.
template <class V>
void widen_apart(BlocksApart blocks, Index inputs, Index part) {
    for (Index k = 0; k < inputs; ++k, blocks.quants += blocks.stride)
        for (Index row = 0; row < blocks.stride; row += V::width) {
            const Index at = k / part * blocks.stride + row;
            V value = V::load(blocks.scales + at) * V::load(blocks.quants + row);
            if (blocks.offsets) value = value + V::load(blocks.offsets + at);
            value.store(blocks.quants + row);
        }
}

}  // namespace attn::simd
