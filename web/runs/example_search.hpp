// Reads many texts through a model, one after another in slices, and keeps what makes each of its heads fire
// (analysis/heads/head_examples.hpp), not the runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/heads/head_examples.hpp"
#include "model/forward.hpp"
#include "runs/text_run.hpp"

namespace attn::app {

class ExampleSearch {
  public:
    static constexpr Index most_texts = 2000;
    // Splits the next text into tokens; nothing if there are no more.
    using NextText = std::function<std::optional<SplitText>()>;

    // The seed is for sampling from the texts.
    ExampleSearch(std::shared_ptr<const Model> model, NextText next, std::uint64_t seed);

    // Says how many texts to take, as long as there are some; those that were read stay. One that the model
    // cannot read counts, too: a writer of texts never ends.
    void read(Index count) { count_ = std::min(count, most_texts); }
    bool step();  // a slice of a text; true while there is more to do
    bool done() const { return !reads_ && (ended_ || taken_ >= count_); }
    float progress() const;

    const HeadExamples& examples() const { return examples_; }
    // The texts that were read, by their number in the examples. A text without tokens is left out.
    const std::vector<SplitText>& texts() const { return texts_; }
    const std::shared_ptr<const Model>& model() const { return model_; }
    std::uint64_t version() const { return version_; }  // changes with the set of texts

  private:
    void begin_text();

    std::shared_ptr<const Model> model_;
    NextText next_;
    Index count_ = 0, taken_ = 0;
    HeadExamples examples_;
    std::vector<SplitText> texts_;
    bool reads_ = false;  // the last of the texts
    bool ended_ = false;  // there are no more
    std::optional<ForwardPass> running_;
    std::uint64_t version_;
};

}  // namespace attn::app
