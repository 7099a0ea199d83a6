// Measures the effect of a smaller key-value cache: the text goes through the changed model, and the runs are
// compared.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/heads/smaller_cache.hpp"
#include "analysis/text_loss.hpp"
#include "model/forward.hpp"

namespace attn {

struct Smaller {
    double loss = 0;                    // the text's loss, nats per token
    std::vector<double> changes;        // per attention: ‖O′ − O‖ / ‖O‖ of its output, over all tokens
    std::vector<double> probabilities;  // [vocabulary], for one row of logits
    double moved = 0;                   // ½ Σ |p′ − p| over these: the probability mass that moved

    double mean_change() const;
};

// Runs several settings of a smaller cache, one after the other, in slices. A setting is the number of
// key-value heads that remain, or the rank of the latent; setting 0 is the unchanged run, and comes first.
class SmallerRuns {
  public:
    // Reads the logits of a row. Without factors, heads share their keys and values.
    SmallerRuns(std::shared_ptr<const Trace> trace, Index row, std::shared_ptr<LatentFactors> factors = {});

    bool shares() const { return !factors_; }
    const std::shared_ptr<LatentFactors>& factors() const { return factors_; }  // null if heads share
    bool factored() const { return shares() || factors_->done(); }
    // The settings that are measured whatever is wanted; none if there is nothing to share.
    const std::vector<Index>& settings() const { return settings_; }
    Index most() const { return most_; }  // the model's heads of keys and values, or the largest rank
    // The nearest setting that exists; for 0, half of the most.
    Index nearest(Index asked) const;
    Index kept(Index setting) const;  // numbers that a token keeps

    // Works on the wanted setting before all others; true while there is more to do.
    bool step(Index wanted);
    const Smaller* at(Index setting) const;            // null until it is measured
    const Smaller* last() const { return at(last_); }  // the wanted setting measured last
    Index last_setting() const { return last_; }
    double progress() const;  // progress of the present setting
    const std::shared_ptr<const Trace>& trace() const { return trace_; }
    Index row() const { return row_; }

  private:
    struct Work {
        Index setting = 0;
        std::optional<SmallerModel> model = {};
        std::optional<ForwardPass> forward = {};
        bool changed = false;  // the run's interventions have been applied, or are in progress
        std::shared_ptr<const Trace> trace = {};
        std::optional<TextLoss> loss = {};
        Smaller made = {};
    };
    void begin(Index setting);
    bool run();  // works until the trace is there; true while there is more to do
    void compare();
    void finish();

    std::shared_ptr<const Trace> trace_;
    Index row_;
    std::shared_ptr<LatentFactors> factors_;
    Index most_;
    std::vector<Index> settings_;
    std::optional<Work> work_;
    std::map<Index, Smaller> done_;
    Index last_ = 0;
};

}  // namespace attn
