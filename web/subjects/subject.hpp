// A subject is what is looked at. It owns its part of the State, keeps its run up to date, and provides what
// the lenses show.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/catalogue.hpp"
#include "app/drawing.hpp"
#include "app/explained.hpp"
#include "app/visit.hpp"
#include "runs/attention.hpp"
#include "runs/corpus_run.hpp"
#include "runs/head_naming.hpp"
#include "runs/text_run.hpp"
#include "runs/training_runs.hpp"
#include "subjects/head_copy.hpp"
#include "subjects/ladder.hpp"

namespace attn::app {

// Shown in the inspector while no number is hovered over.
struct Guide {
    const char* title;
    const char* text;
};

inline constexpr Guide numbers_guide{"Every number explains itself",
                                     "Hover over a cell to see where its value comes from: the operands, the "
                                     "sum, in single and in double precision.\n\n"
                                     "Click to keep it here while you change other numbers."};

// A step that the user can take, offered as a button.
struct Offer {
    std::string label;
    Command command;
    // It is what a person means who asks for what needs it, so that it is not offered but done.
    bool at_once = false;
};

// The labels of the step that runs a model on without a head, and of the one that takes that back.
inline constexpr const char *switch_off = "Switch this head off", *switch_on = "Switch it on again";

// What the page has a part in, so that it is no command: the State changes when the page answers.
struct Request {
    std::string label;
    std::function<void()> make;
};

// The step from a cross-attention to the decoder's own attention before it.
inline Offer own_attention_of(const Attention& cross, const Selection& chosen) {
    const HeadIndex own{chosen.layer - cross.numbering().decoder, chosen.head};
    return {"Look at " + head_text(own, cross.numbering()),
            Select{{.layer = own.layer, .head = own.head, .query = chosen.query, .key = {}}}};
}

struct HeadCount {
    Layers layers;
    Index heads = 1;  // per layer
    Index all() const { return layers.count * heads; }
};

// An encoder–decoder that translates, and what a lens may ask of it.
class Translating {
  public:
    virtual ~Translating() = default;
    // What the whole run is, of the decoder; null until there is one.
    virtual TextRun* translation() const = 0;
    // The share of a cross head's words that are on those they come from, as the model's scores.json has it.
    virtual std::optional<double> aligned(HeadIndex head) const = 0;
    virtual bool playing() const = 0;
    virtual void play(bool on) = 0;
    // The command that has it read a text and go on with a translation.
    virtual Command texts(const std::string& text, const std::string& written) const = 0;
};

class Subject : public Resident {
  public:
    explicit Subject(Visit& visit) : visit_(visit) {}

