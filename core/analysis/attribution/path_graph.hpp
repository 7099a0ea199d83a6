// A logit, or the difference of two, as a graph: what each embedding, each head at each position and each
// MLP at each position adds to it, and along which edges (Elhage et al. 2021, "A Mathematical Framework for
// Transformer Circuits"; edge attribution: Syed, Rager & Conmy 2023, arXiv 2310.10348).
//
// Attention patterns, the statistics of norms, MLP activations and the cap of the logits are held at those
// of the run (Ameisen et al. 2025, "Circuit Tracing", transformer-circuits.pub/2025/attribution-graphs/
// methods.html). Then a node's output is exactly the sum over its inputs plus a constant, and the logit is
// exactly the sum over all paths from embeddings plus constants:
// - An embedding is that of a token with its position, segment and norm.
// - An MLP act(x W_in + b) W_out has the diagonal act(h) / h in place of act; with a gate, the activated
//   gate is held. Experts are held with the weights of the router.
// - An edge u → v has the effect that goes from u's output directly into v's input, not through other nodes,
//   and on by all ways from v: out_u · ĝ_v, with ĝ_v the gradient of the logit by v's input through v alone.
//   For a head at query t that reads token s, ĝ_v is A[t, s] W_V W_O ∂L/∂(what it writes at t).
// - A node's effect is out_v · g_v = Σ incoming edges + its constant. The constant comes from biases: its
//   own, and those in the stream that it reads, where everything lies that interventions add or set.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analysis/attribution/frozen_gradient.hpp"
#include "model/block.hpp"

namespace attn {

// Nodes are those of the layout.
struct PathEdge {
    std::int32_t from = 0, to = 0;
    double effect = 0;
    bool operator==(const PathEdge&) const = default;
};

// Orders edges by the magnitude of their effects, the strongest first, and equal ones by their nodes.
bool is_stronger(const PathEdge& a, const PathEdge& b);

// Keeps the strongest of many edges, by magnitude.
class StrongestEdges {
  public:
    explicit StrongestEdges(std::size_t most) : most_(most) {}
    void add(Index from, Index to, double effect) {
        if (std::abs(effect) < weakest_) return;
        edges_.push_back({static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), effect});
        if (edges_.size() >= 2 * most_) drop_weakest();
    }
    std::vector<PathEdge> take_sorted();  // the strongest first

  private:
    void drop_weakest();
    std::size_t most_;
    double weakest_ = 0;
    std::vector<PathEdge> edges_;
};

// Matrices multiply in f32, everything is added up in double. To cancel it, drop it.
class PathGraph {
  public:
    static constexpr std::size_t most_edges = std::size_t{1} << 17;

    // Fails if the loss does not fit, or if there are too many edges for one graph.
    static Result<PathGraph> start(std::shared_ptr<const Trace> trace, const LogitLoss& target);

    // First the way back from the logit, after which the effects of nodes are known; then edge by edge. True
    // while there is more to do.
    bool step();
    bool has_effects() const { return gradient_.done(); }
    bool done() const { return has_effects() && next_ == slices_.size(); }
    float progress() const;

    const FrozenGradient& frozen() const { return gradient_; }
    const std::shared_ptr<const Trace>& trace() const { return gradient_.trace(); }
    const PathLayout& layout() const { return gradient_.layout(); }
    double value() const { return gradient_.value(); }  // the logit’s, in the run
    double effect(Index node) const { return gradient_.effect(node); }

    // Once done. The constant part of a node's effect and the sum of all edges into it: together, its effect.
    double constant(Index node) const { return constants_[static_cast<std::size_t>(node)]; }
    double incoming(Index node) const { return incoming_[static_cast<std::size_t>(node)]; }
    // The strongest edges first, as many as are kept; and how many there are. An edge is there if the logit
    // depends on the node that it enters and, in a head, if its weight is not 0.
    std::span<const PathEdge> edges() const { return edges_; }
    std::int64_t edge_count() const { return edge_count_; }

  private:
    struct Slice {
        void (PathGraph::*work)(const Slice&);
        std::size_t part;
        Index token = 0;  // the keys’
    };
    explicit PathGraph(FrozenGradient gradient);
    void plan();
    void read_heads(const Slice& slice);
    void read_mlp(const Slice& slice);  // and the target
    void write(const Slice& slice);
    void finish(const Slice& slice);
    void add_edges(const PathPart& part, Index head, Index key, ConstMatrix values);
    // Adds what a sublayer wrote to a token's stream, through the norms behind it. `constant` is what it adds
    // beside its nodes.
    void leave_sublayer(const PathPart& part, Index token, MatrixView<float> constant);
    // What interventions make of a token's stream behind a part.
    void settle(const PathPart& part, Index token);
    // What a token's stream has so far: constants, then the writers. [1 + writers, d_model].
    MatrixView<float> arrived(std::size_t stack, Index token);
    MatrixView<float> written(const PathPart& part, Index token);
    const PathPart& part(const Slice& slice) const { return layout().parts()[slice.part]; }

    FrozenGradient gradient_;
    std::vector<Slice> slices_;
    std::size_t next_ = 0;
    std::vector<Tensor> arrived_;  // for each stack, [n · (1 + writers), d_model]
    std::vector<double> incoming_, constants_;
    StrongestEdges strongest_{most_edges};
    std::vector<PathEdge> edges_;
    std::int64_t edge_count_ = 0;
};

}  // namespace attn
