// One token of a causal text in several variants, which are rows of everything: each sees the tokens before it, and itself.
#pragma once

#include "model/block.hpp"
#include "model/model.hpp"

namespace attn {

// What a token attends to in a layer, [kv_heads, keys, head_dim]: `k` and `v` have room for the variants' own behind those
// of the tokens before. The others are of the encoder's text, or null.
struct SeenKeys {
    Tensor& k;
    Tensor& v;
    const Tensor* cross_k = nullptr;
    const Tensor* cross_v = nullptr;
};

class TokenRows {
  public:
    TokenRows() = default;
    TokenRows(std::shared_ptr<const Model> model, const Kernels& kernels, Index position, Index variants);

    // What the next layer reads, [variants, d_model].
    MatrixView<float> residual() { return residual_.matrix(); }
    // The heads' outputs in a layer, [heads, variants, head_dim]; the variants' keys and values come behind the others.
    Tensor attend(std::size_t layer, const SeenKeys& seen);
    // What the layer makes of them.
    void leave(std::size_t layer, const Tensor& heads, const SeenKeys& seen);
    // Of some outputs of the head, [variants, outputs].
    void logits(Range outputs, MatrixView<float> to) const;

  private:
    Tensor attend(const AttentionHalf& half, AttentionCall call) const;
    void add_heads(const AttentionHalf& half, const Tensor& heads);
    RotaryRows rotary_of(const AttentionHalf& half) const;

    std::shared_ptr<const Model> model_;
    const Kernels* kernels_ = nullptr;
    Index position_ = 0, variants_ = 0;
    RotaryTables rotary_;  // of the position
    Tensor biases_;        // [heads, 1, position + variants], of the distances, if the network has such
    Tensor residual_;      // [variants, d_model]
};

}  // namespace attn
