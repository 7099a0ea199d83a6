// The arithmetic of one block, shared by whole runs, by one token at a time and by training. Every function
// treats each row on its own, so callers may give it any rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attention/mask.hpp"
#include "attention/spec.hpp"
#include "kernels/table.hpp"
#include "model/network.hpp"

namespace attn {

// Cosines and sines of positions, [tokens, pairs], for the first components of Q and K.
struct RotaryRows {
    ConstMatrix cosine;  // no columns: nothing turns
    ConstMatrix sine;
    bool interleaved = false;
};
struct RotaryTable {
    Tensor cosine;
    Tensor sine;
    bool interleaved = false;
};
RotaryRows rows(const RotaryTable& table, Range tokens);
// The rows of the positions that follow each other from `first`.
void fill_rotary(std::span<const double> frequencies, Index first, MatrixView<float> cosine,
                 MatrixView<float> sine);

// Cosines and sines of a run, which has as many tables as its network has ways to turn. Some positions are
// left out at the beginning.
class RotaryTables {
  public:
    RotaryTables() = default;
    RotaryTables(const Network& network, Range positions);
    // The rows of these positions, of a text of so many tokens.
    void fill(const Network& network, Range positions, Index text);
    // No rows for a sublayer without rotary positions.
    RotaryRows of(const AttentionSublayer& half, Range positions) const;
    void negate_sines();  // so that they turn back

  private:
    std::vector<RotaryTable> tables_;
    Index first_ = 0;
};

// Whether all positions turn alike in texts of so many tokens.
bool same_rope_frequencies(const Network& network, Index tokens, Index other_tokens);

// out [ids, d_model]: rows of a table [rows, d_model].
void look_up(const WeightView& table, std::span<const std::int32_t> ids, MatrixView<float> out);

void normalise(const Kernels& kernels, const NormView& norm, ConstMatrix x,
               MatrixView<float> y);  // [rows, d_model]

void apply(const Kernels& kernels, const LinearView& linear, ConstMatrix x, MatrixView<float> y,
           Activation activation = Activation::none);

// dx = dy Wᵀ [rows, in], the gradient by x of y = x W.
void input_gradient(const Kernels& kernels, const WeightView& weight, ConstMatrix dy, MatrixView<float> dx);

MatrixView<float> columns(MatrixView<float> m, Index first, Index count);

// The heads that lie side by side in the columns of a matrix.
HeadsView<float> heads_of(MatrixView<float> side_by_side, Index heads);
void copy_heads(ConstHeads from, const HeadsView<float>& to);

struct QkvRows {
    HeadsView<float> q;  // [heads, rows, head_dim]
    HeadsView<float> k;  // [kv_heads, rows, head_dim]
    HeadsView<float> v;  // [kv_heads, rows, head_dim]
};
// All heads lie side by side: Q, then K, then V.
QkvRows qkv_of(MatrixView<float> side_by_side, Index heads, Index kv_heads);
// Q and K, in place.
void apply_rope(const Kernels& kernels, const QkvRows& qkv, const RotaryRows& rotary);

// Where a run begins, [rows, d_model] each; those that a network does not have may be empty.
struct EmbeddingRows {
    MatrixView<float> token;
    MatrixView<float> position;
    MatrixView<float> segment;
    MatrixView<float> sum;  // before its norm
    MatrixView<float> residual;
};
// The rows of the position embedding that the tokens of a text have, counted on from first_position. RoBERTa
// counts no padding, whose row is that of its id (transformers' create_position_ids_from_input_ids).
std::vector<std::int32_t> position_rows(const Network& network, std::span<const std::int32_t> ids);
// `segments` are as many as the ids, or none: all 0. `positions` are as many, too: their position_rows.
void embed(const Kernels& kernels, const Network& network, std::span<const std::int32_t> ids,
           std::span<const std::int32_t> segments, std::span<const std::int32_t> positions,
           const EmbeddingRows& to);

// What a half of a block reads: the normalised residual, or the residual itself.
void pre_norm(const Kernels& kernels, const std::optional<Norm>& norm, ConstMatrix residual,
              MatrixView<float> input);

// Q, K and V of all heads side by side, as the matrices give them.
void project_side_by_side(const Kernels& kernels, const AttentionSublayer& half, ConstMatrix normalised,
                          MatrixView<float> out);
// Takes normalised rows [rows, d_model]; Q and K are normalised, if the block does that, and rotated.
void project_qkv(const Kernels& kernels, const AttentionSublayer& half, ConstMatrix normalised,
                 const RotaryRows& rotary, const QkvRows& out);
// In cross-attention: Q from the decoder's rows, K and V from the encoder's.
void project_cross_q(const Kernels& kernels, const AttentionSublayer& half, ConstMatrix normalised,
                     const HeadsView<float>& q);
void project_cross_kv(const Kernels& kernels, const AttentionSublayer& half, ConstMatrix encoded,
                      const HeadsView<float>& k, const HeadsView<float>& v);

// A query sees its own key and those before it, or all, within the block's window.
Mask mask_of(const AttentionSublayer& half);
// What the scores of keys at these offsets from their query get, [heads, 1, offsets].
Tensor relative_biases(const RelativeBias& bias, Range offsets);
// The same as a Bias of a text of so many tokens.
Bias relative_bias_of(const RelativeBias& bias, Index tokens);

// attention_output [rows, d_model] from the heads' outputs [heads, rows, head_dim].
void merge_heads(const Kernels& kernels, const AttentionSublayer& half, ConstHeads heads,
                 MatrixView<float> attention_output);

// mlp_hidden [rows, d_ff] from normalised rows [rows, d_model].
void mlp_hidden(const Kernels& kernels, const Mlp& mlp, Activation activation, ConstMatrix normalised,
                MatrixView<float> hidden);

// What a half of a block leaves, [rows, d_model]: to = residual + output, with the norms that come behind the
// output or the sum. What a norm reads or gives on the way goes to `between`, which may be empty where there
// is none. `to` may be the residual.
struct SublayerNorms {
    const std::optional<Norm>& post_sublayer_norm;
    const std::optional<Norm>& post_residual_norm;
};
inline SublayerNorms after_attention(const AttentionSublayer& b) {
    return {b.attention_post_sublayer_norm, b.attention_post_residual_norm};
}
inline SublayerNorms after_mlp(const Block& b) {
    return {b.mlp_post_sublayer_norm, b.mlp_post_residual_norm};
}
void add_residual(const Kernels& kernels, const SublayerNorms& norms, ConstMatrix residual,
                  ConstMatrix output, MatrixView<float> between, MatrixView<float> to);

// What the head reads, of what the last block and its norm left.
bool has_head_input(const Network& network);  // false: that itself
Tensor head_input(const Kernels& kernels, const Network& network, ConstMatrix normalised);
// The logits of some outputs of the head, [rows, part.out], of what the head reads.
void head_logits(const Kernels& kernels, const Network& network, Range outputs, ConstMatrix input,
                 MatrixView<float> logits);

void copy(ConstMatrix from, MatrixView<float> to);
void add(ConstMatrix a, ConstMatrix b, MatrixView<float> sum);
// to += a. Compilers do not vectorise the sum above where it is one of its operands.
void add(ConstMatrix a, MatrixView<float> to);

}  // namespace attn
