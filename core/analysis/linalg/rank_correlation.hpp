// How alike two lists of numbers are in their order: the correlation of their ranks (Spearman 1904, doi
// 10.2307/1412159).
#pragma once

#include <span>
#include <vector>

namespace attn {

// The place of each number among them, from 0, the smallest; equal ones have the mean of theirs. None is NaN.
std::vector<double> ranks_of(std::span<const double> numbers);
// Pearson's correlation of two lists of one length; 0 where one of the two does not vary.
double correlation(std::span<const double> a, std::span<const double> b);
inline double rank_correlation(std::span<const double> a, std::span<const double> b) {
    return correlation(ranks_of(a), ranks_of(b));
}

}  // namespace attn
