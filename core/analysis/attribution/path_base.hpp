// A model of which every node reads replacements for what all others write: zero, the mean of what a node
// writes over the tokens of the run, or what it writes in a counterfactual run. Graphs are put into it
// (path_run.hpp). Attention patterns are those of the run: the graph is about what heads move.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/attribution/frozen_norm.hpp"
#include "analysis/attribution/path_graph.hpp"

namespace attn {

struct PathReplacement {
    bool is_live = true;  // norms, activations and the cap of the logits; if not, they are held
    Operation operation = Operation::zero;             // or mean, or patch
    std::shared_ptr<const Trace> counterfactual = {};  // for a patch
};

class PathBase {
  public:
    // The graph has to be done. Fails if a counterfactual run does not fit.
    static Result<PathBase> start(std::shared_ptr<const PathGraph> graph, const PathReplacement& replacement);

    bool step();  // a part; true while there is more to do
    bool done() const { return next_ == parts_.size(); }

    const PathGraph& graph() const { return *graph_; }
    const PathLayout& layout() const { return graph_->layout(); }
    const Trace& trace() const { return *graph_->trace(); }
    bool is_live() const { return replacement_.is_live; }

    // Once done. What replaces a node's output, [d_model]; empty: zero.
    std::span<const float> replaced(Index node) const;
    // The values of a key in an attention of that part, [d_v].
    const float* values(const PathPart& part, Index kv_head, Index key) const {
        return of(part).values.heads().head(kv_head).row(key);
    }
    // The stream of a token as a node reads it behind a part, into x [d_model]. Some of its writers, in
    // ascending order, differ by these rows from what replaces them.
    struct Difference {
        Index writer;  // the node
        const float* row;
    };
    void read_stream(const PathPart& after, Index token, std::span<const Difference> kept,
                     std::span<float> x) const;
    // What a part's nodes read of such a row: through the norm in front of them.
    void normalise_row(const PathPart& part, Index token, std::span<float> x) const;

  private:
    struct Part {
        Tensor replaced;  // [heads, n, d_model], [heads, 1, d_model] of a mean, or empty
        Tensor added;     // [n, d_model]: what the part adds to the stream, before the norm behind it
        Tensor after;     // [n, d_model]: the stream behind it
        Tensor values;    // [kv_heads, n_k, d_v]
        std::vector<FrozenNorm> norms;  // in front of the part's nodes, for each token that they read
    };
    PathBase(std::shared_ptr<const PathGraph> graph, PathReplacement replacement);
    const Part& of(const PathPart& part) const {
        return parts_[static_cast<std::size_t>(&part - layout().parts().data())];
    }
    const std::optional<Norm>& norm_before(const PathPart& part) const;
    void hold_norms(const PathPart& part, Part& to) const;
    void fill_replaced(const PathPart& part, Part& to) const;
    void fill_values(const PathPart& part, Part& to) const;
    // Adds y to the stream x, through the norms behind the part and what interventions change there.
    void add_part(const PathPart& part, Index token, std::span<float> y, std::span<float> x) const;
    void normalise_row(const Norm& norm, std::span<const float> at, std::span<float> x) const;

    std::shared_ptr<const PathGraph> graph_;
    PathReplacement replacement_;
    bool adds_up_;  // whether streams are the sums of what is written: no norm and no change lies between
    std::vector<Part> parts_;
    std::size_t next_ = 0;
};

}  // namespace attn
