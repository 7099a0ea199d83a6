// Softmax, norms, activations and rotary positions over rows of any length. The last elements of a row go
// through the same operations as the others, in a padded vector.
#pragma once

#include "kernels/exponentials.hpp"
#include "kernels/simd/exp.hpp"
#include "kernels/simd/outside.hpp"
#include "kernels/table.hpp"

namespace attn::simd {

// Calls f(i, count) for [i, i + count) up to n; each range is a vector or what is left.
template <class V, class F>
[[gnu::always_inline]] inline void for_each_vector(Index n, F f) {
    Index i = 0;
    for (; i + V::width <= n; i += V::width) f(i, V::width);
    if (i < n) f(i, n - i);
}

template <class V>
[[gnu::always_inline]] inline V load_some(const float* p, Index count) {
    return count == V::width ? V::load(p) : V::load(p, count);
}

template <class V>
[[gnu::always_inline]] inline void store_some(V v, float* p, Index count) {
    count == V::width ? v.store(p) : v.store(p, count);
}

// Sums term(i, count) over the vectors of a row: in f32 over stretches of 64 vectors, and in
// double over the stretches.
template <class V, class F>
double sum_of_terms(Index n, F term) {
    constexpr Index stretch = 64 * V::width;
    double total = 0;
    for (Index begin = 0; begin < n; begin += stretch) {
        V part = V::zero();
        for_each_vector<V>(least(stretch, n - begin), [&](Index i, Index count) {
            const V terms = term(begin + i, count);
            if (count == V::width) {
                part = part + terms;
            } else {
                float some[V::width]{};
                terms.store(some, count);
                part = part + V::load(some);
            }
        });
        total += static_cast<double>(part.total());
    }
    return total;
}

// Sums term(x) over a row.
template <class V, class F>
double sum(const float* x, Index n, F term) {
    return sum_of_terms<V>(n, [&](Index i, Index count) { return term(load_some<V>(x + i, count)); });
}

template <class V>
void softmax(MatrixView<float> rows) {
    const Exp<V> exp;
    for (Index r = 0; r < rows.rows; ++r) {
        float* row = rows.row(r);
        const float max = largest({row, static_cast<std::size_t>(rows.cols)});
        double total = 0;
        if (__builtin_isinf(max)) {
            total = exponentiate({row, static_cast<std::size_t>(rows.cols)}, max, SoftmaxPrecision::f32);
        } else {
            for_each_vector<V>(rows.cols, [&](Index i, Index count) {
                store_some(exp(load_some<V>(row + i, count) - V::broadcast(max)), row + i, count);
            });
            total = sum<V>(row, rows.cols, [](V e) { return e; });
        }
        if (total == 0) continue;
        for_each_vector<V>(rows.cols, [&](Index i, Index count) {
            store_some(load_some<V>(row + i, count) / V::broadcast(static_cast<float>(total)), row + i,
                       count);
        });
    }
}

template <class V>
float weights(std::span<float> row, float max, float log_sum) {
    const Exp<V> exp;
    const float sum = exponential(log_sum);
    const bool infinite = __builtin_isinf(max);
    if (infinite) exponentiate(row, max, SoftmaxPrecision::f32);
    // Below −104 the exponential is 0, and 0 adds nothing to the entropy.
    const V most = V::broadcast(max), log = V::broadcast(log_sum), lowest = V::broadcast(-104),
            divisor = V::broadcast(sum == 0 ? 1 : sum);
    const double entropy = sum_of_terms<V>(static_cast<Index>(row.size()), [&](Index i, Index count) {
        float* at = row.data() + i;
        const V x = load_some<V>(at, count), below = infinite ? V::zero() : V::max(lowest, x - most);
        const V weight = (infinite ? x : exp(below)) / divisor;
        store_some(weight, at, count);
        return weight * (log - below);
    });
    return sum == 0 ? 0 : static_cast<float>(entropy);
}

template <class V>
void soft_cap(std::span<float> x, float cap) {
    const Tanh<V> tanh;
    const V c = V::broadcast(cap);
    for_each_vector<V>(static_cast<Index>(x.size()), [&](Index i, Index count) {
        float* at = x.data() + i;
        store_some(c * tanh(load_some<V>(at, count) / c), at, count);
    });
}

// A norm computes these from a row: a value becomes (value − mean) · factor.
template <class V>
struct Normal {
    V mean, factor;

