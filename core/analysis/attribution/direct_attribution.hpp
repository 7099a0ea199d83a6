// What each part of a model adds to a logit by what it writes into the residual stream: direct logit
// attribution (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"). Every norm between a
// part and the logit is held at the statistics that it had, which makes it a linear map, so that the parts
// add up to the logit. A masked language head's activation is taken by its tangent, and what that leaves is a
// part of its own. Where interventions changed the stream, or an attention's output behind W_O, the
// difference that they made is a part as well: below it, a part still counts with what it wrote. Heads and
// MLPs count with what interventions left of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "analysis/attribution/logit_lens.hpp"
#include "analysis/attribution/token_shares.hpp"
#include "attention/head_index.hpp"
#include "model/block.hpp"

namespace attn {

enum class LogitPart : std::uint8_t {
    token_embedding,
    position_embedding,
    segment_embedding,
    embedding_norm,    // its bias, as of all norms here
    embedding_change,  // what interventions add to the stream before the first attention
    head,
    attention_bias,           // the bias of W_O
    attention_output_change,  // what interventions add to what the heads and W_O gave
    attention_norm,           // after an attention
    attention_change,         // what interventions add to the stream after it
    mlp,                      // with its bias
    mlp_norm,                 // after an MLP
    mlp_change,               // what interventions add to the stream after it
    final_norm,
    transform,             // the biases of a masked language head's dense layer and norm
    activation_remainder,  // what its activation is beside its tangent
    head_bias,
};

constexpr bool is_change(LogitPart part) {
    return part == LogitPart::embedding_change || part == LogitPart::attention_output_change ||
           part == LogitPart::attention_change || part == LogitPart::mlp_change;
}

struct LogitShare {
    LogitPart part = LogitPart::token_embedding;
    Index number = 0;  // counts attentions; for an MLP, the first one of its block
    Index head = 0;
    double value = 0;
    std::size_t direction = 0;
};

// Sums of shares by what makes them.
struct LogitSums {
    double embeddings = 0, heads = 0, mlps = 0, changes = 0, rest = 0;
    bool changed = false;  // interventions changed the stream
};

// Attributes the logit of a token in one row, in slices. Matrices multiply in f32, everything is added up in
// double.
class DirectAttribution {
  public:
    // Fails if the vocabulary has no such token, or the text no such row.
    static Result<DirectAttribution> start(std::shared_ptr<const Trace> trace, Index row, std::int32_t token);

    bool step();  // a half of a block, from the last to the first; true while there is more to do
    bool done() const { return places_.empty(); }
    const Trace& trace() const { return *trace_; }
    const std::shared_ptr<const Trace>& shared_trace() const { return trace_; }
    Index row() const { return row_; }
    std::int32_t token() const { return token_; }
    double logit() const { return logit_; }  // what the run gives

    // Once done. In the order of the arithmetic.
    const std::vector<LogitShare>& shares() const { return shares_; }
    double sum() const;
    LogitSums sums() const;
    double capped() const;  // the sum, under the cap of the logits where the model has one
    // Adds up what the heads take from each token of their keys: their weight on it times its value.
    // Together, the heads' shares, unless their outputs were changed.
    TokenShares tokens() const;

    // The direction whose product with what a part writes is its share, [d_model]; of a head, with what its
    // attention writes. Empty for the parts of the head of the model.
    std::span<const double> direction(const LogitShare& share) const { return directions_[share.direction]; }
    // The direction of what the part writes, in double; of a head, of what it gives to W_O, [d_v].
    std::vector<double> exact_direction(const LogitShare& share) const;
    // What a head adds to the logit for each unit of its weight on a key, [keys]: its slopes times the key's
    // value.
    std::vector<double> adds(const HeadIndex& head, Range keys) const;
    // What the part writes, [d_model]; of a head, what it gives to W_O, [d_v].
    std::span<const float> written(const LogitShare& share) const;

  private:
    DirectAttribution(std::shared_ptr<const Trace> trace, Index row, std::int32_t token);
    void leave_head();
    void leave_transform(const HeadTransform& transform);
    void leave_attention(const StreamPlace& place);
    void leave_mlp(const StreamPlace& place);
    void leave_embedding();
    Tensor embedded_row() const;  // computed, before any intervention
    // Keeps the direction in which what a half gives reaches the logit; the way down goes on from the stream
    // before it.
    struct HalfRows {
        const Tensor& before;  // the stream
        const Tensor& output;
        const Tensor& between;
    };
    struct HalfParts {
        LogitPart change, norm;
    };
    void leave_sublayer(const StreamPlace& place, const SublayerNorms& norms, const HalfRows& rows,
                        const HalfParts& parts);
    // Adds what is there instead of what the arithmetic gave, if that is anything.
    void add_change(LogitPart part, std::span<const float> there, const Tensor& given, Index number);
    void add(LogitPart part, double value, Index number = 0, Index head = 0);
    void add_written(LogitPart part, std::span<const float> written, Index number = 0);
    const LayerTrace& layer(Index number) const;

    std::shared_ptr<const Trace> trace_;
    Index row_;
    std::int32_t token_;
    double logit_ = 0;
    std::vector<StreamPlace> places_;  // still to be visited
    std::vector<double> down_;         // the direction of the stream where the way down has got to
    std::vector<std::vector<double>> directions_;  // for what parts write
    // What one more of each number that the heads of an attention give adds to the logit, [heads · d_v]; one
    // for each attention, by number.
    std::vector<std::vector<double>> slopes_;
    std::vector<LogitShare> shares_;
    std::map<std::pair<LogitPart, Index>, std::vector<float>> changes_;  // keys: part and number
};

}  // namespace attn
