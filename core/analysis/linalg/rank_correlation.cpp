#include "analysis/linalg/rank_correlation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/linalg/moments.hpp"

namespace attn {

std::vector<double> ranks_of(std::span<const double> numbers) {
    std::vector<std::size_t> order(numbers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return numbers[i]; });
    std::vector<double> ranks(numbers.size());
    for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin;
        while (end < order.size() && numbers[order[end]] == numbers[order[begin]]) ++end;
        for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
        begin = end;
    }
    return ranks;
}

double correlation(std::span<const double> a, std::span<const double> b) {
    const Moments of_a = moments_of(a), of_b = moments_of(b);
    const double deviations = std::sqrt(of_a.variance) * std::sqrt(of_b.variance);
    if (deviations == 0) return 0;
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - of_a.mean) * (b[i] - of_b.mean);
    return sum / (static_cast<double>(a.size()) * deviations);
}

}  // namespace attn
