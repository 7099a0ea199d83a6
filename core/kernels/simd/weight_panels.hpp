// Reads weights that lie in panels (tensor/weights.hpp), input by input, as vectors over the outputs.
// Values have the bits of tensor/blocks.cpp.
//
// Every function is a template over V, so that none is shared between instruction sets (lanes128.hpp).
#pragma once

#include "kernels/simd/blocks.hpp"
#include "kernels/simd/elementwise.hpp"
#include "kernels/simd/multiply.hpp"

namespace attn::simd {

// So many panels are multiplied at a time that no sum waits for the one before it.
template <class V>
inline constexpr int panels_at_once = V::width == 4 ? 1 : 2;

// Some panels, each `stride` bytes after the one before it, from an input on.
struct PanelBytes {
    const std::byte* first;
    Index stride;
};

// Vectors of a panel: `count` of them, which is known to the compiler, from `first` on.
template <int n>
struct SomeVectors {
    static constexpr int count = n;
    Index first = 0;
};
template <class V>
using AllVectors = SomeVectors<static_cast<int>(vectors<V>)>;

// Each of these calls f(k, p, i, values) for the inputs k < depth of some panels, with number i of the
// vectors of panel p: values are of the inputs from k on, one or four. The inputs of a vector come in
// order.

template <class V, int panels, class E, class Some, class F>
[[gnu::always_inline]] inline void for_each_element(PanelBytes from, Index depth, Some some, F f) {
    for (Index k = 0; k < depth; ++k, from.first += panel_rows * E::bytes)
        for (int p = 0; p < panels; ++p)
            for (Index i = 0; i < Some::count; ++i) {
                const V value[]{E::template load<V>(from.first + p * from.stride +
                                                    (some.first + i) * V::width * E::bytes)};
                f(k, p, i, value);
            }
}

// Halves as floats 2¹¹² times too small, even subnormal ones, with fewer steps than widening takes where
// there are no instructions for it. The shift copies the sign into bits that are cleared again. The halves
// must be finite.
struct SmallHalf {
    static constexpr Index bytes = 2;
    template <class V>
    [[gnu::always_inline]] static V load(const std::byte* p) {
        using Words = typename V::Words;
        constexpr Words sign_and_magnitude = Words{} + 0x8fffe000u;
        typename V::SignedHalves halves;
        __builtin_memcpy(&halves, p, sizeof halves);
        const auto wide = __builtin_bit_cast(Words, __builtin_convertvector(halves, typename V::Ints));
        return {__builtin_bit_cast(typename V::Floats, (wide << 13) & kept(sign_and_magnitude))};
    }
};

template <class V>
[[gnu::always_inline]] inline V widened(typename V::Words words) {
    return {__builtin_convertvector(__builtin_bit_cast(typename V::Ints, words), typename V::Floats)};
}

// A quant is widened as the upper byte of a word, 2²⁴ times too large, and scales are as much smaller: the
// products are the same. A depth is a whole number of blocks.
template <class V, int panels, class B, class Some, class F>
[[gnu::always_inline]] inline void for_each_of_blocks(PanelBytes from, Index depth, Some some, F f) {
    using Words = typename V::Words;
    constexpr Words upper_byte = Words{} + 0xff000000u;
    const Words mask = kept(upper_byte);
    Index words_of_sixteen = 4;
    asm("" : "+r"(words_of_sixteen));  // The compiler must not unroll this loop, too.
    for (Index first = 0; first < depth; first += B::elements, from.first += panel_rows * B::bytes) {
        OfRows<V> scale[panels][B::parts], offset[panels][B::parts];
        for (int p = 0; p < panels; ++p)
            B::template scales<V>(from.first + p * from.stride, 0x1p-24f, scale[p], offset[p]);
        for (Index group = 0; group < B::elements / 16 / B::pattern; ++group)
            unrolled<B::pattern>([&]<int i>() __attribute__((always_inline)) {
                const Index sixteen = B::pattern * group + i, part = sixteen * B::parts * 16 / B::elements;
                for (Index j = 0; j < words_of_sixteen; ++j)
                    for (int p = 0; p < panels; ++p)
                        for (Index number = 0; number < Some::count; ++number) {
                            const Index v = some.first + number;
                            const Words words =
                                B::template quants<V, i>(from.first + p * from.stride, group, j, v);
                            const V by = scale[p][part].v[v];
                            V values[4]{widened<V>(words << 24), widened<V>(words << 16 & mask),
                                        widened<V>(words << 8 & mask), widened<V>(words & mask)};
                            for (V& each : values) {
                                each = by * each;
                                if constexpr (B::has_offsets) each = each + offset[p][part].v[v];
                            }
                            f(first + 16 * sixteen + 4 * j, p, number, values);
                        }
            });
    }
}

// The layout T of a type is one of elements or of blocks.
template <class V, int panels, class T, class Some, class F>
[[gnu::always_inline]] inline void for_each_input(PanelBytes from, Index depth, Some some, F f) {
    if constexpr (requires { T::elements; })
        for_each_of_blocks<V, panels, T>(from, depth, some, f);
    else
        for_each_element<V, panels, T>(from, depth, some, f);
}

// Adds to the panels' outputs y [16 panels] the products of x with inputs that one sum takes.
template <class V, int panels, class T>
void add_panels(const float* x, PanelBytes from, Index depth, float* y) {
    V sums[panels][vectors<V>]{};
    for_each_input<V, panels, T>(
        from, depth, AllVectors<V>{},
        [&]<int n>(Index k, int p, Index i, const V(&values)[n]) __attribute__((always_inline)) {
            for (int input = 0; input < n; ++input)
                sums[p][i] = V::fma(V::broadcast(x[k + input]), values[input], sums[p][i]);
        });
    for (int p = 0; p < panels; ++p)
        for (Index i = 0; i < vectors<V>; ++i, y += V::width) (V::load(y) + sums[p][i]).store(y);
}

// Widens a panel: the outputs of input k side by side at `to` + k · step. A vector after the other, which
// is less code, for what a product of matrices takes a twentieth of its time for.
template <class V, class T>
void widen_panel(const std::byte* panel, Index depth, float* to, Index step) {
    for (Index first = 0; first < vectors<V>; ++first, to += V::width)
        for_each_input<V, 1, T>({panel, 0}, depth, SomeVectors<1>{first},
                                [&]<int n>(Index k, int, Index, const V(&values)[n])
                                    __attribute__((always_inline)) {
                                        for (int input = 0; input < n; ++input)
                                            values[input].store(to + (k + input) * step);
                                    });
}

// The panels of a matrix, of any type.
template <class V>
class WeightPanels {
  public:
    explicit WeightPanels(const WeightView& weight)
        : data_(weight.data),
          block_(block_elements(weight.dtype)),
          block_bytes_(static_cast<Index>(byte_size(weight.dtype))),
          panel_bytes_(panel_rows * bytes(weight.row_elements())) {
        switch (weight.dtype) {
            case DType::f32: use<F32>(); break;
            case DType::f16: use<F16>(); break;
            case DType::bf16: use<Bf16>(); break;
            default: for_blocks(weight.dtype, [&]<class B> { use<B>(); });
        }
    }

