// What one attention takes as a function of its shape alone, in two forms: naive, which stores a score of
// each query and key (Dao et al. 2022, arXiv 2205.14135, Algorithm 0), and fused, which does not (Rabe &
// Staats 2021, arXiv 2112.05682). And the roofline, which says what a machine can do of it at most (Williams
// et al. 2009, doi 10.1145/1498765.1498785).
//
// A multiplication and an addition are two operations; those of the softmax are not counted.
#pragma once

#include <algorithm>

#include "tensor/tensor.hpp"

namespace attn {

struct AttentionShape {
    Index batch = 1, heads = 1, kv_heads = 1;
    Index n_q = 0, n_k = 0, d_k = 0, d_v = 0;
    bool causal = false;  // the last query sees all keys, the one before it one less, and so on
    double bytes = 4;     // a number takes
};
// Pairs of a query and a key that it sees, in all heads and texts.
double cells_seen(const AttentionShape& shape);

struct AttentionCost {
    double operations = 0;
    double read = 0, written = 0;  // bytes, between slow and fast memory
    double working = 0;            // bytes of memory beside Q, K, V and the output
    double moved() const { return read + written; }
    double intensity() const { return operations / moved(); }  // operations a byte
};
// Computes all cells, also those that the mask hides:
//   operations 2 heads n_q n_k (d_k + d_v)
//   read Q, K, V, the scores and the weights; written the scores, the weights and the output
//   working heads n_q n_k numbers: weights take the place of their scores
AttentionCost naive_cost(const AttentionShape& shape);
// Computes the cells that are seen. K and V, too, are read once: they stay in fast memory, or a tile of
// queries is as large as makes this true.
//   operations 2 cells (d_k + d_v); read Q, K, V; written the output
//   working 2 heads n_q numbers: each row's maximum and the logarithm of its sum
AttentionCost fused_cost(const AttentionShape& shape);

struct Roofline {
    double peak = 0;       // operations a second
    double bandwidth = 0;  // bytes a second
    // Operations a second that a kernel of this intensity can reach.
    double at(double intensity) const { return std::min(peak, bandwidth * intensity); }
    double ridge() const { return peak / bandwidth; }  // at higher intensities, memory is fast enough
};

}  // namespace attn
