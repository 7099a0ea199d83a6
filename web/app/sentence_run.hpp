// One text through the model: the run that lens Sentence shows, and the job that brings it about.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/head_overview.hpp"
#include "app/word_axis.hpp"
#include "model/forward.hpp"

namespace attn::app {

// Immutable but for the overview of its heads, once it is there.
struct SentenceRun {
    std::shared_ptr<const Trace> trace;
    std::vector<std::string> pieces;  // [n], how each token reads
    WordAxis words;
    std::optional<HeadOverview> heads;  // these two of the first sentence alone
    Tensor logits;                      // [1, vocabulary], of the last position
    std::uint64_t version = 0;          // another run has another number
};

class SentenceJob {
  public:
    void clear();
    // Without ids there is nothing to show. The run that is there stays until the new one is complete.
    Status start(const std::shared_ptr<const Model>& model, std::vector<std::int32_t> ids,
                 std::vector<std::string> pieces, std::string text);
    bool running() const { return forward_.has_value(); }
    // A slice of the forward pass; true when the run has just become complete.
    Result<bool> step();
    // All heads small, and what would come next: of a run that is complete.
    Status begin_overview();
    HeadOverview* heads() { return run_.heads ? &*run_.heads : nullptr; }

    const SentenceRun* run() const { return run_.trace ? &run_ : nullptr; }
    const std::vector<std::int32_t>& ids() const { return ids_; }  // of the run, or of the one that is coming
    float progress() const { return forward_ ? forward_->progress() : 1; }
    // Computing time of the last forward pass, without the frames drawn between its slices.
    double forward_ms() const { return forward_ms_; }

  private:
    std::vector<std::int32_t> ids_;
    std::vector<std::string> pieces_;
    std::string text_;
    std::optional<Forward> forward_;
    double forward_ms_ = 0;
    SentenceRun run_;
};

}  // namespace attn::app
