// Sums over vectors of one length.
#pragma once

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace attn {

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
inline double length_of(const std::vector<double>& v) { return std::sqrt(dot(v, v)); }
// a + times · b
inline std::vector<double> added(std::vector<double> a, double times, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += times * b[i];
    return a;
}

}  // namespace attn
