#include "kernels/exponentials.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/exp.hpp"

namespace attn {

namespace {

// Sums are kept side by side, so that they vectorise and the order of additions is the same everywhere.
constexpr std::size_t lanes = 16;

double sum(std::span<const float> values) {
    std::array<double, lanes> totals{};
    std::size_t i = 0;
    for (; i + lanes <= values.size(); i += lanes)
        for (std::size_t l = 0; l < lanes; ++l) totals[l] += static_cast<double>(values[i + l]);
    for (std::size_t l = 0; i + l < values.size(); ++l) totals[l] += static_cast<double>(values[i + l]);
    double total = 0;
    for (double t : totals) total += t;
    return total;
}

}  // namespace

float largest(std::span<const float> scores) {
    std::array<float, lanes> most;
    most.fill(-std::numeric_limits<float>::infinity());
    std::size_t i = 0;
    for (; i + lanes <= scores.size(); i += lanes)
        for (std::size_t l = 0; l < lanes; ++l) most[l] = scores[i + l] > most[l] ? scores[i + l] : most[l];
    for (; i < scores.size(); ++i) most[0] = scores[i] > most[0] ? scores[i] : most[0];
    return *std::ranges::max_element(most);
}

double exponentiate(std::span<float> scores, float max, SoftmaxPrecision precision) {
    if (std::isinf(max)) {
        for (float& s : scores) s = std::isnan(s) ? s : static_cast<float>(max > 0 && s == max);
        return sum(scores);
    }
    if (precision == SoftmaxPrecision::f64) {
        double total = 0;
        for (float& s : scores) {
            const double e = std::exp(static_cast<double>(s) - static_cast<double>(max));
            s = static_cast<float>(e);
            total += e;
        }
        return total;
    }
    for (float& s : scores) s -= max;
    round_to(precision, scores);
    for (float& s : scores) s = exp_f32(s);
    round_to(precision, scores);
    return sum(scores);
}

}  // namespace attn
