// What one attention call computes, apart from its Q, K and V.
#pragma once

#include <memory>
#include <optional>

#include "attention/edit.hpp"
#include "attention/mask.hpp"
#include "kernels/table.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// A bias is added to the scores: [heads|1, n_q|1, n_k|1], broadcast over axes of size 1. One that depends on
// nothing but how far a key lies behind its query is [heads|1, 1, offsets]: the number of the offset key −
// query stands that many places after `zero`.
struct Bias {
    std::shared_ptr<const Tensor> values;  // rank 3, or null
    std::optional<Index> zero = {};

    bool empty() const { return !values; }
    // The view that the kernels take (AttentionCall), with every head, query and key.
    ConstHeads view(Index heads, Index queries, Index keys) const;
    bool one_column() const { return !zero && values->dim(2) == 1; }
    float at(Index head, Index query, Index key) const;
    bool operator==(const Bias& other) const;
};

struct AttentionSpec {
    std::optional<double> scale;  // 1/√d_k when absent; the kernels take the nearest f32
    double softcap = 0;           // c·tanh(s/c) before mask and bias; 0: none
    Mask mask;
    Bias bias;
    SoftmaxPrecision softmax_precision = SoftmaxPrecision::f32;
    std::shared_ptr<const CellEdits> edits = {};  // in their order; null: none

    bool operator==(const AttentionSpec&) const = default;
};

}  // namespace attn
