// Runs a set of texts, a sample of what a model reads, through it one after another, in slices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/forward.hpp"
#include "runs/text_run.hpp"

namespace attn::app {

class CorpusRun {
  public:
    static constexpr std::size_t most_texts = 400;
    static constexpr Index most_tokens = 3000;
    static constexpr std::int64_t most_bytes = 256'000'000;  // limits the memory of the runs

    // Takes the first of the texts that are within these limits; texts without tokens are left out. The seed
    // is for sampling from them.
    CorpusRun(std::shared_ptr<const Model> model, std::vector<SplitText> texts, std::uint64_t seed,
              std::int64_t bytes_kept = most_bytes);

    bool step();                                 // runs a slice of a text; true while there is more to do
    void stop() { texts_.resize(run_.size()); }  // keeps the texts already run
    bool done() const { return run_.size() == texts_.size(); }
    float progress() const;

    const std::vector<SplitText>& texts() const { return texts_; }
    // Count the texts already run; once done, all of them.
    const std::vector<std::shared_ptr<const Trace>>& traces() const { return run_; }
    Index tokens() const;  // tokens of all texts
    const std::shared_ptr<const Model>& model() const { return model_; }
    std::uint64_t seed() const { return seed_; }
    std::uint64_t version() const { return version_; }  // changes with the set of texts

  private:
    std::shared_ptr<const Model> model_;
    std::vector<SplitText> texts_;
    std::vector<std::shared_ptr<const Trace>> run_;
    std::optional<ForwardPass> running_;
    std::uint64_t seed_, version_;
};

}  // namespace attn::app
