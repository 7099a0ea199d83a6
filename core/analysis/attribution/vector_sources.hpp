// A query, key or value as the sum of the sources of the residual stream that it is made of
// (residual_sources.hpp): each goes through the norm in front of the projection, held at its statistics, the
// projection of one head, a norm of q or k, and rotary positions. And the other way round: a head's source
// opened into the tokens that it read from, and each of these into its own sources, to any depth.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/attribution/residual_sources.hpp"

namespace attn {

// A head whose output is opened and, in it, the token to open next; none: the head is opened into its tokens.
struct OpenedHead {
    Index number = 0;  // counts attentions
    Index head = 0;
    std::optional<Index> token = {};
    Source source() const { return {.part = SourcePart::head, .number = number, .head = head}; }
    bool operator==(const OpenedHead&) const = default;
};

// Returns the sources of a row of Stage::q, k or v, [d_k] or [d_v] each; their sum is the run's row but for
// roundings in f32. `head` is a head of queries, whose k and v are shared as the model says. With a path, the
// parts of the head that it opens in the stream (below), and nothing else. `heads` may hold what the heads of
// the token's run write there.
std::vector<Source> vector_sources(const Trace& trace, Stage side, Index attention, Index head, Index token,
                                   std::span<const OpenedHead> path = {}, WrittenRows* heads = nullptr);

// Returns the parts of an opened head as they arrive at a place of the row's stream, [d_model] each. The path
// begins with a head that writes into the row's stream; each further one writes into the stream of the token
// before it. The path's last head is opened into tokens or, if it names one, into that token's sources. Where
// interventions changed the head's output, what they add is a part beside the tokens, and a head that they
// switched off has none. The path must not be empty, and must exist.
std::vector<Source> opened_sources(const Trace& trace, const StreamPlace& place, Index row,
                                   std::span<const OpenedHead> path);

// Says whether the heads of an attention write into the stream that the keys of another one are made of.
bool is_read_by_keys_of(const Trace& trace, Index reader, Index writer);

// Returns the row without a source of it or of its stream, all norms live; nothing else of the run changes.
// All biases are left out together, and so are all changes.
std::vector<double> vector_without(const Trace& trace, Stage side, Index attention, Index head, Index token,
                                   const Source& without);

}  // namespace attn
