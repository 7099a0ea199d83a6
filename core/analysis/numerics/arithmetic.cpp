#include "analysis/numerics/arithmetic.hpp"

#include <cmath>

namespace attn {

namespace {

double in_pairs(NumberFormat format, std::span<const double> values) {
    if (values.size() == 1) return values.front();
    const std::size_t half = values.size() / 2;
    return rounded(format, in_pairs(format, values.first(half)) + in_pairs(format, values.subspan(half)));
}

double compensated(NumberFormat format, std::span<const double> values) {
    double sum = 0, lost = 0;
    for (const double value : values) {
        const double next = rounded(format, sum + value);
        const bool is_larger = std::abs(sum) >= std::abs(value);
        const double larger = is_larger ? sum : value, smaller = is_larger ? value : sum;
        lost = rounded(format, lost + rounded(format, rounded(format, larger - next) + smaller));
        sum = next;
    }
    return rounded(format, sum + lost);
}

}  // namespace

double rounded_sum(NumberFormat format, SumOrder order, std::span<const double> values) {
    if (values.empty()) return 0;
    if (order == SumOrder::pairs) return in_pairs(format, values);
    if (order == SumOrder::compensated) return compensated(format, values);
    double sum = 0;
    for (const double value : values) sum = rounded(format, sum + value);
    return sum;
}

}  // namespace attn
