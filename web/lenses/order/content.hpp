// Holds some tokens as one head sees them without positions. The queries are also the keys or, in
// cross-attention and if their numbers differ, there are separate queries and keys.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/theory/position_schemes.hpp"
#include "model/head_projection.hpp"
#include "runs/attention.hpp"

namespace attn::app {

// Returns the offset of a mask's edge, if it has one along a diagonal: in every row, key query + offset is
// allowed and the next one is not, as far as there are such keys. Causal masks end in this way, whether
// windowed, painted or neither.
std::optional<Index> diagonal_of(const Mask& mask, Index head, Index queries, Index keys);

class OrderContent {
  public:
    // Says where q and k come from.
    enum class From {
        given,      // supplied by the subject
        unturned,   // a model with RoPE, before the rotation
        embedding,  // a model's first layer, from the token embeddings alone
        biased,     // a model that adds biases to its scores
        inside,     // a later layer of a model that adds positions to the embedding
        crossed,    // a model's cross-attention, where positions enter elsewhere
    };
    // Takes the tokens in the ranges, which are equal if queries and keys are the same tokens. The record
    // belongs to the head's layer.
    OrderContent(const Attention& attention, std::shared_ptr<const Record> record, HeadIndex head,
                 Range queries, Range keys);
    OrderContent(const Attention& attention, std::shared_ptr<const Record> record, HeadIndex head,
                 Range tokens)
        : OrderContent(attention, std::move(record), head, tokens, tokens) {}

    From from() const { return from_; }
    const std::shared_ptr<const Record>& record() const { return record_; }
    HeadIndex head() const { return head_; }
    bool one_line() const { return one_line_; }  // the queries are also the keys
    Range queries() const { return queries_; }
    Range keys() const { return keys_; }
    const std::vector<std::string>& query_names() const { return query_names_; }
    const std::vector<std::string>& key_names() const { return key_names_; }
    const HeadRows& rows() const { return rows_; }  // indexed by token
    // If the subject's mask is causal with an offset, keys before the first query are a past, as in a KV
    // cache, and queries come that many positions later; otherwise both begin at 0. The offset is 0 if
    // queries and keys are the same tokens.
    Index offset() const { return offset_; }
    bool has_diagonal() const { return has_diagonal_; }
    Index query_position(Index place) const { return std::max(offset_, Index{0}) + queries_.begin + place; }
    Index key_position(Index place) const { return std::max(-offset_, Index{0}) + keys_.begin + place; }
    Index d_k() const { return rows_.q.dim(2); }
    Index d_v() const { return rows_.v.dim(2); }
    bool finite() const;  // false: a q, k or v is NaN or infinite

    // A model's own rotary frequencies, or those with base 10,000.
    const std::vector<double>& frequencies() const { return frequencies_; }
    bool own_frequencies() const { return from_ == From::unturned; }
    double base() const { return base_; }              // base of these frequencies, before any scaling
    double magnitude() const { return magnitude_; }    // factor of cosines and sines
    bool interleaved() const { return interleaved_; }  // the model pairs components (2a, 2a + 1)
    // Number of positions that the model was made for; 0: no model.
    Index context() const { return context_; }

    // Scale, soft cap and, if requested, the head's mask over these queries and keys.
    AttentionSpec spec(bool masked) const;
    bool has_mask() const;

    // The bias that a model adds to the scores of this head; null: none.
    const RelativeBias* own_bias() const { return own_bias_; }
    // For a model with its own table of positions, which its first layer reads: q, k and v of tokens at given
    // positions.
    bool own_table() const { return from_ == From::embedding; }
    HeadRows at_own_positions(std::span<const Index> tokens, std::span<const Index> positions) const;
    bool is_padding(Index token) const;
    bool has_padding() const;
    // Counts the positions of tokens in this order as such a table does, where padding has none
    // (position_rows).
    std::vector<Index> counted(std::span<const Index> tokens, std::span<const Index> positions) const;
    // q, or k, at a position counted in this way: for one token, or the mean over all.
    std::vector<double> at_own_position(Stage stage, std::optional<Index> token, Index position) const;

  private:
    // Used only if queries and keys are the same tokens. Returns what the first layer reads for given sums of
    // embeddings.
    Tensor first_inputs(Tensor sums) const;
    Tensor own_inputs(std::span<const Index> tokens, std::span<const Index> positions) const;
    Tensor projected(const HeadProjection::Part& part, ConstMatrix inputs) const;

    From from_ = From::given;
    std::shared_ptr<const Record> record_;  // keeps the whole run alive, and so the trace
    std::shared_ptr<const Trace> trace_;    // null: no model
    HeadIndex head_;
    Range queries_, keys_;
    bool one_line_ = true, has_diagonal_ = false;
    Index offset_ = 0;
    std::vector<std::string> query_names_, key_names_;
    HeadRows rows_;
    std::vector<double> frequencies_;
    double base_ = 10'000, magnitude_ = 1;
    bool interleaved_ = false;
    Index context_ = 0;
    std::optional<HeadProjection> projection_;
    const RelativeBias* own_bias_ = nullptr;
};

}  // namespace attn::app
