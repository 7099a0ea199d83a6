// A model in which only the edges of a graph are left: each node reads the outputs of the nodes that an edge
// joins it with, and replacements for all others (path_base.hpp). Node by node, with an input for each. Held
// and with zeros, this is what flows through the graph; live, it is the proof that the graph does the work.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "analysis/attribution/path_base.hpp"
#include "analysis/attribution/path_subgraph.hpp"

namespace attn {

class PathRun {
  public:
    // The base has to be done.
    PathRun(std::shared_ptr<const PathBase> base, const PathSubgraph& graph);

    bool
    step();  // the heads of a part that share keys, or some tokens of an MLP; true while there is more to do
    bool done() const { return next_ == slices_.size(); }
    float progress() const { return static_cast<float>(next_) / static_cast<float>(slices_.size()); }
    double value() const { return value_; }  // the target’s, once done

  private:
    // A token that a node reads, with the edges that it comes through.
    struct Reader {
        Index node, token;
        std::size_t first, end;  // edges
    };
    // Readers of one part; for heads, of one head of keys and values.
    struct Slice {
        std::size_t part;
        Index kv_head;
        std::size_t first, end;
    };
    void plan();
    Index kv_head_of(const PathPart& part, Index node) const;
    void attend(const Slice& slice);
    void add_values(const Slice& slice, std::span<const Index> nodes, Tensor& outputs) const;
    void feed_forward(const Slice& slice);
    Tensor mlp_outputs(const PathPart& part, ConstMatrix inputs, std::span<const Index> tokens) const;
    void read_target(const Slice& slice);
    // What the readers of a slice read, through the norm in front of them, [readers, d_model].
    Tensor read(const Slice& slice) const;
    // Keeps what a node writes, less what replaces it.
    void leave(Index node, const float* written);

    std::shared_ptr<const PathBase> base_;
    PathSubgraph graph_;
    std::vector<Reader> readers_;
    std::vector<Slice> slices_;
    std::size_t next_ = 0;
    std::vector<Index> rows_;  // the differences’, by node
    Tensor differences_;       // [nodes of the graph, d_model]: what they write, less what replaces it
    double value_ = 0;
};

}  // namespace attn
