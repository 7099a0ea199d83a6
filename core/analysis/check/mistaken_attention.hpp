// Attention with a mistake as a step of a network in training: the heads of a text from what the projections
// give, and the gradient back through them. So a network can learn with a mistake.
#pragma once

#include <array>
#include <vector>

#include "analysis/check/implementation.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// Attention among the tokens of one text under a causal mask, with RoPE on halves as the Llama family has it.
// All numbers are 0.
AttentionCase causal_case(Index heads, Index kv_heads, Index tokens, Index head_dim, double rope_base);

class MistakenAttention {
  public:
    // `shape` is a causal_case, and `how` its right implementation after a mistake that is neither one of
    // tiles nor one of a batch.
    MistakenAttention(const AttentionCase& shape, const Implementation& how);

    // qkv is [n, (heads + 2 kv_heads) · d], with the heads of Q, of K and of V side by side, before RoPE;
    // attended and d_attended are [n, heads · d]. Sums are in double. d_qkv is overwritten.
    void forward(ConstMatrix qkv, MatrixView<float> attended) const;
    void backward(ConstMatrix qkv, ConstMatrix d_attended, MatrixView<float> d_qkv) const;

  private:
    using Numbers = std::vector<double>;
    struct Pass {
        std::array<Numbers, 3> qkv;  // [heads or kv_heads, n, d], as they are multiplied
        Numbers softmax;             // [heads, n, n]
        Numbers weights;             // [heads, n, n], with which V is multiplied
    };
    // How Q or K turns, [n, pairs].
    struct Rotation {
        Numbers cosine, sine;
    };

    Pass run(ConstMatrix qkv) const;
    Numbers masked_scores(const Pass& pass) const;
    void take_softmax(Numbers& scores) const;
    void clear_hidden(Numbers& cells) const;   // 0 where the mask hides the key
    void average_heads(Numbers& cells) const;  // each head's cells become the mean
    Numbers score_gradients(const Pass& pass, Numbers d_weights) const;
    Rotation rotation(double first) const;
    void rotate(Numbers& heads, const Rotation& rotation, double direction) const;
    void rotate_all(std::array<Numbers, 3>& qkv, double direction) const;
    void view_keys(Numbers& keys, bool back) const;
    // Calls each(start, stride, count) for the cells of every softmax.
    void for_each_softmax(auto each) const;

    bool is_allowed(Index query, Index key) const {
        return allowed_[static_cast<std::size_t>(query * n_ + key)] != 0;
    }
    bool takes_part(Index query, Index key) const {
        return how_.masking != Implementation::Masking::minus_infinity || is_allowed(query, key);
    }
    const double* row(const Numbers& heads, Index head, Index token) const {
        return heads.data() + (head * n_ + token) * d_;
    }
    double* row(Numbers& heads, Index head, Index token) const {
        return heads.data() + (head * n_ + token) * d_;
    }
    Index kv_head(Index head) const { return how_.tiled_kv ? head % kv_heads_ : head / (heads_ / kv_heads_); }

    Implementation how_;
    Index n_, d_, heads_, kv_heads_;
    std::array<std::vector<Index>, 3> from_;  // where each number of Q, K and V stands in qkv [n · width]
    std::vector<std::pair<Index, Index>> merged_from_;  // [n, heads]: the head and token of each piece
    std::vector<char> allowed_;                         // [n, n], by the mask
    Rotation of_queries_, of_keys_;                     // empty without RoPE
};

}  // namespace attn
