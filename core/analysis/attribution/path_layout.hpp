// The nodes of a run as a graph (path_graph.hpp), numbered in the order of the arithmetic: every edge goes
// from a lower number to a higher one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/trace.hpp"

namespace attn {

struct PathNode {
    enum class Kind : std::uint8_t { embedding, head, mlp, target };
    Kind kind = Kind::embedding;
    // Counts attentions; for an MLP and for embeddings, the first one of their block or of their stack.
    Index number = 0;
    Index head = 0;
    Index token = 0;  // the target's is the row of its logits
    bool operator==(const PathNode&) const = default;
};

// A stack's embeddings, or one of its sublayers, or the target. They write into the residual stream in this
// order, head by head.
struct PathPart {
    PathNode::Kind kind = PathNode::Kind::embedding;
    Index number = 0;  // like PathNode's
    Index layer = 0;
    std::size_t stack = 0;  // the one that has the tokens
    std::size_t reads = 0;  // the stack whose stream it reads: in cross-attention, the encoder
    Index heads = 1, tokens = 0;
    Index first_token = 0;        // the target has one token, the row of its logits
    Index first_node = 0;         // the node of head h at token t is first_node + h · tokens + t
    Index first_writer = 0;       // among the writers of a token's stream
    std::size_t reads_after = 0;  // the part that wrote last into what it reads
    Index readable = 0;           // how many writers of a token it reads

    Index nodes() const { return heads * tokens; }
    Index node(Index head, Index token) const { return first_node + head * tokens + token - first_token; }
};

class PathLayout {
  public:
    PathLayout(const Trace& trace, Index row);

    // Stacks of layers: an encoder comes before its decoder.
    Index stacks() const { return std::ssize(writers_); }
    const Trace& stack(std::size_t which) const { return *traces_[which]; }
    Index writers(std::size_t stack) const { return std::ssize(writers_[stack]); }
    const std::vector<PathPart>& parts() const { return parts_; }  // the last is the target
    const PathPart& part_of(Index node) const;

    Index nodes() const { return target() + 1; }
    Index target() const { return parts_.back().first_node; }
    PathNode node(Index number) const;
    std::optional<Index> find(const PathNode& node) const;
    // The node that is a writer of a token's stream, and the writer that a node is.
    Index writing_node(std::size_t stack, Index writer, Index token) const {
        return writers_[stack][static_cast<std::size_t>(writer)] + token;
    }
    Index writer_of(Index node) const;
    Index token_of(Index node) const;

  private:
    void add(PathPart part);
    void add_stack(const Trace& run, Index first_number);
    std::vector<const Trace*> traces_;
    std::vector<std::vector<Index>> writers_;  // for each stack, their nodes at the first token
    std::vector<PathPart> parts_;
};

}  // namespace attn
