// What makes q, k and v of one head: its columns of a layer's projections.
#pragma once

#include "model/network.hpp"
#include "model/trace.hpp"

namespace attn {

struct HeadProjection {
    // It borrows from the model, except what it had to copy together.
    struct Part {
        WeightView weight;            // [d_model, head_dim]
        std::span<const float> bias;  // [head_dim], or empty
        std::vector<float> copied;

        LinearView view() const;
    };
    Part q, k, v;
};
// `layer` is the number of an attention (Network::attentions); `head` counts the heads of queries, and those
// of k and v are shared as the model says.
HeadProjection head_projection(const Model& model, Index layer, Index head);
// One of them alone. Heads of k and v are those of the kv heads.
HeadProjection::Part projection_part(const Model& model, Stage stage, Index layer, Index head);

// q or k of rows that an attention reads [rows, d_model], as W_Q or W_K gives them, [rows, components]: those
// of this head or, where a norm takes all heads together, of all.
Tensor projected_rows(const Kernels& kernels, const Model& model, Stage stage, Index layer, Index head,
                      ConstMatrix inputs);
// The same, [1, rows, head_dim], normalised where the block does that, before positions turn it.
Tensor rows_pre_rope(const Kernels& kernels, const Model& model, Stage stage, Index layer, Index head,
                     ConstMatrix inputs);

// The same for some tokens of a run.
Tensor projected_rows(const Trace& trace, Stage stage, Index layer, Index head, Range tokens);
// q or k of some tokens, [1, tokens, head_dim], normalised where the block does that, before positions turn
// it. Heads of k are those of the kv heads.
Tensor rows_pre_rope(const Trace& trace, Stage stage, Index layer, Index head, Range tokens);

}  // namespace attn
