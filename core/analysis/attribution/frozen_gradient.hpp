// What a run's logit would gain from each node of it (path_layout.hpp), with attention patterns, the
// statistics of norms, MLP activations and the cap of the logits held: then everything is linear, and one
// backward sweep gives the gradients (Ameisen et al. 2025, "Circuit Tracing",
// transformer-circuits.pub/2025/attribution-graphs/methods.html, freeze the same).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "analysis/attribution/frozen_mlp.hpp"
#include "analysis/attribution/logit_gradient.hpp"
#include "analysis/attribution/path_writers.hpp"
#include "model/head_projection.hpp"

namespace attn {

// What is held in a part, and the gradients of its nodes.
struct FrozenPart {
    // ∂L/∂ what the nodes give: for heads [heads, n, d_v], before W_O; for an MLP [1, n, d_model].
    // Interventions on that lie behind it.
    Tensor slopes;
    // ∂L/∂ the stream that a node reads, through the node alone: [n, d_model] of an MLP, and [1, d_model] of
    // the target.
    Tensor reads;
    Tensor patterns;                           // [heads, n_q, n_k]
    std::vector<HeadProjection::Part> values;  // the projections of V, one for each kv head
    Tensor own_values;                         // [kv_heads, n_k, d_v]: the constant part of V
    FrozenMlp mlp;
};

class FrozenGradient {
  public:
    // The loss has to fit the run.
    FrozenGradient(std::shared_ptr<const Trace> trace, const LogitLoss& loss);

    bool step();  // an attention, or some tokens of an MLP; true while there is more to do
    bool done() const { return next_ == slices_.size(); }
    float progress() const { return static_cast<float>(next_) / static_cast<float>(slices_.size()); }

    const std::shared_ptr<const Trace>& trace() const { return trace_; }
    const LogitLoss& loss() const { return loss_; }
    const PathLayout& layout() const { return layout_; }
    const FrozenPart& part(std::size_t which) const { return parts_[which]; }
    const FrozenPart& part(const PathPart& of) const {
        return parts_[static_cast<std::size_t>(&of - layout_.parts().data())];
    }
    double value() const { return value_; }  // L itself
    // What a node adds to the logit in all ways: its output times the gradient; of the target, L.
    double effect(Index node) const { return effects_[static_cast<std::size_t>(node)]; }
    // The part of that which is the node's own biases: of its projections and of the norm in front of them.
    double own_constant(Index node) const { return constants_[static_cast<std::size_t>(node)]; }

  private:
    struct Slice {
        std::size_t part;
        Range tokens;
    };
    void plan_mlp(std::size_t part);
    void leave_target();
    void leave_transform(const HeadTransform& transform, std::vector<double>& down);
    void leave_mlp(const Slice& slice);
    void leave_attention(const PathPart& part);
    void leave_values(const PathPart& part);
    void measure_heads(const PathPart& part);
    void leave_embeddings(const PathPart& part);
    void enter_encoder();
    // Turns the gradient by what a sublayer leaves, in d_, into that by what it adds, and returns that.
    Tensor leave_sublayer(const PathPart& part, const SublayerNorms& norms, const Tensor& output,
                          const Tensor& between, Range tokens);
    FrozenPart& frozen(const PathPart& of) {
        return parts_[static_cast<std::size_t>(&of - layout_.parts().data())];
    }
    const Block& block(const PathPart& part) const {
        return layout_.stack(part.stack).network().blocks[static_cast<std::size_t>(part.layer)];
    }
    const LayerTrace& layer(const PathPart& part) const {
        return layout_.stack(part.stack).layers()[static_cast<std::size_t>(part.layer)];
    }

    std::shared_ptr<const Trace> trace_;
    LogitLoss loss_;
    PathLayout layout_;
    std::vector<FrozenPart> parts_;
    std::vector<double> effects_, constants_;  // [nodes]
    double value_ = 0;
    std::vector<Slice> slices_;
    std::size_t next_ = 0;
    Tensor d_;           // [n, d_model]: ∂L/∂ the stream where the sweep has got to
    Tensor d_encoded_;   // [n, d_model]: the same by what cross-attention reads of the encoder
    Tensor d_parallel_;  // [n, d_model]: what the MLP of a parallel block gives to the stream that both read
};

}  // namespace attn
