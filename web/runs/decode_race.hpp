// Measures how long a pass over a whole text takes on this page, compared with one step of decoding with a
// cache.
#pragma once

#include <memory>
#include <optional>

#include "model/forward.hpp"
#include "model/generate.hpp"

namespace attn::app {

// Both sides compute the logits of the text's last token, in turn, with the model as loaded.
class DecodeRace {
  public:
    // Fails if there is no token before the last, or if the model is bidirectional.
    static Result<DecodeRace> start(std::shared_ptr<const Trace> trace);

    bool step();  // a slice of one side; true while there is more to do
    bool done() const { return done_; }
    int passes() const { return passes_; }
    // Mean over the passes.
    double whole_ms() const { return whole_ms_ / passes_; }
    double step_ms() const { return step_ms_ / passes_; }
    double ratio() const { return whole_ms_ / step_ms_; }

  private:
    explicit DecodeRace(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {}
    Result<ForwardPass> run(Index tokens) const;
    bool step_whole();  // true once the pass is complete
    bool step_decoding();

    std::shared_ptr<const Trace> trace_, before_;  // before_: without the last token
    std::optional<ForwardPass> running_;
    std::optional<Generator> decoding_;
    bool whole_next_ = true, done_ = false;
    int passes_ = -1;  // the first pass warms up the CPU caches
    double whole_ms_ = 0, step_ms_ = 0;
};

}  // namespace attn::app
