// Measures the effect of a smaller key-value cache: the text goes through the changed model, and the runs are
// compared.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/heads/smaller_cache.hpp"
#include "analysis/text_loss.hpp"
#include "model/forward.hpp"

namespace attn::app {

struct Smaller {
    double loss = 0;                    // the text's loss, nats per token
    std::vector<double> changes;        // per attention: ‖O′ − O‖ / ‖O‖ of its output, over all tokens
    std::vector<double> probabilities;  // [vocabulary], for one row of logits
    double moved = 0;                   // ½ Σ |p′ − p| over these: the probability mass that moved

    double mean_change() const;
};

// Runs several settings, one after the other, in slices; setting 0 is the unchanged run, and comes first.
class SmallerRuns {
  public:
    using Make = std::function<SmallerModel(Index setting)>;
    SmallerRuns(std::shared_ptr<const Trace> trace, Index row, Make make);

    // Works on the wanted setting before all others; true while there is more to do.
    bool step(Index wanted, std::span<const Index> others);
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
    Make make_;
    std::optional<Work> work_;
    std::map<Index, Smaller> done_;
    Index last_ = 0;
};

}  // namespace attn::app
