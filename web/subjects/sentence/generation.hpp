// Continues a text one token at a time: on request, or while it plays.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/generate.hpp"
#include "subjects/sentence/state.hpp"

namespace attn::app {

inline Sampling sampling_of(const SamplingState& s) { return {s.temperature, s.top_k, s.top_p, s.seed}; }

class Generation {
  public:
    bool playing() const { return playing_; }
    // Says whether a token is on its way through the text box and the tokenizer.
    bool awaits_tokens() const { return awaits_tokens_; }

    void request_step() { step_wanted_ = true; }
    void play(bool on) {
        playing_ = on;
        has_undo_step_ = false;
    }
    // Plays once the run of the emptied text begins.
    void play_from_start() { plays_from_start_ = awaits_tokens_ = has_undo_step_ = true; }
    // Returns whether it was playing.
    bool stop() { return std::exchange(playing_, false); }
    void token_sent() { awaits_tokens_ = true; }
    void tokens_arrived() { awaits_tokens_ = false; }
    // The run of a text has begun. A text that is not the sampler's own has stopped playing.
    void run_began() { playing_ = std::exchange(plays_from_start_, false) || (playing_ && sampler_); }
    // Says whether the next token is due, given whether the last one is on screen.
    bool is_due(bool is_shown) {
        if (awaits_tokens_ || !(step_wanted_ || (playing_ && is_shown))) return false;
        step_wanted_ = false;
        return true;
    }
    // Text that is generated until it stops is one undo step. Returns whether the token joins the last step.
    bool joins_undo_step() { return std::exchange(has_undo_step_, playing_); }

    // Draws the token after a text, from the logits [vocabulary] of row `row`. The sampler goes on while the
    // text is its own output; another text, or another sampling, starts a new one.
    Result<std::int32_t> draw(std::span<const std::int32_t> text, const SamplingState& sampling,
                              std::span<const float> logits, Index row);
    // The token was appended to the text.
    void appended(std::int32_t id) { text_.push_back(id); }
    void forget_sampler() { sampler_.reset(); }

  private:
    bool step_wanted_ = false, playing_ = false, plays_from_start_ = false, awaits_tokens_ = false;
    bool has_undo_step_ = false;  // the text being generated has one
    std::optional<Sampler> sampler_;
    SamplingState sampler_for_;
    std::vector<std::int32_t> text_;  // what the sampler has generated, and what it began with
};

}  // namespace attn::app