    // ---- What it has --------------------------------------------------------------------------------------
    // Null until there is something to show; lacks() then says what to do about it.
    // Where there are several texts, its queries and keys are those of the chosen head.
    virtual Attention* attention() { return nullptr; }
    // The same as the heads of this layer have it.
    virtual Attention* attention_of(Index /*layer*/) { return attention(); }
    // Null where no encoder–decoder is open.
    virtual Translating* translating() { return nullptr; }
    // The step that opens the model that translates and comes with the page.
    virtual std::optional<Offer> offer_translation() const { return std::nullopt; }
    // Returns how many heads there are to choose from; it is cheap, and known before they are computed.
    virtual HeadCount head_count() { return {}; }
    // Returns what is chosen, but the nearest head that there is: one of a larger network stays chosen in the State.
    Selection chosen() {
        Selection chosen = state().selection;
        if (const Attention* shown = attention()) {
            chosen.layer = std::min(chosen.layer, shown->layers() - 1);
            chosen.head = std::min(chosen.head, shown->heads() - 1);
        }
        return chosen;
    }
    HeadIndex chosen_head() { return {chosen().layer, chosen().head}; }
    // Returns what the subject is compared with, which has names of its own.
    virtual Attention* second() { return nullptr; }
    // Says whether subjects of this kind run a model, whose Trace their attention has.
    virtual bool runs_model() const { return false; }
    // Says whether subjects of this kind can have a second.
    virtual bool may_compare() const { return false; }
    // Returns the step that gives it a second; nothing if that is impossible now.
    virtual std::optional<Offer> offer_second() const { return std::nullopt; }
    // Returns the step that runs its model on without a head, or with it again; nothing if it cannot be changed.
    virtual std::optional<Offer> offer_without(const HeadIndex&) const { return std::nullopt; }
    // Returns the command that has a model read a text and, beside it, a second: the model that comes with the page
    // or, where there is none, the one that is open. Nothing if subjects of this kind read none, or if there is no such
    // model.
    virtual std::optional<Command> reads(const std::string& /*text*/, const std::string& /*second*/) const {
        return std::nullopt;
    }
    // Says what is missing while a second is wanted that is not there.
    virtual std::string second_wanted() const { return "Type a second sentence in the box above."; }
    // Returns the step that leaves it without a second again.
    virtual std::optional<Offer> offer_alone() const { return std::nullopt; }
    // Returns the command that adds a vector to a head's q of a query, from where its model runs on, or says why it cannot.
    virtual Result<Command> add_to_query(const HeadIndex&, Index /*query*/, std::span<const float>) const {
        return Error{"These queries cannot be changed here."};
    }
    // Returns what its heads are named after; null while nothing was measured.
    virtual const NamedHeads* named_heads() { return nullptr; }
    // Returns the step to a text that repeats itself, for heads that look for repetition; nothing where the present one
    // does, or where nothing can be read.
    virtual std::optional<Offer> offer_repetition() const { return std::nullopt; }
    // Returns how tokens of its model's vocabulary read, if it has a model.
    virtual std::vector<std::string> token_texts(std::span<const std::int32_t>) { return {}; }
    // Returns texts that stand for many, through its model, which begin to be run when they are first asked for; null
    // where there are none. Their controls draw what they are.
    virtual CorpusRun* corpus() { return nullptr; }
    virtual void draw_corpus() {}
    // Returns one head as matrices; null if it has no vectors to show.
    virtual const Ladder* ladder() { return nullptr; }
    // These are for a network that learns: which runs and which step are shown, and the runs themselves.
    virtual const TrainingState* course() const { return nullptr; }
    virtual TrainingRuns* runs() { return nullptr; }
    // Returns the command that makes this subject take over a head; nothing if it takes none.
    virtual std::optional<Command> take_over(const HeadCopy&) const { return std::nullopt; }

    // ---- What it says -------------------------------------------------------------------------------------
    virtual std::optional<Explained> explain_at(const CellPlace& place) = 0;
    // Explains a cell of the chosen head.
    std::optional<Explained> explain(const CellRef& cell) { return explain_at({chosen_head(), cell}); }
    virtual std::string status() = 0;  // "14 tokens   5 layers × 8 heads"
    virtual Guide guide() const = 0;
    // Returns what stands where a lens says what is seen, while there is nothing to see.
    virtual std::string heading() const { return ""; }
    // Returns commands that are worth finding by name: the subject's examples and settings.
    virtual std::vector<Offer> offers() const { return {}; }
    virtual std::vector<Request> requests() { return {}; }
    // Returns the command for Ctrl+V, which pastes at the pinned cell.
    virtual std::optional<Command> paste(const Matrix&) const { return std::nullopt; }

    // ---- What it draws ------------------------------------------------------------------------------------
    // Draws the heading and the subject's settings: all of them, or a brief form above a lens that asks
    // something else. Returns false if there is nothing to look at yet; it has then said why, and what to do.
    virtual bool draw_controls(const Drawing& drawing, bool brief) = 0;
    // Draws the settings of a comparison: other pairs to compare, a way to end it, and the names of the two.
    virtual void draw_comparison(const Drawing&) {}
    virtual std::pair<std::string, std::string> comparison_names() { return {"this", "the other"}; }
    // Draws in the inspector what can be changed about the pinned number, which is explained so.
    virtual void draw_change(const CellPlace&, const Explained&) {}
    // Called when a row's or column's name next to a matrix of the ladder was clicked.
    virtual void name_clicked(Stage, std::optional<Index> /*row*/, std::optional<Index> /*column*/) {}
    // Draws what the subject shows next to its heads, such as predictions or remarks, `width` points wide.
    virtual void draw_beside(const Drawing&, float /*width*/) {}

  protected:
    Visit& visit() const { return visit_; }
    const State& state() const { return visit_.state(); }

  private:
    Visit& visit_;
};

// Returns the open subject.
inline Subject& subject_in(const Visit& visit) { return static_cast<Subject&>(visit.subject()); }

inline Selection selection_of(const Drawing& drawing) { return subject_in(drawing.visit).chosen(); }

}  // namespace attn::app
