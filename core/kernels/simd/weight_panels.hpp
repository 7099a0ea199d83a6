// Multiplies by weights that lie in panels (tensor/weights.hpp) and not in blocks, input by input, as vectors
// over the outputs.
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

// Adds to the panels' outputs y [16 panels] the products of x with inputs that one sum takes.
template <class V, int panels, class E>
void add_panels(const float* x, PanelBytes from, Index depth, float* y) {
    V sums[panels][vectors<V>]{};
    for (Index k = 0; k < depth; ++k, from.first += panel_rows * E::bytes)
        for (int p = 0; p < panels; ++p)
            for (Index v = 0; v < vectors<V>; ++v)
                sums[p][v] = V::fma(
                    V::broadcast(x[k]),
                    E::template load<V>(from.first + p * from.stride + v * V::width * E::bytes), sums[p][v]);
    for (int p = 0; p < panels; ++p)
        for (Index v = 0; v < vectors<V>; ++v, y += V::width) (V::load(y) + sums[p][v]).store(y);
}

// Widens a panel: the outputs of input k side by side at `to` + k · step.
template <class V, class E>
void widen_panel(const std::byte* panel, Index depth, float* to, Index step) {
    for (Index k = 0; k < depth; ++k, to += step)
        for (Index v = 0; v < panel_rows; v += V::width, panel += V::width * E::bytes)
            E::template load<V>(panel).store(to + v);
}

// The panels of a matrix that is not in blocks.
template <class V>
class ElementPanels {
  public:
    explicit ElementPanels(const WeightView& weight)
        : data_(weight.data),
          input_bytes_(panel_rows * static_cast<Index>(byte_size(weight.dtype))),
          panel_bytes_(weight.row_elements() * input_bytes_) {
        switch (weight.dtype) {
            case DType::f16: use<F16>(); break;
            case DType::bf16: use<Bf16>(); break;
            default: use<F32>();
        }
    }

    // Adds to y [16 panels] the products of x with these inputs; there may be as many panels as are
    // multiplied at a time, or one.
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

    template <class E>
    void use_factors() {
        add_one_ = add_panels<V, 1, E>;
        add_ = add_panels<V, panels_at_once<V>, E>;
    }
    template <class E>
    void use() {
        use_factors<E>();
        widen_ = widen_panel<V, E>;
    }
    const std::byte* at(Index panel, Index input) const {
        return data_ + panel * panel_bytes_ + input * input_bytes_;
    }

    const std::byte* data_;
    Index input_bytes_, panel_bytes_;
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
