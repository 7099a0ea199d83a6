// Computes the gradients of the norms. With normal = (x − mean) · factor and g = dy · gain:
//   dx = factor · (g − mean(g) − normal · mean(g · normal)),  d_gain = Σ dy · normal,  d_bias = Σ dy over the
//        rows;
// an RMS norm has no mean(g).
#pragma once

#include "kernels/backward.hpp"
#include "kernels/simd/elementwise.hpp"
#include "kernels/workers.hpp"

namespace attn::simd {

// Each task has this many rows; the sums of the tasks are added in order.
inline constexpr Index norm_rows = 64;

// Adds sums [count, to.size()] to `to`, row by row.
template <class V>
void add_blocks(const float* sums, Index count, std::span<float> to) {
    for (Index b = 0; b < count; ++b)
        for (float& total : to) total += *sums++;
}

// normal_of(row of x) returns its Normal.
template <class V, bool centred, class F>
void norm_backward(ConstMatrix x, std::span<const float> gain, ConstMatrix dy, MatrixView<float> dx,
                   std::span<float> d_gain, std::span<float> d_bias, F normal_of) {
    const Index n = x.cols, tasks = blocks(x.rows, norm_rows);
    const Scratch gain_sums(tasks * std::ssize(d_gain)), bias_sums(tasks * std::ssize(d_bias));
    for_each_task(tasks, [&](Index task) {
        float* of_gain = gain_sums.data + task * std::ssize(d_gain);
        float* of_bias = bias_sums.data + task * std::ssize(d_bias);
        fill_zero(of_gain, std::ssize(d_gain));
        fill_zero(of_bias, std::ssize(d_bias));
        const Range rows = block(task, norm_rows, x.rows);
        for (Index r = rows.begin; r < rows.end; ++r) {
            const float* in = x.row(r);
            const float* d = dy.row(r);
            const Normal<V> normal = normal_of(in);
            const auto g = [&](Index i, Index count) {
                return load_some<V>(d + i, count) * load_some<V>(gain.data() + i, count);
            };
            const double across = centred ? sum_of_terms<V>(n, g) / static_cast<double>(n) : 0;
            const double along = sum_of_terms<V>(n,
                                                 [&](Index i, Index count) {
                                                     return g(i, count) * normal(load_some<V>(in + i, count));
                                                 }) /
                                 static_cast<double>(n);
            const V g_mean = V::broadcast(static_cast<float>(across)),
                    g_along = V::broadcast(static_cast<float>(along));
            for_each_vector<V>(n, [&](Index i, Index count) {
                const V value = normal(load_some<V>(in + i, count)), upstream = load_some<V>(d + i, count);
                const V gradient = normal.factor * (g(i, count) - g_mean - value * g_along);
                if (!d_gain.empty())
                    store_some(load_some<V>(of_gain + i, count) + upstream * value, of_gain + i, count);
                if (!d_bias.empty())
                    store_some(load_some<V>(of_bias + i, count) + upstream, of_bias + i, count);
                store_some(gradient, dx.row(r) + i, count);
            });
        }
    });
    add_blocks<V>(gain_sums.data, tasks, d_gain);
    add_blocks<V>(bias_sums.data, tasks, d_bias);
}

template <class V>
void layer_norm_backward(ConstMatrix x, std::span<const float> gain, float epsilon, ConstMatrix dy,
                         MatrixView<float> dx, std::span<float> d_gain, std::span<float> d_bias) {
    norm_backward<V, true>(x, gain, dy, dx, d_gain, d_bias,
                           [&](const float* row) { return layer_normal<V>(row, x.cols, epsilon); });
}

template <class V>
void rms_norm_backward(ConstMatrix x, std::span<const float> gain, float epsilon, ConstMatrix dy,
                       MatrixView<float> dx, std::span<float> d_gain) {
    norm_backward<V, false>(x, gain, dy, dx, d_gain, {},
                            [&](const float* row) { return rms_normal<V>(row, x.cols, epsilon); });
}

}  // namespace attn::simd
