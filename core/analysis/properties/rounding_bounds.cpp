#include "analysis/properties/rounding_bounds.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

namespace {

// What kernels/simd/exp.hpp and kernels/exp.hpp promise of an exponential of x: 2·10⁻⁷ + 7.5·10⁻⁸ |x|. A row
// is summed relative to a score that may be smaller than the largest by 8 (kernels/simd/attention.hpp), and
// is rescaled when it is smaller by more, which adds as much again.
constexpr double exp_error = 2e-7, exp_error_of_one = 7.5e-8, slack = 8;
constexpr double cap_roundings = 16;  // c · tanh(s / c), whose tanh is within a few units
constexpr double lost = 80;           // an exponential this far below the largest may have become 0

double roundoff_of(SoftmaxPrecision precision) {
    switch (precision) {
        case SoftmaxPrecision::f16: return 0x1p-11;
        case SoftmaxPrecision::bf16: return 0x1p-8;
        default: return 0;
    }
}

// σ_j: how far the masked score of a key may be off.
double score_error(const Record& record, const CellExplanation& cell, const float* q, const float* k) {
    double magnitude = 0;
    for (Index a = 0; a < record.d_k(); ++a)
        magnitude += std::abs(static_cast<double>(q[a]) * static_cast<double>(k[a]));
    const AttentionSpec& spec = record.spec();
    double error = rounding_of_sum(static_cast<double>(record.d_k() + 2)) * std::abs(cell.scale) * magnitude;
    if (spec.softcap != 0) error += rounding_of_sum(cap_roundings) * std::abs(cell.capped);
    if (!spec.bias.empty()) error += f32_roundoff * std::abs(cell.masked);
    return error;
}

// r_j, without the score's own error: the key's score lies x below the largest.
double exp_error_at(double x) {
    const double step = exp_error + 2 * f32_roundoff;
    return step + (f32_roundoff + 2 * exp_error_of_one + step / slack) * (x + slack);
}

}  // namespace

double rounding_of_sum(double n) { return n * f32_roundoff / (1 - n * f32_roundoff); }

RowBounds::RowBounds(const Record& record, Index head, Index query) : record_(record), head_(head) {
    const RowChain chain = row_chain(record, head, query);
    const Index keys = record.keys();
    const float* q = record.q().heads().head(head).row(query);
    const ConstMatrix k = record.k().heads().head(record.kv_head(head));
    const double coarse = roundoff_of(record.spec().softmax_precision);
    double of_sum = 0, exponentials = 0;
    for (Index j = 0; j < keys; ++j) {
        const CellExplanation cell = chain.at(j);
        double r = 0;
        if (cell.allowed && std::isfinite(cell.masked)) {
            const double x = cell.row_max - cell.masked;
            r = score_error(record, cell, q, k.row(j)) + exp_error_at(x) +
                coarse * (std::abs(cell.masked) + x + 2);
            largest_ = std::max(largest_, std::abs(cell.masked));
            exponentials += cell.exponential / cell.row_sum;
            of_sum += cell.exponential / cell.row_sum * std::exp(r);
        }
        empty_ = empty_ && !(cell.weight != 0);
        weights_.push_back(cell.weight);
        const bool may_be_lost = cell.row_max - cell.masked > lost;
        exponents_.push_back(may_be_lost ? std::max(r, std::log(2.0)) : r);
    }
    const auto tile = static_cast<double>(record.kernels().attention_tile.keys);
    sums_ = rounding_of_sum(std::min(static_cast<double>(keys), tile) +
                            std::ceil(static_cast<double>(keys) / tile) + 3);
    of_row_ = exponentials > 0 ? std::log(of_sum / exponentials) : 0;
    log_sum_ = std::log(chain.row_sum());
    for (double& each : exponents_) each += of_row_ + 2 * sums_;
}

// The logarithm of the sum is rounded, and the exponential of it once more.
double RowBounds::of_logarithm() const {
    return exp_error + (2 * exp_error_of_one + rounding_of_sum(8)) * (std::abs(log_sum_) + slack);
}

double RowBounds::row_sum() const { return std::expm1(2 * of_row_ + 2 * sums_ + of_logarithm()); }

RowBounds::Output RowBounds::output(Index component) const {
    Output out;
    if (empty_) return out;
    const ConstMatrix v = record_.v().heads().head(record_.kv_head(head_));
    for (std::size_t j = 0; j < weights_.size(); ++j) {
        if (weights_[j] == 0) continue;
        const double value = static_cast<double>(v(static_cast<Index>(j), component));
        const double magnitude = std::abs(weights_[j] * value);
        out.value += weights_[j] * value;
        out.magnitude += magnitude;
        out.bound += magnitude * std::expm1(exponents_[j]);
    }
    out.hull = out.magnitude * std::expm1(2 * sums_);
    return out;
}

double RowBounds::Output::shifted(double largest) const {
    const double factor = std::exp(2 * f32_roundoff * largest);
    return bound + factor * (bound + magnitude) - magnitude;
}

}  // namespace attn
