// What some subjects can do and others cannot. A subject hands out each capability as a pointer; null: it
// cannot.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/heads/steering.hpp"
#include "app/command.hpp"
#include "app/drawing.hpp"
#include "app/explained.hpp"
#include "runs/attention.hpp"
#include "runs/corpus_run.hpp"
#include "runs/example_search.hpp"
#include "runs/text_run.hpp"
#include "runs/training_runs.hpp"
#include "subjects/head_copy.hpp"

namespace attn::app {

// A step that the user can take, offered as a button.
struct Offer {
    std::string label;
    Command command;
    // Asking for anything that needs this step implies the step, so it is taken without being offered.
    bool at_once = false;
    bool replaces = false;  // the model that is open gives way
};

// A step that involves the page, so it is not a command: the State changes when the page answers.
struct Request {
    std::string label;
    std::function<void()> make;
};

// Shows itself beside a second text, model, network or version.
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
    virtual std::pair<std::string, std::string> comparison_names() = 0;
    // Draws the settings of the comparison: other pairs to compare, and a way to end it.
    virtual void draw_comparison(const Drawing&) {}
};

// The run before any changes, and all of its changes with one that steers it, which stands at `at`.
struct SteeredRun {
    std::shared_ptr<const Trace> unchanged;
    SteeringVector vector;
    std::vector<Intervention> changes = {};
    std::size_t at = 0;
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
    // Returns the run as it was before the user's changes, whose tokens are the same; null if the run shown
    // has none.
    virtual std::shared_ptr<const Trace> unchanged() const = 0;
    // Returns the command that adds a vector to a head's q at a query and reruns the model from there, or
    // says why it cannot.
    virtual Result<Command> add_to_query(const HeadIndex& head, Index query,
                                         std::span<const float> by) const = 0;
    // Returns how the last of the changes that add a direction steers the run, at dial 0 if it is switched
    // off; nothing if there is none.
    virtual std::optional<Steering> steering() const = 0;
    // Returns the command that steers the run in another way, in place of that change.
    virtual Command steer(const Steering& steering) const = 0;
    // Returns the run and its changes, with this steering in place of that change; or says what is missing.
    virtual Result<SteeredRun> steered(const Steering& steering) = 0;
    // Returns the step to a text with repetition, for heads that detect it; nothing if the present text has
    // some, or if there is no text yet.
    virtual std::optional<Offer> offer_repetition() const = 0;
    // Returns the step that opens the bundled translation model.
    virtual Offer offer_translation() const = 0;
    // Returns the command that makes this model read a text and continue a translation, beside a second text
    // and its own. Nothing if there is no such model.
    struct Translated {
        std::string text, written;
    };
    virtual std::optional<Command> translates(const Translated& first, const Translated& second) const = 0;
    virtual std::vector<Request> requests() = 0;
    // Returns runs over a sample of texts, which start when first requested; null if there are none. The
    // controls show what the texts are.
    virtual CorpusRun* corpus() = 0;
    virtual void draw_corpus() = 0;
    // Returns the version of the sets of texts that a direction is taken from; 0 until they are run, or if
    // it is taken from none. Draws the two sets of a contrast.
    virtual std::uint64_t texts_for(const SteeringDirection& direction) = 0;
    virtual void draw_contrast() = 0;
    // Returns a search through so many of these texts, or more, which goes on while somebody steps it; null
    // if there are none.
    virtual ExampleSearch* examples(Index texts) = 0;
    virtual void draw_sample() = 0;  // draws the choice of the texts
    // Makes the model read a text, with a head and tokens of it chosen, and opens the lens that shows it.
    virtual void open_text(const std::string& text, const Selection& chosen) = 0;
    // Draws controls in the inspector that change the pinned number, given its explanation.
    virtual void draw_change(const CellPlace& place, const Explained& why) = 0;
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

// Matrices that the user fills in.
class Editable {
  public:
    virtual ~Editable() = default;
    // Returns the command that replaces them by a copy of a head.
    virtual Command take_over(const HeadCopy& head) const = 0;
    // Returns the command for Ctrl+V, which pastes at the pinned cell; nothing if no cell is pinned.
    virtual std::optional<Command> paste(const Matrix& cells) const = 0;
    // Called after a click on the name of a row or column next to a matrix of the ladder.
    virtual void name_clicked(Stage matrix, std::optional<Index> row, std::optional<Index> column) = 0;
};

}  // namespace attn::app
