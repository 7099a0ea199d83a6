// Measures how long a pass over a whole text takes in this page, beside one step of decoding with a cache.
#pragma once

#include <memory>
#include <optional>

#include "model/forward.hpp"
#include "model/generate.hpp"

namespace attn::app {

// Both sides compute the logits of the text's last token, in turn, by the model as it is.
class DecodeRace {
  public:
    // Fails if there is no token before the last, or if the model reads in both directions.
    static Result<DecodeRace> start(std::shared_ptr<const Trace> trace);

    bool step();  // a slice of one side; true while there is more to do
    bool done() const { return done_; }
    int passes() const { return passes_; }
    // The mean over the passes.
    double whole_ms() const { return whole_ms_ / passes_; }
    double step_ms() const { return step_ms_ / passes_; }
    double ratio() const { return whole_ms_ / step_ms_; }

  private:
    explicit DecodeRace(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {}
    Result<ForwardPass> run(Index tokens) const;
    bool step_whole();  // true when it is there
    bool step_decoding();

    std::shared_ptr<const Trace> trace_, before_;  // before_: without the last token
    std::optional<ForwardPass> running_;
    std::optional<Generator> decoding_;
    bool whole_next_ = true, done_ = false;
    int passes_ = -1;  // the first warms the caches up
    double whole_ms_ = 0, step_ms_ = 0;
};

}  // namespace attn::app
