// Some tokens as one head has them before it is told where they stand: queries that are keys at once, or, in
// cross-attention and where their numbers differ, queries and keys of their own.
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

// The offset of a mask's edge, if it has one along a diagonal: in every row key query + offset is allowed and the next
// one is not, as far as there are such keys. That is how a causal mask ends, windowed or not, painted or not.
std::optional<Index> diagonal_of(const Mask& mask, Index head, Index queries, Index keys);

class OrderContent {
  public:
    // Where q and k come from.
    enum class From {
        given,      // as the subject has them
        unturned,   // of a model with RoPE, before it turns them
        embedding,  // of a model's first layer, made of the token embeddings alone
        biased,     // of a model that adds biases to its scores
        inside,     // of a later layer of a model that adds positions to the embedding
        crossed,    // of a model's cross-attention, which tells positions elsewhere
    };
    // Of the tokens of the ranges, which are the same where queries and keys are the same tokens; the record is that of
    // the head's layer.
    OrderContent(const Attention& attention, std::shared_ptr<const Record> record, HeadIndex head,
                 Range queries, Range keys);
    OrderContent(const Attention& attention, std::shared_ptr<const Record> record, HeadIndex head,
                 Range tokens)
        : OrderContent(attention, std::move(record), head, tokens, tokens) {}

    From from() const { return from_; }
    const std::shared_ptr<const Record>& record() const { return record_; }
    HeadIndex head() const { return head_; }
    bool one_line() const { return one_line_; }  // the queries are the keys
    Range queries() const { return queries_; }
    Range keys() const { return keys_; }
    const std::vector<std::string>& query_names() const { return query_names_; }
    const std::vector<std::string>& key_names() const { return key_names_; }
    const HeadRows& rows() const { return rows_; }  // by token
    // Where the subject's mask is causal with an offset, keys before the first query are a past, as in a KV cache, and
    // queries stand that many positions later; else both begin at 0. The offset is 0 where there is one line.
    Index offset() const { return offset_; }
    bool has_diagonal() const { return has_diagonal_; }
    Index query_position(Index place) const { return std::max(offset_, Index{0}) + queries_.begin + place; }
    Index key_position(Index place) const { return std::max(-offset_, Index{0}) + keys_.begin + place; }
    Index d_k() const { return rows_.q.dim(2); }
    Index d_v() const { return rows_.v.dim(2); }
    bool finite() const;  // false: a q, k or v is NaN or infinite

    // A model's own rotary frequencies, or those of base 10,000.
    const std::vector<double>& frequencies() const { return frequencies_; }
    bool own_frequencies() const { return from_ == From::unturned; }
    double base() const { return base_; }              // of these frequencies, before any scaling
    double magnitude() const { return magnitude_; }    // of cosines and sines
    bool interleaved() const { return interleaved_; }  // the model's own pairs are (2a, 2a + 1)
    Index context() const { return context_; }  // the positions that the model was made for; 0: no model

    // Scale, soft cap and, if it is asked for, the head's mask over these queries and keys.
    AttentionSpec spec(bool masked) const;
    bool has_mask() const;

    // What a model adds to the scores of this head; null: nothing.
    const RelativeBias* own_bias() const { return own_bias_; }
    // A model's own table, which its first layer has: of q, k and v of tokens at positions in it.
    bool own_table() const { return from_ == From::embedding; }
    HeadRows at_own_positions(std::span<const Index> tokens, std::span<const Index> positions) const;
    bool is_padding(Index token) const;
    bool has_padding() const;
    // The positions of tokens in this order as such a table counts them, where padding has none (position_rows).
    std::vector<Index> counted(std::span<const Index> tokens, std::span<const Index> positions) const;
    // q, or k, at a position that is counted so: of one token, or the mean over all.
    std::vector<double> at_own_position(Stage stage, std::optional<Index> token, Index position) const;

  private:
    // These are of one line alone. What the first layer reads of sums of embeddings.
    Tensor first_inputs(Tensor sums) const;
    Tensor own_inputs(std::span<const Index> tokens, std::span<const Index> positions) const;
    Tensor projected(const HeadProjection::Part& part, ConstMatrix inputs) const;

    From from_ = From::given;
    std::shared_ptr<const Record> record_;  // keeps the whole run, and so the trace
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