    // How many inputs lie together in a block.
    Index block() const { return block_; }
    // Adds to y [16 panels] the products of x with inputs from one that begins a block; there may be as many
    // panels as are multiplied at a time, or one.
    void add(const float* x, Index panel, int panels, Range inputs, float* y) const {
        (panels == 1 ? add_one_ : add_)(x + inputs.begin, {at(panel, inputs.begin), panel_bytes_},
                                        inputs.size(), y);
    }
    void widen(Index panel, Range inputs, float* to, Index step) const {
        widen_(at(panel, inputs.begin), inputs.size(), to, step);
    }
    // Makes `add` take x · 2¹¹² and halves that are finite.
    void take_large_factors() { use_factors<SmallHalf>(); }

  private:
    using Add = void (*)(const float* x, PanelBytes from, Index depth, float* y);
    using Widen = void (*)(const std::byte* panel, Index depth, float* to, Index step);

    template <class T>
    void use_factors() {
        add_one_ = add_panels<V, 1, T>;
        add_ = add_panels<V, panels_at_once<V>, T>;
    }
    template <class T>
    void use() {
        use_factors<T>();
        widen_ = widen_panel<V, T>;
    }
    Index bytes(Index inputs) const { return inputs / block_ * block_bytes_; }
    const std::byte* at(Index panel, Index input) const {
        return data_ + panel * panel_bytes_ + panel_rows * bytes(input);
    }

    const std::byte* data_;
    Index block_, block_bytes_, panel_bytes_;
    Add add_one_ = nullptr, add_ = nullptr;
    Widen widen_ = nullptr;
};

// Writes the products of x with powers, of which input k takes number k % count, and returns them; or returns
// null if a value is not below the limit.
template <class V, Index count>
const float* enlarged(const float* x, Index in, const float (&powers)[count], float limit, float* to) {
    V largest = V::zero();
    for_each_vector<V>(in, [&](Index k, Index some) {
        const V values = load_some<V>(x + k, some);
        largest = V::max(V::magnitude(values), largest);
        store_some(values * V::load(powers + k % count), to + k, some);
    });
    return largest.largest() < limit ? to : nullptr;
}

}  // namespace attn::simd
