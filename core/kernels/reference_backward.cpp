// Computes the gradients straight from their formulas: in double precision, with one loop per index. The
// other kernels are tested against this, and this is tested against central differences.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "kernels/backward.hpp"

namespace attn {

namespace {

double wide(float x) { return static_cast<double>(x); }
std::size_t at(Index i) { return static_cast<std::size_t>(i); }

double dot(const float* x, const float* y, Index n) {
    double sum = 0;
    for (Index i = 0; i < n; ++i) sum += wide(x[i]) * wide(y[i]);
    return sum;
}

// Holds sums [rows, cols] in double.
struct Sums {
    Index cols;
    std::vector<double> values;

    Sums(Index rows, Index columns) : cols(columns), values(at(rows * columns)) {}
    // Adds factor · x to a row.
    void add(Index row, double factor, const float* x) {
        for (Index c = 0; c < cols; ++c) values[at(row * cols + c)] += factor * wide(x[c]);
    }
    void store(MatrixView<float> to) const {
        for (Index r = 0; r < to.rows; ++r)
            for (Index c = 0; c < cols; ++c) to(r, c) = static_cast<float>(values[at(r * cols + c)]);
    }
};

// A row of cells, with the weight and the slope of the soft cap at each.
struct Row {
    std::vector<double> weights, slopes;

