// Computes everything a second time in the plainest way: in double precision, with one loop per index, and in
// two passes where the formula has two. The other kernels are tested against this.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/pool.hpp"
#include "kernels/table.hpp"

namespace attn {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double round_to(SoftmaxPrecision precision, double value) {
    switch (precision) {
        case SoftmaxPrecision::f16: return f16_to_f32(f32_to_f16(static_cast<float>(value)));
        case SoftmaxPrecision::bf16: return bf16_to_f32(f32_to_bf16(static_cast<float>(value)));
        default: return value;
    }
}

double dot(const float* x, const float* y, Index n) {
    double sum = 0;
    for (Index i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    return sum;
}

struct Softmax {
    double max = -infinity;
    double sum = 0;
};

// Turns scores into exponentials. NaN scores are ignored when looking for the maximum.
Softmax exponentiate(std::vector<double>& scores, SoftmaxPrecision precision) {
    Softmax result;
    for (double s : scores)
        if (s > result.max) result.max = s;
    for (double& s : scores) {
        if (!std::isinf(result.max))
            s = round_to(precision, std::exp(round_to(precision, s - result.max)));
        else if (!std::isnan(s))
            s = result.max > 0 && s == result.max ? 1 : 0;
        result.sum += s;
    }
    result.sum = round_to(precision, result.sum);
    return result;
}

void attention(const AttentionCall& call) {
    const Index group = call.k.heads ? call.q.heads / call.k.heads : 1;
    const Index keys = call.k.rows;
    std::vector<double> row(static_cast<std::size_t>(keys));
    std::vector<std::uint8_t> allowed(static_cast<std::size_t>(keys), 1);
    for (Index h = 0; h < call.q.heads; ++h) {
        const ConstMatrix q = call.q.head(h), k = call.k.head(h / group), v = call.v.head(h / group);
        for (Index i = 0; i < q.rows; ++i) {
            if (call.rule.row) call.rule.row(call.rule.self, h, i, 0, allowed);
            for (Index j = 0; j < keys; ++j) {
                double s = static_cast<double>(call.scale) * dot(q.row(i), k.row(j), q.cols);
                if (call.softcap != 0) {
                    const double cap = static_cast<double>(call.softcap);
                    s = cap * std::tanh(s / cap);
                }
                if (call.bias.data)
                    s += static_cast<double>(call.bias.head(h)(i, call.bias_one_column ? 0 : j));
                const auto at = static_cast<std::size_t>(j);
                row[at] = allowed[at] ? round_to(call.softmax_precision, s) : -infinity;
                if (call.part && j >= call.part->keys.begin && j < call.part->keys.end)
                    call.part->scores(i, j) = static_cast<float>(row[at]);
            }
            if (call.part && !call.part->last) continue;
            const Softmax softmax = exponentiate(row, call.softmax_precision);
            call.row_max(h, i) = static_cast<float>(softmax.max);
            call.row_log_sum(h, i) = static_cast<float>(std::log(softmax.sum));
            for (Index b = 0; b < v.cols; ++b) {
                double sum = 0;
                for (Index j = 0; j < keys; ++j) {
                    const double e = row[static_cast<std::size_t>(j)];
                    if (e != 0) sum += e * static_cast<double>(v(j, b));
                }
                call.output.head(h)(i, b) = softmax.sum == 0 ? 0 : static_cast<float>(sum / softmax.sum);
            }
        }
    }
}

void dot_products(ConstMatrix q, ConstMatrix k, MatrixView<float> scores) {
    for (Index i = 0; i < q.rows; ++i)
        for (Index j = 0; j < k.rows; ++j) scores(i, j) = static_cast<float>(dot(q.row(i), k.row(j), q.cols));
}

void activate(Activation activation, std::span<float> x) {
    for (float& v : x) v = static_cast<float>(activated(activation, static_cast<double>(v)));
}

void linear(ConstMatrix x, const WeightView& weight, std::span<const float> bias, Activation activation,
            MatrixView<float> y) {
    for (Index i = 0; i < x.rows; ++i)
        for (Index o = 0; o < weight.out; ++o) {
            double sum = bias.empty() ? 0 : static_cast<double>(bias[static_cast<std::size_t>(o)]);
            for (Index a = 0; a < weight.in; ++a) sum += static_cast<double>(x(i, a)) * element(weight, a, o);
            y(i, o) = static_cast<float>(activated(activation, sum));
        }
}

void softmax(MatrixView<float> rows) {
    for (Index r = 0; r < rows.rows; ++r) {
        std::vector<double> row(rows.row(r), rows.row(r) + rows.cols);
        const double sum = exponentiate(row, SoftmaxPrecision::f64).sum;
        for (Index c = 0; c < rows.cols; ++c)
            rows(r, c) = sum == 0 ? 0 : static_cast<float>(row[static_cast<std::size_t>(c)] / sum);
    }
}

float weights(std::span<float> row, float max, float log_sum) {
    const double most = static_cast<double>(max), log = static_cast<double>(log_sum);
    double entropy = 0;
    for (float& w : row) {
        const double s = static_cast<double>(w);
        const double e = !std::isinf(max)       ? std::exp(s - most)
                         : std::isnan(w)        ? s
                         : max > 0 && s == most ? 1
                                                : 0;
        const double weight = log_sum == -std::numeric_limits<float>::infinity() ? 0 : e / std::exp(log);
        if (weight != 0) entropy -= weight * std::log(weight);
        w = static_cast<float>(weight);
    }
    return static_cast<float>(entropy);
}

void soft_cap(std::span<float> x, float cap) {
    const double c = static_cast<double>(cap);
    for (float& v : x) v = static_cast<float>(c * std::tanh(static_cast<double>(v) / c));
}

void layer_norm(ConstMatrix x, std::span<const float> gain, std::span<const float> bias, float epsilon,
                MatrixView<float> y) {
    const double n = static_cast<double>(x.cols);
    for (Index r = 0; r < x.rows; ++r) {
        double mean = 0, variance = 0;
        for (Index c = 0; c < x.cols; ++c) mean += static_cast<double>(x(r, c)) / n;
        for (Index c = 0; c < x.cols; ++c) variance += std::pow(static_cast<double>(x(r, c)) - mean, 2) / n;
        for (Index c = 0; c < x.cols; ++c) {
            const auto i = static_cast<std::size_t>(c);
            const double normal =
                (static_cast<double>(x(r, c)) - mean) / std::sqrt(variance + static_cast<double>(epsilon));
            y(r, c) = static_cast<float>(normal * static_cast<double>(gain[i]) +
                                         (bias.empty() ? 0 : static_cast<double>(bias[i])));
        }
    }
}

void rms_norm(ConstMatrix x, std::span<const float> gain, float epsilon, MatrixView<float> y) {
    const double n = static_cast<double>(x.cols);
    for (Index r = 0; r < x.rows; ++r) {
        const double mean_square = dot(x.row(r), x.row(r), x.cols) / n;
        for (Index c = 0; c < x.cols; ++c)
            y(r, c) = static_cast<float>(static_cast<double>(x(r, c)) /
                                         std::sqrt(mean_square + static_cast<double>(epsilon)) *
                                         static_cast<double>(gain[static_cast<std::size_t>(c)]));
    }
}

void rope(MatrixView<float> rows, ConstMatrix cosine, ConstMatrix sine, bool interleaved) {
    const Index half = cosine.cols;
    for (Index r = 0; r < rows.rows; ++r)
        for (Index a = 0; a < half; ++a) {
            const Index first = interleaved ? 2 * a : a;
            const Index second = interleaved ? 2 * a + 1 : a + half;
            const double x = rows(r, first), y = rows(r, second), c = cosine(r, a), s = sine(r, a);
            rows(r, first) = static_cast<float>(x * c - y * s);
            rows(r, second) = static_cast<float>(x * s + y * c);
        }
}

}  // namespace

const Kernels& reference_kernels() {
    static constexpr Kernels kernels{.name = "reference",
                                     .attention_tile = {},
                                     .attention = attention,
                                     .dot_products = dot_products,
                                     .linear = linear,
                                     .softmax = softmax,
                                     .weights = weights,
                                     .soft_cap = soft_cap,
                                     .pool = pool<double>,
                                     .layer_norm = layer_norm,
                                     .rms_norm = rms_norm,
                                     .activate = activate,
                                     .rope = rope};
    return kernels;
}

}  // namespace attn
