// Differences of numbers, sums over vectors of one length, and where the vectors of a tensor lie.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

// |a − b|, 0 for two NaNs or equal infinities, and inf where only one of them is NaN.
inline double difference(double a, double b) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
    const double apart = std::abs(a - b);
    return std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
inline double dot(std::span<const double> a, std::span<const float> b) {
    double sum = 0;
    for (std::size_t i = 0; i < b.size(); ++i) sum += a[i] * static_cast<double>(b[i]);
    return sum;
}
inline double length_of(const std::vector<double>& v) { return std::sqrt(dot(v, v)); }
// a + times · b
inline std::vector<double> added(std::vector<double> a, double times, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += times * b[i];
    return a;
}

inline std::span<const float> row_of(const Tensor& tensor, Index row) {  // a tensor of rank 2
    return {tensor.matrix().row(row), static_cast<std::size_t>(tensor.dim(1))};
}

}  // namespace attn
