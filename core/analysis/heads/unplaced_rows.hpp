// q, k and v of some tokens as one head sees them without positions. The queries are also the keys or, in
// cross-attention and if their numbers differ, there are separate queries and keys.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/theory/position_schemes.hpp"
#include "attention/head_index.hpp"
#include "model/head_projection.hpp"

namespace attn {

// Returns the offset of a mask's edge, if it has one along a diagonal: in every row, key query + offset is
// allowed and the next one is not, as far as there are such keys. Causal masks end in this way, whether
// windowed, painted or neither.
std::optional<Index> diagonal_of(const Mask& mask, Index head, Index queries, Index keys);

class UnplacedRows {
  public:
    // Says where q and k come from.
    enum class From {
        given,      // no model
        unturned,   // a model with RoPE, before the rotation
        embedding,  // a model's first layer, from the token embeddings alone
        biased,     // a model that adds biases to its scores
        inside,     // a later layer of a model that adds positions to the embedding
        crossed,    // a model's cross-attention, where positions enter elsewhere
    };
    // Takes the tokens in the ranges; without `keys`, the queries are also the keys. The record belongs to
    // the head's layer of the trace, which is null if there is no model.
    UnplacedRows(std::shared_ptr<const Trace> trace, std::shared_ptr<const Record> record, HeadIndex head,
                 Range queries, std::optional<Range> keys = {});

    From from() const { return from_; }
    const Record& record() const { return *record_; }
    HeadIndex head() const { return head_; }
    bool one_line() const { return one_line_; }  // the queries are also the keys
    Range queries() const { return queries_; }
    Range keys() const { return keys_; }
    const HeadRows& rows() const { return rows_; }  // indexed by token
    // If the mask is causal with an offset, keys before the first query are a past, as in a KV cache, and
    // queries come that many positions later; otherwise both begin at 0. The offset is 0 if queries and keys
    // are the same tokens.
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
    bool interleaved() const { return interleaved_; }  // the model pairs components (2a, 2a + 1)
    // Number of positions that the model was made for; 0: no model.
    Index context() const { return context_; }

    // Scale, soft cap and, if requested, the head's mask over these queries and keys.
    AttentionSpec spec(bool masked) const;
    bool has_mask() const { return !record_->spec().mask.is_everything(); }

    // The scheme with this head's numbers; `both_ways` as in RelativeBuckets.
    PositionRule rule(PositionScheme scheme, std::uint64_t seed, bool interleaved, bool both_ways) const;
    // Says whether a rule has a position: a learned table ends.
    bool reaches(const PositionRule& rule, Index position) const;
    // Says whether a rule stands for the model's own learned table.
    bool is_own_table(const PositionRule& rule) const {
        return rule.scheme == PositionScheme::learned && own_table();
    }
    // The score for the softmax: scaled, capped, and with a scheme's bias.
    double score(double dot, double bias = 0) const;

    // q, or k, of one token, or the mean over all; then at a position of the rule.
    std::vector<double> row(Stage stage, std::optional<Index> token) const;
    std::vector<double> row_at(const PositionRule& rule, Stage stage, std::optional<Index> token,
                               Index position) const;
    // The same of the token at a place, in this order of all queries or keys.
    std::vector<double> row_in(const PositionRule& rule, Stage stage, std::span<const Index> order,
                               Index place) const;

    // The bias that a model adds to the scores of this head; null: none.
    const RelativeBias* own_bias() const { return own_bias_; }
    // For a model with its own table of positions, which its first layer reads: q, k and v of tokens at given
    // positions.
    bool own_table() const { return from_ == From::embedding; }
    HeadRows at_own_positions(std::span<const Index> tokens, std::span<const Index> positions) const;
    bool has_padding() const;
    // q, or k, at a position that such a table counts: for one token, or the mean over all.
    std::vector<double> at_own_position(Stage stage, std::optional<Index> token, Index position) const;

  private:
    bool is_padding(Index token) const;
    // Counts the positions of tokens in this order as such a table does, where padding has none
    // (position_rows).
    std::vector<Index> counted(std::span<const Index> tokens, std::span<const Index> positions) const;
    // Used only if queries and keys are the same tokens. Returns what the first layer reads for given sums of
    // embeddings.
    Tensor first_inputs(Tensor sums) const;
    Tensor own_inputs(std::span<const Index> tokens, std::span<const Index> positions) const;
    Tensor projected(const HeadProjection::Part& part, ConstMatrix inputs) const;

    From from_ = From::given;
    std::shared_ptr<const Record> record_;
    std::shared_ptr<const Trace> trace_;
    HeadIndex head_;
    bool one_line_, has_diagonal_ = false;
    Range queries_, keys_;
    Index offset_ = 0;
    HeadRows rows_;
    std::vector<double> frequencies_;
    double base_ = 10'000, magnitude_ = 1;
    bool interleaved_ = false;
    Index context_ = 0;
    std::optional<HeadProjection> projection_;
    const RelativeBias* own_bias_ = nullptr;
};

}  // namespace attn
