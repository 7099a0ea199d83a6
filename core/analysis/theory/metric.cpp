#include "analysis/theory/metric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "analysis/linalg/symmetric_eigen.hpp"

namespace attn {

Result<Metric> Metric::of(Index size, std::vector<double> g) {
    if (size < 1 || std::ssize(g) != size * size) return Error{"A metric is a square matrix."};
    const auto at = [&](Index row, Index col) { return g[static_cast<std::size_t>(row * size + col)]; };
    const auto cell = [](Index row, Index col) {
        return "g[" + std::to_string(row) + ", " + std::to_string(col) + "]";
    };
    for (Index a = 0; a < size; ++a)
        for (Index b = 0; b < size; ++b) {
            if (!std::isfinite(at(a, b))) return Error{cell(a, b) + " is not a finite number."};
            if (b < a && at(a, b) != at(b, a))
                return Error{"A metric is symmetric, but " + cell(b, a) + " and " + cell(a, b) + " differ."};
        }
    SymmetricEigen solved(g, size);
    while (solved.step()) continue;
    const std::vector<double>& values = solved.values();
    const auto magnitude = [](double each) { return std::abs(each); };
    const double least = magnitude(*std::ranges::min_element(values, {}, magnitude)),
                 most = magnitude(*std::ranges::max_element(values, {}, magnitude));
    if (!(least > static_cast<double>(size) * std::numeric_limits<double>::epsilon() * most))
        return Error{
            "This metric has no inverse: along some direction it is 0, and no index that was raised could "
            "be lowered again."};
    Metric metric;
    metric.size_ = size;
    metric.negative_ = std::ranges::count_if(values, [](double each) { return each < 0; });
    metric.condition_ = most / least;
    metric.inverse_.resize(g.size());
    for (Index i = 0; i < size; ++i) {
        const std::span<const double> v = solved.vector(i);
        for (std::size_t a = 0; a < v.size(); ++a)
            for (std::size_t b = 0; b < v.size(); ++b)
                metric.inverse_[a * v.size() + b] += v[a] * v[b] / values[static_cast<std::size_t>(i)];
    }
    metric.g_ = std::move(g);
    return metric;
}

}  // namespace attn
