// What a model would say if it stopped after any half of any block: its last norm and its head read the
// residual stream there as they read it at the end (nostalgebraist 2020, "interpreting GPT: the logit lens").
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analysis/comparison.hpp"
#include "model/generate.hpp"
#include "model/trace.hpp"

namespace attn {

// Where the residual stream is read; in an encoder–decoder, the decoder's stream.
struct StreamPlace {
    enum class After : std::uint8_t { embedding, attention, cross, mlp };
    After after = After::embedding;
    Index layer = 0;  // 0 for an embedding
    bool operator==(const StreamPlace&) const = default;
};
std::vector<StreamPlace> stream_places(const Trace& trace);                // in the order of the arithmetic
const Tensor& stream_after(const Trace& trace, const StreamPlace& place);  // [n, d_model]
// The number of the attention after which that is, or of the first one of the block.
Index attention_of(const Network& network, const StreamPlace& place);

// All places of one token's row, in slices.
class LogitLens {
  public:
    static constexpr Index likeliest_kept = 8;
    struct State {
        std::vector<Candidate> likeliest;  // none where a logit is no number
        Cosine cosine;                     // between the state and the last one; also its length
    };

    LogitLens(std::shared_ptr<const Trace> trace, Index row, double slice_operations = 60e6);

    bool step();  // a part of the vocabulary, or a state; true while there is more to do
    bool done() const { return states_.size() == places_.size(); }
    double progress() const { return static_cast<double>(next_) / static_cast<double>(logits_.dim(1)); }
    const std::shared_ptr<const Trace>& trace() const { return trace_; }
    Index row() const { return row_; }
    const std::vector<StreamPlace>& places() const { return places_; }
    const std::vector<State>& states() const { return states_; }  // in the order of the places

    // Once done.
    std::span<const float> logits(Index place) const;  // [vocabulary]
    double probability(Index place, std::int32_t token) const;
    Index rank(Index place,
               std::int32_t token) const;  // 1: the likeliest; of equal ones, the lower id comes first

  private:
    std::shared_ptr<const Trace> trace_;
    Index row_;
    std::vector<StreamPlace> places_;
    Tensor read_;    // [places, width], what the head reads
    Tensor logits_;  // [places, vocabulary]
    Index part_, next_ = 0;
    std::vector<State> states_;
};

// The same in double. What the head reads of a row of the stream, [width], and the logit that it makes of
// that.
std::vector<double> head_reads(const Model& model, std::span<const float> state);
double logit_of(const Network& network, std::span<const double> read, std::int32_t token);

}  // namespace attn
