// Computes dz = dy · slope(z) for every activation.
#pragma once

#include "kernels/backward.hpp"
#include "kernels/simd/elementwise.hpp"
#include "kernels/workers.hpp"

namespace attn::simd {

template <class V>
class ReluSlope {
  public:
    V operator()(V z) const { return V::where_less(V::zero(), z, V::broadcast(1), V::zero()); }
};

inline constexpr float gelu_slope_table[] = {0.5f, 1, 0.70710678118654752f, -0.5f, 0.39894228040143268f};

// Φ(z) + z φ(z), where φ is the density of the normal distribution.
template <class V>
class GeluSlope {
  public:
    V operator()(V z) const { return c_[0] * (c_[1] + erf_(z * c_[2])) + z * c_[4] * exp_(c_[3] * z * z); }

  private:
    Erf<V> erf_;
    Exp<V> exp_;
    Constants<V, std::size(gelu_slope_table)> c_{gelu_slope_table};
};

inline constexpr float gelu_tanh_slope_table[] = {-1.5957691216057308f, 0.044715f, 1, 3 * 0.044715f};

// For z s with s = 1 / (1 + exp(−2u)), the slope is s + z s (1 − s) · 2 du/dz.
template <class V>
class GeluTanhSlope {
  public:
    V operator()(V z) const {
        const V cube = c_[1] * z * z * z;
        const V s = c_[2] / (c_[2] + exp_(c_[0] * (z + cube)));
        return s - z * s * (c_[2] - s) * c_[0] * (c_[2] + c_[3] * z * z);
    }

  private:
    Exp<V> exp_;
    Constants<V, std::size(gelu_tanh_slope_table)> c_{gelu_tanh_slope_table};
};

// For z s with s = 1 / (1 + exp(−z)), the slope is s + z s (1 − s).
template <class V>
class SiluSlope {
  public:
    V operator()(V z) const {
        const V s = c_[0] / (c_[0] + exp_(V::zero() - z));
        return s + z * s * (c_[0] - s);
    }

  private:
    Exp<V> exp_;
    Constants<V, std::size(silu_table)> c_{silu_table};
};

// Each task has this many elements.
inline constexpr Index elements_block = 16384;

template <class V, class Slope>
void multiply_by_slope(std::span<const float> z, std::span<const float> dy, std::span<float> dz) {
    for_each_block(std::ssize(z), elements_block, [&](Range part) {
        const Slope slope;
        for_each_vector<V>(part.size(), [&](Index i, Index count) {
            const Index at = part.begin + i;
            store_some(load_some<V>(dy.data() + at, count) * slope(load_some<V>(z.data() + at, count)),
                       dz.data() + at, count);
        });
    });
}

template <class V>
void activate_backward(Activation activation, std::span<const float> z, std::span<const float> dy,
                       std::span<float> dz) {
    switch (activation) {
        case Activation::none:
            if (!dy.empty()) __builtin_memmove(dz.data(), dy.data(), dy.size() * sizeof(float));
            return;
        case Activation::relu: return multiply_by_slope<V, ReluSlope<V>>(z, dy, dz);
        case Activation::gelu: return multiply_by_slope<V, GeluSlope<V>>(z, dy, dz);
        case Activation::gelu_tanh: return multiply_by_slope<V, GeluTanhSlope<V>>(z, dy, dz);
        case Activation::silu: return multiply_by_slope<V, SiluSlope<V>>(z, dy, dz);
    }
}

}  // namespace attn::simd
