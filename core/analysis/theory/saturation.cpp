#include "analysis/theory/saturation.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

std::vector<double> jacobian_factors(std::span<const double> weights) {
    struct Others {
        double sum = 0, squares = 0;
        void add(double weight) { sum += weight, squares += weight * weight; }
    };
    std::vector<double> factors(weights.size());
    std::vector<Others> after(weights.size() + 1);
    for (std::size_t i = weights.size(); i-- > 0;) (after[i] = after[i + 1]).add(weights[i]);
    Others before;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const double rest = before.sum + after[i + 1].sum;
        factors[i] = rest * rest + (before.squares + after[i + 1].squares);
        before.add(weights[i]);
    }
    return factors;
}

Saturation saturation_of(std::span<const double> weights) {
    Saturation row;
    const std::vector<double> factors = jacobian_factors(weights);
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const double weight = weights[i];
        if (weight != 0) row.entropy -= weight * std::log(weight);
        if (weight > row.largest || std::isnan(weight)) row.largest = weight;
        row.gradient += weight * weight * factors[i];
    }
    row.gradient = std::sqrt(row.gradient);
    return row;
}

std::vector<double> softmax(std::span<const double> scores, double scale) {
    std::vector<double> weights;
    weights.reserve(scores.size());
    double most = -HUGE_VAL, sum = 0;
    for (const double score : scores) most = std::max(most, scale * score);
    for (const double score : scores) sum += weights.emplace_back(std::exp(scale * score - most));
    for (double& weight : weights) weight /= sum;
    return weights;
}

}  // namespace attn
