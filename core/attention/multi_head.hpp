// Multi-head attention with its projections (Vaswani et al. 2017, arXiv 1706.03762, section 3.2.2): queries
// come from one sequence, keys and values from the same one or another.
#pragma once

#include <span>

#include "attention/record.hpp"

namespace attn {

// Matrices are [in, out]; each bias is [out] or empty. Head h owns columns [h · d, (h + 1) · d) of a
// projection, and the rows of w_o with the same indices.
struct MultiHeadWeights {
    Index heads = 1;
    Index kv_heads = 1;
    Tensor w_q, b_q{};  // [d_model, heads · d_k]
    Tensor w_k, b_k{};  // [d_memory, kv_heads · d_k]
    Tensor w_v, b_v{};  // [d_memory, kv_heads · d_v]
    Tensor w_o, b_o{};  // [heads · d_v, d_out]
};

class MultiHeadAttention {
  public:
    // x_q is [n_q, d_model], x_kv [n_k, d_memory]; pass the same tensor twice for self-attention.
    static Result<MultiHeadAttention> run(const Tensor& x_q, const Tensor& x_kv, MultiHeadWeights weights,
                                          AttentionSpec spec, const Kernels& kernels = default_kernels());

    const MultiHeadWeights& weights() const { return weights_; }
    const Record& record() const { return record_; }
    const Tensor& concatenated() const { return concatenated_; }  // [n_q, heads · d_v]
    const Tensor& output() const { return output_; }              // [n_q, d_out]

    // What one head adds to the output, [n_q, d_out]: its columns of `concatenated` times its rows of w_o.
    // All heads together and b_o add up to the output.
    Tensor contribution(Index head) const;

  private:
    MultiHeadAttention(Record record, MultiHeadWeights weights, const Kernels& kernels);

    MultiHeadWeights weights_;
    Record record_;
    Tensor concatenated_, output_;
    const Kernels* kernels_;
};

}  // namespace attn