    Row(const AttentionCall& call, Index head, Index query)
        : weights(at(call.k.rows), -std::numeric_limits<double>::infinity()), slopes(at(call.k.rows), 1) {
        const ConstMatrix k = call.k.head(head / (call.q.heads / call.k.heads));
        std::vector<std::uint8_t> allowed(at(k.rows), 1);
        if (call.rule.row) call.rule.row(call.rule.self, head, query, 0, allowed);
        const double cap = wide(call.softcap);
        for (Index j = 0; j < k.rows; ++j) {
            if (!allowed[at(j)]) continue;
            double score = wide(call.scale) * dot(call.q.head(head).row(query), k.row(j), k.cols);
            if (cap != 0) {
                const double t = std::tanh(score / cap);
                score = cap * t;
                slopes[at(j)] = 1 - t * t;
            }
            if (call.bias.data) score += wide(call.bias.head(head)(query, call.bias_one_column ? 0 : j));
            weights[at(j)] = score;
        }
        const double max = weights.empty() ? 0 : *std::ranges::max_element(weights);
        double sum = 0;
        for (double& w : weights) sum += w = std::isinf(max) ? 0 : std::exp(w - max);
        for (double& w : weights) w = sum == 0 ? 0 : w / sum;
    }
};

void attention(const AttentionBackwardCall& call) {
    const AttentionCall& f = call.forward;
    for (Index kv_head = 0; kv_head < f.k.heads; ++kv_head) {
        const Index group = f.q.heads / f.k.heads;
        const ConstMatrix k = f.k.head(kv_head), v = f.v.head(kv_head);
        Sums d_k(k.rows, k.cols), d_v(v.rows, v.cols);
        for (Index head = kv_head * group; head < (kv_head + 1) * group; ++head) {
            const ConstMatrix q = f.q.head(head), d_output = call.d_output.head(head);
            Sums d_q(q.rows, q.cols);
            for (Index i = 0; i < q.rows; ++i) {
                const Row row(f, head, i);
                std::vector<double> d_weights(at(k.rows));
                double mean = 0;  // the weighted mean of the weights' gradients
                for (Index j = 0; j < k.rows; ++j) {
                    d_weights[at(j)] = dot(d_output.row(i), v.row(j), v.cols);
                    mean += row.weights[at(j)] * d_weights[at(j)];
                }
                for (Index j = 0; j < k.rows; ++j) {
                    const double d_biased = row.weights[at(j)] * (d_weights[at(j)] - mean),
                                 d_score = wide(f.scale) * d_biased * row.slopes[at(j)];
                    if (call.d_bias.data)
                        call.d_bias.head(head)(i, j) =
                            static_cast<float>(wide(call.d_bias.head(head)(i, j)) + d_biased);
                    d_q.add(i, d_score, k.row(j));
                    d_k.add(j, d_score, q.row(i));
                    d_v.add(j, row.weights[at(j)], d_output.row(i));
                }
            }
            d_q.store(call.d_q.head(head));
        }
        d_k.store(call.d_k.head(kv_head));
        d_v.store(call.d_v.head(kv_head));
    }
}

void linear(ConstMatrix x, ConstMatrix dy, WeightView::Layout layout, MatrixView<float> d_weight,
            std::span<float> d_bias) {
    for (Index a = 0; a < x.cols; ++a)
        for (Index o = 0; o < dy.cols; ++o) {
            float& to = layout == WeightView::Layout::in_out ? d_weight(a, o) : d_weight(o, a);
            double sum = wide(to);
            for (Index i = 0; i < x.rows; ++i) sum += wide(x(i, a)) * wide(dy(i, o));
            to = static_cast<float>(sum);
        }
    for (std::size_t o = 0; o < d_bias.size(); ++o) {
        double sum = wide(d_bias[o]);
        for (Index i = 0; i < dy.rows; ++i) sum += wide(dy(i, static_cast<Index>(o)));
        d_bias[o] = static_cast<float>(sum);
    }
}

// Both norms: y = (x − mean) / √(mean((x − mean)²) + epsilon) · gain + bias, where RMS norm has 0 for the
// mean.
void norm(bool centred, ConstMatrix x, std::span<const float> gain, float epsilon, ConstMatrix dy,
          MatrixView<float> dx, std::span<float> d_gain, std::span<float> d_bias) {
    const double n = static_cast<double>(x.cols);
    std::vector<double> gain_sums(d_gain.begin(), d_gain.end()), bias_sums(d_bias.begin(), d_bias.end());
    for (Index r = 0; r < x.rows; ++r) {
        std::vector<double> normal(x.row(r), x.row(r) + x.cols), d_normal(at(x.cols));
        double mean = 0, variance = 0;
        for (double v : normal) mean += centred ? v / n : 0;
        for (double v : normal) variance += (v - mean) * (v - mean) / n;
        const double deviation = std::sqrt(variance + wide(epsilon));
        double d_mean = 0, along = 0;
        for (Index c = 0; c < x.cols; ++c) {
            normal[at(c)] = (normal[at(c)] - mean) / deviation;
            d_normal[at(c)] = wide(dy(r, c)) * wide(gain[at(c)]);
            if (!d_gain.empty()) gain_sums[at(c)] += wide(dy(r, c)) * normal[at(c)];
            if (!d_bias.empty()) bias_sums[at(c)] += wide(dy(r, c));
            d_mean += centred ? d_normal[at(c)] / n : 0;
            along += d_normal[at(c)] * normal[at(c)] / n;
        }
        for (Index c = 0; c < x.cols; ++c)
            dx(r, c) = static_cast<float>((d_normal[at(c)] - d_mean - normal[at(c)] * along) / deviation);
    }
    for (std::size_t c = 0; c < d_gain.size(); ++c) d_gain[c] = static_cast<float>(gain_sums[c]);
    for (std::size_t c = 0; c < d_bias.size(); ++c) d_bias[c] = static_cast<float>(bias_sums[c]);
}

void layer_norm(ConstMatrix x, std::span<const float> gain, float epsilon, ConstMatrix dy,
                MatrixView<float> dx, std::span<float> d_gain, std::span<float> d_bias) {
    norm(true, x, gain, epsilon, dy, dx, d_gain, d_bias);
}

void rms_norm(ConstMatrix x, std::span<const float> gain, float epsilon, ConstMatrix dy, MatrixView<float> dx,
              std::span<float> d_gain) {
    norm(false, x, gain, epsilon, dy, dx, d_gain, {});
}

double slope(Activation activation, double z) {
    switch (activation) {
        case Activation::none: return 1;
        case Activation::relu: return z > 0 ? 1 : 0;
        case Activation::gelu:
            return 0.5 * std::erfc(-z / std::numbers::sqrt2) +
                   z * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
        case Activation::gelu_tanh: {
            const double factor = std::sqrt(2 / std::numbers::pi);
            const double t = std::tanh(factor * (z + 0.044715 * z * z * z));
            return 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * factor * (1 + 3 * 0.044715 * z * z);
        }
        case Activation::silu: {
            const double s = 1 / (1 + std::exp(-z));
            return s + z * s * (1 - s);
        }
    }
    return 1;
}

void activate(Activation activation, std::span<const float> z, std::span<const float> dy,
              std::span<float> dz) {
    for (std::size_t i = 0; i < z.size(); ++i)
        dz[i] = static_cast<float>(wide(dy[i]) * slope(activation, wide(z[i])));
}

void cross_entropy(MatrixView<float> logits, std::span<const std::int32_t> targets, float weight,
                   std::span<float> loss) {
    for (Index r = 0; r < logits.rows; ++r) {
        const std::span row(logits.row(r), at(logits.cols));
        const std::int32_t target = targets[at(r)];
        loss[at(r)] = 0;
        if (target < 0) {
            std::ranges::fill(row, 0.0f);
            continue;
        }
        const double max = wide(*std::ranges::max_element(row));
        double sum = 0;
        for (float x : row) sum += std::exp(wide(x) - max);
        loss[at(r)] = static_cast<float>(std::log(sum) + max - wide(row[at(target)]));
        for (Index c = 0; c < logits.cols; ++c)
            row[at(c)] = static_cast<float>(wide(weight) *
                                            (std::exp(wide(row[at(c)]) - max) / sum - (c == target ? 1 : 0)));
    }
}

void adamw(const AdamW& a, std::span<float> parameters, std::span<const float> gradient, std::span<float> m,
           std::span<float> v) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const double g = wide(a.gradient_factor) * wide(gradient[i]);
        const double first = wide(a.beta1) * wide(m[i]) + (1 - wide(a.beta1)) * g;
        const double second = wide(a.beta2) * wide(v[i]) + (1 - wide(a.beta2)) * g * g;
        const double step =
            first / wide(a.correction1) / (std::sqrt(second / wide(a.correction2)) + wide(a.epsilon));
        parameters[i] = static_cast<float>(wide(parameters[i]) * (1 - wide(a.rate) * wide(a.weight_decay)) -
                                           wide(a.rate) * step);
        m[i] = static_cast<float>(first);
        v[i] = static_cast<float>(second);
    }
}

double sum_of_squares(std::span<const float> x) { return dot(x.data(), x.data(), std::ssize(x)); }

}  // namespace

const BackwardKernels& reference_backward() {
    static constexpr BackwardKernels kernels{.name = "reference",
                                             .attention = attention,
                                             .linear = linear,
                                             .layer_norm = layer_norm,
                                             .rms_norm = rms_norm,
                                             .activate = activate,
                                             .cross_entropy = cross_entropy,
                                             .adamw = adamw,
                                             .sum_of_squares = sum_of_squares};
    return kernels;
}

}  // namespace attn
