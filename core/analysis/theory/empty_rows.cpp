#include "analysis/theory/empty_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {

template <class Real>
RowWeights<Real> weights_under(EmptyRow convention, std::span<const Real> scores,
                               std::span<const std::uint8_t> allowed) {
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    // Libraries fill in torch.finfo(dtype).min.
    const Real hidden = convention == EmptyRow::uniform ? std::numeric_limits<Real>::lowest() : -infinity;
    RowWeights<Real> row;
    for (std::size_t j = 0; j < scores.size(); ++j) row.weights.push_back(allowed[j] ? scores[j] : hidden);
    Real max = convention == EmptyRow::sink ? 0 : -infinity;
    for (const Real score : row.weights) max = std::max(max, score);
    if (max == -infinity && convention == EmptyRow::zeros) {
        std::ranges::fill(row.weights, Real{0});
        return row;
    }
    const Real of_sink = convention == EmptyRow::sink ? std::exp(-max) : 0;
    Real sum = of_sink;
    for (Real& weight : row.weights) sum += weight = std::exp(weight - max);
    for (Real& weight : row.weights) weight /= sum;
    if (convention == EmptyRow::sink) row.sink = of_sink / sum;
    return row;
}

template RowWeights<float> weights_under(EmptyRow, std::span<const float>, std::span<const std::uint8_t>);
template RowWeights<double> weights_under(EmptyRow, std::span<const double>, std::span<const std::uint8_t>);

}  // namespace attn
