// What a smaller cache of keys and values does to a run: the text goes through the changed model, and is compared.
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
    double loss = 0;  // of the text, nats per token
    std::vector<double>
        changes;  // of each attention: ‖O′ − O‖ / ‖O‖ of what it writes, over all of its tokens
    std::vector<double> probabilities;  // [vocabulary], of a row of logits
    double moved = 0;                   // ½ Σ |p′ − p| of these, the share of probability that went elsewhere

    double mean_change() const;
};

// Several settings, one after the other, in slices; setting 0 is the run as it is, and comes first.
class SmallerRuns {
  public:
    using Make = std::function<SmallerModel(Index setting)>;
    SmallerRuns(std::shared_ptr<const Trace> trace, Index row, Make make);

    // Goes on with the wanted setting before all others; true while there is more to do.
    bool step(Index wanted, std::span<const Index> others);
    const Smaller* at(Index setting) const;            // null until it is measured
    const Smaller* last() const { return at(last_); }  // that was measured of those wanted
    Index last_setting() const { return last_; }
    double progress() const;  // of the setting at work
    const std::shared_ptr<const Trace>& trace() const { return trace_; }
    Index row() const { return row_; }

  private:
    struct Work {
        Index setting = 0;
        std::optional<SmallerModel> model = {};
        std::optional<ForwardPass> forward = {};
        bool changed = false;  // the interventions of the run have been taken over, or are being
        std::shared_ptr<const Trace> trace = {};
        std::optional<TextLoss> loss = {};
        Smaller made = {};
    };
    void begin(Index setting);
    bool run();  // until the work has its trace; true while there is more to do
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
