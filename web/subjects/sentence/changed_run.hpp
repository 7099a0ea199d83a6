// Holds the run of a text under the person's interventions, beside the unchanged one, and what they did to
// the prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/page.hpp"
#include "model/intervention.hpp"
#include "runs/text_run.hpp"

namespace attn::app {

class ChangedRun {
  public:
    // Compares the token that was most likely before the change with the one that is now.
    struct Effect {
        std::uint64_t version = 0;  // version of the changed run
        std::string was, now;
        double before = 0, after = 0;  // probability of the token that was most likely before
        double likeliest = 0;          // probability of the token that is most likely now
    };

    TextJob job{true};

    // Says whether the run under these interventions is there or in progress.
    bool has(const std::vector<Intervention>& by, const TextRun& unchanged) const;
    Status begin(const TextJob& unchanged, std::vector<Intervention> by);
    void clear() { job.clear(); }

    void forget_effect() { effect_ = {}; }
    void measure(TextRun& before, TextRun& after, Page& page);
    const Effect& effect() const { return effect_; }
    // Returns “Now “che” 24 %, before “crept” 35 %; “crept” from 35 % to 12 %”, or nothing if another run is
    // shown.
    std::string told(const TextRun* shown) const;
    // Returns what to announce, once: the effect, or that it is undone.
    std::optional<std::string> announcement(const TextRun* shown);

  private:
    std::vector<Intervention> by_;
    std::uint64_t of_ = 0;  // version of the unchanged run
    Effect effect_;
    std::string announced_;
};

}  // namespace attn::app
