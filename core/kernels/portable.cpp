#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/exp.hpp"
#include "kernels/exponentials.hpp"
#include "kernels/panels.hpp"
#include "kernels/pool.hpp"
#include "kernels/portable_attention.hpp"
#include "kernels/table.hpp"

namespace attn {

namespace {

// This many columns of a weight matrix are widened at a time: [in, 64] floats fit into the second-level
// cache.
constexpr Index weight_columns = 64;

// Keeps four sums side by side, so that the order of additions is the same everywhere.
template <class Term>
double sum(Index n, Term term) {
    double lanes[4] = {};
    for (Index i = 0; i < n; ++i) lanes[i % 4] += static_cast<double>(term(i));
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

void dot_products(ConstMatrix q, ConstMatrix k, MatrixView<float> scores) {
    Panels panels;
    for (Index begin = 0; begin < k.rows; begin += weight_columns) {
        const Index count = std::min(weight_columns, k.rows - begin);
        panels.pack_transposed({k.row(begin), count, k.cols, k.row_stride});
        multiply(q, panels, {scores.data + begin, scores.rows, count, scores.row_stride});
    }
}

void activate(Activation activation, std::span<float> x) {
    constexpr float twice_sqrt_2_over_pi = 1.5957691216057308f;
    switch (activation) {
        case Activation::none: return;
        case Activation::relu:
            for (float& v : x) v = v < 0 ? 0 : v;
            return;
        case Activation::gelu:
            for (float& v : x) v = 0.5f * v * (1 + std::erf(v * (std::numbers::sqrt2_v<float> / 2)));
            return;
        case Activation::
            gelu_tanh:  // x/2 (1 + tanh u) = x / (1 + exp(−2u)), which is accurate where tanh is close to −1
            for (float& v : x) v = v / (1 + exp_f32(-twice_sqrt_2_over_pi * (v + 0.044715f * v * v * v)));
            return;
        case Activation::silu:
            for (float& v : x) v = v / (1 + exp_f32(-v));
            return;
    }
}

void linear(ConstMatrix x, const WeightView& weight, std::span<const float> bias, Activation activation,
            MatrixView<float> y) {
    Panels panels;
    for (Index begin = 0; begin < weight.out; begin += weight_columns) {
        const Range columns{begin, std::min(begin + weight_columns, weight.out)};
        panels.pack(weight, columns);
        multiply(x, panels, {y.data + begin, y.rows, columns.size(), y.row_stride});
    }
    for (Index r = 0; r < y.rows; ++r) {
        const std::span row(y.row(r), static_cast<std::size_t>(y.cols));
        for (std::size_t c = 0; c < bias.size(); ++c) row[c] += bias[c];
        activate(activation, row);
    }
}

void softmax(MatrixView<float> rows) {
    for (Index r = 0; r < rows.rows; ++r) {
        const std::span row(rows.row(r), static_cast<std::size_t>(rows.cols));
        const double total = exponentiate(row, largest(row), SoftmaxPrecision::f32);
        if (total == 0) continue;
        for (float& w : row) w /= static_cast<float>(total);
    }
}

float weights(std::span<float> row, float max, float log_sum) {
    const std::vector<float> scores(row.begin(), row.end());
    exponentiate(row, max, SoftmaxPrecision::f32);
    const float total = std::exp(log_sum);
    if (total == 0) return 0;
    for (float& w : row) w /= total;
    return static_cast<float>(sum(std::ssize(row), [&](Index j) {
        const auto i = static_cast<std::size_t>(j);
        return row[i] == 0 ? 0 : row[i] * (log_sum - (std::isinf(max) ? 0 : scores[i] - max));
    }));
}

void soft_cap(std::span<float> x, float cap) {
    for (float& v : x) v = cap * std::tanh(v / cap);
}

void layer_norm(ConstMatrix x, std::span<const float> gain, std::span<const float> bias, float epsilon,
                MatrixView<float> y) {
    const double n = static_cast<double>(x.cols);
    for (Index r = 0; r < x.rows; ++r) {
        const float* in = x.row(r);
        const float mean = static_cast<float>(sum(x.cols, [&](Index c) { return in[c]; }) / n);
        const double variance = sum(x.cols, [&](Index c) { return (in[c] - mean) * (in[c] - mean); }) / n;
        const float factor = static_cast<float>(1 / std::sqrt(variance + static_cast<double>(epsilon)));
        for (Index c = 0; c < x.cols; ++c) {
            const auto i = static_cast<std::size_t>(c);
            y(r, c) = (in[c] - mean) * factor * gain[i] + (bias.empty() ? 0.0f : bias[i]);
        }
    }
}

void rms_norm(ConstMatrix x, std::span<const float> gain, float epsilon, MatrixView<float> y) {
    for (Index r = 0; r < x.rows; ++r) {
        const float* in = x.row(r);
        const double mean_square =
            sum(x.cols, [&](Index c) { return static_cast<double>(in[c]) * static_cast<double>(in[c]); }) /
            static_cast<double>(x.cols);
        const float factor = static_cast<float>(1 / std::sqrt(mean_square + static_cast<double>(epsilon)));
        for (Index c = 0; c < x.cols; ++c) y(r, c) = in[c] * factor * gain[static_cast<std::size_t>(c)];
    }
}

void rope(MatrixView<float> rows, ConstMatrix cosine, ConstMatrix sine, bool interleaved) {
    const Index half = cosine.cols;
    for (Index r = 0; r < rows.rows; ++r)
        for (Index a = 0; a < half; ++a) {
            float& first = rows(r, interleaved ? 2 * a : a);
            float& second = rows(r, interleaved ? 2 * a + 1 : a + half);
            const float c = cosine(r, a), s = sine(r, a), x = first, y = second;
            first = x * c - y * s;
            second = x * s + y * c;
        }
}

}  // namespace

const Kernels& portable_kernels() {
    static constexpr Kernels kernels{.name = "portable",
                                     .attention_tile = {portable_tile_queries, portable_tile_keys},
                                     .attention = portable_attention,
                                     .dot_products = dot_products,
                                     .linear = linear,
                                     .softmax = softmax,
                                     .weights = weights,
                                     .soft_cap = soft_cap,
                                     .pool = pool<float>,
                                     .layer_norm = layer_norm,
                                     .rms_norm = rms_norm,
                                     .activate = activate,
                                     .rope = rope};
    return kernels;
}

}  // namespace attn
