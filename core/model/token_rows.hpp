// Rows of a residual stream that go through the blocks together, and one token of a causal text in several
// variants as such rows.
#pragma once

#include "model/block.hpp"
#include "model/model.hpp"
#include "model/trace.hpp"

namespace attn {

// What a token attends to in a layer, [kv_heads, keys, head_dim]: `k` and `v` have room for the variants' own
// behind those of the tokens before. The others are of the encoder's text, or null.
struct SeenKeys {
    Tensor& k;
    Tensor& v;
    const Tensor* cross_k = nullptr;
    const Tensor* cross_v = nullptr;
};

class ResidualRows {
  public:
    ResidualRows() = default;
    ResidualRows(std::shared_ptr<const Model> model, const Kernels& kernels, Index rows);
    // The rows are a run's tokens from that one on: what its interventions do to numbers of theirs, leave()
    // and change() do, too. The run has to live as long.
    void follow(const Trace& run, Index first);

    // What the next layer reads, [rows, d_model].
    MatrixView<float> residual() { return residual_.matrix(); }
    // A site of the layer's self-attention, once its rows are computed.
    void change(std::size_t layer, Site site, HeadsView<float> rows) const;
    // What the layer makes of the outputs of its heads, [heads, rows, head_dim], and of the encoder's text,
    // if it reads one: its keys and values, [kv_heads, keys, head_dim].
    void leave(std::size_t layer, const Tensor& heads, const Tensor* cross_k, const Tensor* cross_v);
    // The logits of some outputs of the head, [rows, outputs].
    void logits(Range outputs, MatrixView<float> to) const;

  protected:
    Tensor attend(const AttentionSublayer& half, AttentionCall call) const;  // [heads, rows, head_dim]

    std::shared_ptr<const Model> model_;
    const Kernels* kernels_ = nullptr;
    Tensor residual_;  // [rows, d_model]

  private:
    Index number_of(std::size_t layer, bool cross) const;
    void change(Index attention, Site site, HeadsView<float> rows) const;
    void change(Index attention, Site site) { change(attention, site, heads_of(residual_.matrix(), 1)); }
    void add_heads(const AttentionSublayer& half, const Tensor& heads, Index attention);
    Tensor attend_changed(std::size_t layer, const Tensor& q) const;  // cross-attention of the run

    const Trace* run_ = nullptr;
    Index first_ = 0;
};

// Each variant sees the tokens before it, and itself.
class TokenRows : public ResidualRows {
  public:
    TokenRows() = default;
    TokenRows(std::shared_ptr<const Model> model, const Kernels& kernels, Index position, Index variants);

    // The heads' outputs in a layer, [heads, variants, head_dim]; the variants' keys and values come behind
    // the others.
    Tensor attend(std::size_t layer, const SeenKeys& seen);
    // What the layer makes of them.
    void leave(std::size_t layer, const Tensor& heads, const SeenKeys& seen) {
        ResidualRows::leave(layer, heads, seen.cross_k, seen.cross_v);
    }

  private:
    RotaryRows rotary_of(const AttentionSublayer& half) const;

    Index position_ = 0, variants_ = 0;
    RotaryTables rotary_;  // for the position
    Tensor biases_;        // [heads, 1, position + variants], of the distances, if the network has such
};

}  // namespace attn
