// What becomes of a query that may look at no key: four conventions are in use, and they disagree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

enum class EmptyRow {
    zeros,    // it takes nothing: ONNX Attention, opset 24, and this page
    uniform,  // hidden scores become a large negative number, the same for all, so all keys share
    nan,      // hidden scores become −inf; then 0 / 0 by IEEE 754
    sink,  // one more score of 0 takes what is left: softmax_1 of Xiao et al. 2023, arXiv 2309.17453, eq. 2
};
inline constexpr int empty_row_count = 4;

// The weights of one query under a convention, from its scores before the mask, and that of the sink. In
// `Real`, float or double, all of it. Where a key is allowed, the first three give the same.
template <class Real>
struct RowWeights {
    std::vector<Real> weights;  // [keys]
    Real sink = 0;              // where there is one
};
template <class Real>
RowWeights<Real> weights_under(EmptyRow convention, std::span<const Real> scores,
                               std::span<const std::uint8_t> allowed);

}  // namespace attn
