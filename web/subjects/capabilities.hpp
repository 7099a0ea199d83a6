// What some subjects can do and others cannot. A subject hands out each capability as a pointer; null: it
// cannot.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "app/command.hpp"
#include "app/drawing.hpp"
#include "runs/attention.hpp"
#include "runs/corpus_run.hpp"
#include "runs/text_run.hpp"
#include "runs/training_runs.hpp"

namespace attn::app {

// A step that the user can take, offered as a button.
struct Offer {
    std::string label;
    Command command;
    // Asking for anything that needs this step implies the step, so it is taken without being offered.
    bool at_once = false;
    bool replaces = false;  // the model that is open gives way
};

// Shows itself beside a second text, run, model, head or network.
class Comparing {
  public:
    virtual ~Comparing() = default;
    // Returns the attention that it is compared with, which has names of its own; null: there is none now.
    virtual Attention* second() = 0;
    // Returns the step that adds a second; nothing if that is impossible now.
    virtual std::optional<Offer> offer_second() const { return std::nullopt; }
    // Returns the step that removes the second.
    virtual std::optional<Offer> offer_alone() const { return std::nullopt; }
    // Says what is missing if a lens needs a second and there is none.
    virtual std::string second_wanted() const { return "Type a second sentence in the box above."; }
    // Draws the settings of the comparison: other pairs to compare, and a way to end it.
    virtual void draw_comparison(const Drawing&) {}
    virtual std::pair<std::string, std::string> comparison_names() { return {"this", "the other"}; }
};

// Runs a model on texts of the user's own, and can run it again with changes.
class TextModel {
  public:
    virtual ~TextModel() = default;
    // Returns the command that makes a model read a text and, for comparison, a second one. It uses the
    // bundled model or, without one, the open model. Nothing if there is no such model.
    virtual std::optional<Command> reads(const std::string& text, const std::string& second) const = 0;
    // Returns the step that ablates a head in its run, or restores it; nothing if there is no run.
    virtual std::optional<Offer> offer_without(const HeadIndex& head) const = 0;
    // Returns the command that adds a vector to a head's q at a query and reruns the model from there, or
    // says why it cannot.
    virtual Result<Command> add_to_query(const HeadIndex& head, Index query,
                                         std::span<const float> by) const = 0;
    // Returns the step to a text with repetition, for heads that detect it; nothing if the present text has
    // some.
    virtual std::optional<Offer> offer_repetition() const = 0;
    // Returns the step that opens the bundled translation model.
    virtual std::optional<Offer> offer_translation() const = 0;
    // Returns runs over a sample of texts, which start when first requested; null if there are none. The
    // controls show what the texts are.
    virtual CorpusRun* corpus() = 0;
    virtual void draw_corpus() = 0;
};

// An encoder–decoder that translates.
class Translating {
  public:
    virtual ~Translating() = default;
    // Returns the decoder's view of the whole run; null until there is one.
    virtual TextRun* translation() const = 0;
    // Returns the share of words that a cross-attention head aligns correctly, from the model's scores.json.
    virtual std::optional<double> aligned(HeadIndex head) const = 0;
    virtual bool playing() const = 0;
    virtual void play(bool on) = 0;
    // Returns the command that makes the model read a text and continue a translation.
    virtual Command texts(const std::string& text, const std::string& written) const = 0;
};

// A network that learns: which runs and which step are shown, and the runs themselves.
class Learning {
  public:
    virtual ~Learning() = default;
    virtual const TrainingState& course() const = 0;
    virtual TrainingRuns& runs() = 0;
};

}  // namespace attn::app
