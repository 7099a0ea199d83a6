// One token's residual stream as a sum of its sources: what the embeddings, each earlier head, each earlier
// MLP and the biases wrote into it, as it arrives at a place of the stream. Every norm on the way is held at
// the statistics that it had, which makes it a linear map (Elhage et al. 2021, "A Mathematical Framework for
// Transformer Circuits").
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analysis/attribution/logit_lens.hpp"

namespace attn {

enum class SourcePart : std::uint8_t {
    token_embedding,
    position_embedding,
    segment_embedding,
    embedding_norm,  // its bias, as of all norms here
    head,
    attention_bias,  // the bias of W_O
    attention_norm,  // after an attention
    mlp,             // with its bias
    mlp_norm,        // after an MLP
    change,          // what interventions add to the stream or to the output of a sublayer
    // A query or key has these as well (score_sources.hpp):
    input_norm,       // before its projection
    projection_bias,  // q's or k's
    vector_norm,      // q's or k's
    vector_change,    // what interventions add to q or k
};

struct Source {
    SourcePart part = SourcePart::token_embedding;
    Index number = 0;  // counts attentions; for an MLP, the first one of its block
    Index head = 0;
    Index token = -1;                  // the one that a head read its part from; −1: from all
    std::vector<double> written = {};  // what arrives of it
    bool is_bias() const {
        return part == SourcePart::embedding_norm || part == SourcePart::attention_bias ||
               part == SourcePart::attention_norm || part == SourcePart::mlp_norm ||
               (part >= SourcePart::input_norm && part <= SourcePart::vector_norm);
    }
    bool is_change() const { return part == SourcePart::change || part == SourcePart::vector_change; }
    bool is(const Source& other) const {
        return part == other.part && number == other.number && head == other.head && token == other.token;
    }
};
// Adds up what they write.
std::vector<double> total_of(std::span<const Source> sources);
// Makes one source of all biases (as projection_bias), the last but one, and one of all changes, the last.
std::vector<Source> with_biases_joined(std::vector<Source> sources);

// What heads write at some rows of a run, computed together when one of them is asked for: weights are read
// once for all rows.
class WrittenRows {
  public:
    WrittenRows(const Trace& trace, Range rows) : trace_(&trace), rows_(rows) {}
    const Range& rows() const { return rows_; }
    std::span<const float> at(Index number, Index head, Index row);  // [d_model]

  private:
    const Trace* trace_;
    Range rows_;
    std::map<std::pair<Index, Index>, Tensor> kept_;
};

// Returns the sources of the stream at a place, [d_model] each, in the order of the arithmetic. They add up
// to the stream but for roundings in f32. `heads` may hold what the heads of the run write at that row.
std::vector<Source> residual_sources(const Trace& trace, const StreamPlace& place, Index row,
                                     WrittenRows* heads = nullptr);

// Returns parts of what a head writes at a row, [d_model] each before any norm, as they arrive at a later
// place of its stream.
std::vector<Source> arriving_parts(const Trace& trace, const StreamPlace& place, Index row, Index number,
                                   Index head, std::vector<Source> parts);

// Returns the stream at a place without a source, [d_model], with the norms on the way taken anew: live. All
// biases are left out together, and so are all changes; otherwise changes add what they added.
std::vector<double> stream_without(const Trace& trace, const StreamPlace& place, Index row,
                                   const Source& without);

// Says whether interventions touch the row there: at a site, or in the stream.
bool is_changed(const Trace& trace, Index row, Index number, Site site);
bool is_changed(const Trace& trace, Index row, const StreamPlace& place);

}  // namespace attn