    V operator()(V x) const { return (x - mean) * factor; }
};

template <class V>
V normal_factor(double mean_square, float epsilon) {
    return V::broadcast(static_cast<float>(1 / square_root(mean_square + static_cast<double>(epsilon))));
}

template <class V>
Normal<V> layer_normal(const float* row, Index size, float epsilon) {
    const double n = static_cast<double>(size);
    // A mean that is large compared to the deviations is rounded too much; the mean of the remainders
    // corrects it.
    const V first = V::broadcast(static_cast<float>(sum<V>(row, size, [](V v) { return v; }) / n));
    const double rest = sum<V>(row, size, [&](V v) { return v - first; }) / n;
    const V mean = first + V::broadcast(static_cast<float>(rest));
    const double variance = sum<V>(row, size, [&](V v) { return (v - mean) * (v - mean); }) / n;
    return {mean, normal_factor<V>(variance, epsilon)};
}

template <class V>
Normal<V> rms_normal(const float* row, Index size, float epsilon) {
    const double mean_square = sum<V>(row, size, [](V v) { return v * v; }) / static_cast<double>(size);
    return {V::zero(), normal_factor<V>(mean_square, epsilon)};
}

template <class V>
void layer_norm(ConstMatrix x, std::span<const float> gain, std::span<const float> bias, float epsilon,
                MatrixView<float> y) {
    for (Index r = 0; r < x.rows; ++r) {
        const float* in = x.row(r);
        float* out = y.row(r);
        const Normal<V> normal = layer_normal<V>(in, x.cols, epsilon);
        for_each_vector<V>(x.cols, [&](Index i, Index count) {
            const V shift = bias.empty() ? V::zero() : load_some<V>(bias.data() + i, count);
            store_some(
                V::fma(normal(load_some<V>(in + i, count)), load_some<V>(gain.data() + i, count), shift),
                out + i, count);
        });
    }
}

template <class V>
void rms_norm(ConstMatrix x, std::span<const float> gain, float epsilon, MatrixView<float> y) {
    for (Index r = 0; r < x.rows; ++r) {
        const float* in = x.row(r);
        float* out = y.row(r);
        const Normal<V> normal = rms_normal<V>(in, x.cols, epsilon);
        for_each_vector<V>(x.cols, [&](Index i, Index count) {
            store_some(normal(load_some<V>(in + i, count)) * load_some<V>(gain.data() + i, count), out + i,
                       count);
        });
    }
}

template <class V>
class Relu {
  public:
    V operator()(V x) const { return V::max(V::zero(), x); }
};

inline constexpr float gelu_table[] = {0.5f, 1, 0.70710678118654752f};

template <class V>
class Gelu {
  public:
    V operator()(V x) const { return c_[0] * x * (c_[1] + erf_(x * c_[2])); }

  private:
    Erf<V> erf_;
    Constants<V, std::size(gelu_table)> c_{gelu_table};
};

inline constexpr float gelu_tanh_table[] = {-1.5957691216057308f, 0.044715f, 1};

// x/2 (1 + tanh u) = x / (1 + exp(−2u)), which is accurate where the tanh is close to −1.
template <class V>
class GeluTanh {
  public:
    V operator()(V x) const { return x / (c_[2] + exp_(c_[0] * (x + c_[1] * x * x * x))); }

  private:
    Exp<V> exp_;
    Constants<V, std::size(gelu_tanh_table)> c_{gelu_tanh_table};
};

inline constexpr float silu_table[] = {1};

template <class V>
class Silu {
  public:
    V operator()(V x) const { return x / (c_[0] + exp_(V::zero() - x)); }

  private:
    Exp<V> exp_;
    Constants<V, std::size(silu_table)> c_{silu_table};
};

template <class V>
void activate(Activation activation, float* x, Index n) {
    const auto each = [&](auto f) {
        for_each_vector<V>(
            n, [&](Index i, Index count) { store_some(f(load_some<V>(x + i, count)), x + i, count); });
    };
    switch (activation) {
        case Activation::none: return;
        case Activation::relu: return each(Relu<V>());
        case Activation::gelu: return each(Gelu<V>());
        case Activation::gelu_tanh: return each(GeluTanh<V>());
        case Activation::silu: return each(Silu<V>());
    }
}

template <class V>
void activate_all(Activation activation, std::span<float> x) {
    activate<V>(activation, x.data(), static_cast<Index>(x.size()));
}

template <class V>
void rope(MatrixView<float> rows, ConstMatrix cosine, ConstMatrix sine, bool interleaved) {
    const Index half = cosine.cols;
    for (Index r = 0; r < rows.rows; ++r) {
        float* row = rows.row(r);
        const float* c = cosine.row(r);
        const float* s = sine.row(r);
        if (interleaved) {
            for (Index a = 0; a < half; ++a) {
                const float x = row[2 * a], y = row[2 * a + 1];
                row[2 * a] = x * c[a] - y * s[a];
                row[2 * a + 1] = x * s[a] + y * c[a];
            }
            continue;
        }
        for_each_vector<V>(half, [&](Index a, Index count) {
            const V x = load_some<V>(row + a, count), y = load_some<V>(row + half + a, count);
            const V cos = load_some<V>(c + a, count), sin = load_some<V>(s + a, count);
            store_some(x * cos - y * sin, row + a, count);
            store_some(x * sin + y * cos, row + half + a, count);
        });
    }
}

}  // namespace attn::simd
