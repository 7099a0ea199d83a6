// A subject supplies the attention to show. It owns its part of the State, keeps its run up to date, and
// provides what the lenses show.
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

// The inspector's text while no number is hovered over.
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
    // Asking for anything that needs this step implies the step, so it is taken without being offered.
    bool at_once = false;
    bool replaces = false;  // the model that is open gives way
};

// Labels of the steps that ablate a head and restore it.
inline constexpr const char *switch_off = "Switch this head off", *switch_on = "Switch it on again";

// A step that involves the page, so it is not a command: the State changes when the page answers.
struct Request {
    std::string label;
    std::function<void()> make;
};

// Returns the step from a cross-attention to the decoder's self-attention before it.
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

// Gives lenses access to an encoder–decoder that translates.
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

class Subject : public Resident {
  public:
    explicit Subject(Visit& visit) : visit_(visit) {}

    // ---- What it has --------------------------------------------------------------------------------------
    // Null until there is something to show; lacks() then says what to do about it. If there are several
    // texts, its queries and keys are those of the chosen head.
    virtual Attention* attention() { return nullptr; }
    // The same, with the queries and keys of this layer.
    virtual Attention* attention_of(Index /*layer*/) { return attention(); }
    // Null unless an encoder–decoder is open.
    virtual Translating* translating() { return nullptr; }
    // Returns the step that opens the bundled translation model.
    virtual std::optional<Offer> offer_translation() const { return std::nullopt; }
    // Counts the heads to choose from. It is cheap, and known before they are computed.
    virtual HeadCount head_count() { return {}; }
    // Returns the selection with the nearest existing head; the State may still name a head of a larger
    // network.
    Selection chosen() {
        Selection chosen = state().selection;
        if (const Attention* shown = attention()) {
            chosen.layer = std::min(chosen.layer, shown->layers() - 1);
            chosen.head = std::min(chosen.head, shown->heads() - 1);
        }
        return chosen;
    }
    HeadIndex chosen_head() { return {chosen().layer, chosen().head}; }
    // Returns the attention that the subject is compared with, which has names of its own.
    virtual Attention* second() { return nullptr; }
    // Says whether subjects of this kind run a model, whose Trace their attention has.
    virtual bool runs_model() const { return false; }
    // Says whether subjects of this kind can have a second.
    virtual bool may_compare() const { return false; }
    // Returns the step that adds a second; nothing if that is impossible now.
    virtual std::optional<Offer> offer_second() const { return std::nullopt; }
    // Returns the step that ablates a head in its run, or restores it; nothing if the run cannot be changed.
    virtual std::optional<Offer> offer_without(const HeadIndex&) const { return std::nullopt; }
    // Returns the command that makes a model read a text and, for comparison, a second one. It uses the
    // bundled model or, without one, the open model. Nothing if subjects of this kind read no text, or if
    // there is no such model.
    virtual std::optional<Command> reads(const std::string& /*text*/, const std::string& /*second*/) const {
        return std::nullopt;
    }
    // Says what is missing if a lens needs a second and there is none.
    virtual std::string second_wanted() const { return "Type a second sentence in the box above."; }
    // Returns the step that removes the second.
    virtual std::optional<Offer> offer_alone() const { return std::nullopt; }
    // Returns the command that adds a vector to a head's q at a query and reruns the model from there, or
    // says why it cannot.
    virtual Result<Command> add_to_query(const HeadIndex&, Index /*query*/, std::span<const float>) const {
        return Error{"These queries cannot be changed here."};
    }
    // Returns the names of its heads; null until something was measured.
    virtual const NamedHeads* named_heads() { return nullptr; }
    // Returns the step to a text with repetition, for heads that detect it; nothing if the present text has
    // some, or if the subject reads no text.
    virtual std::optional<Offer> offer_repetition() const { return std::nullopt; }
    // Returns the texts of its model's tokens with these ids, if it has a model.
    virtual std::vector<std::string> token_texts(std::span<const std::int32_t>) { return {}; }
    // Returns runs over a sample of texts, which start when first requested; null if there are none. The
    // controls show what the texts are.
    virtual CorpusRun* corpus() { return nullptr; }
    virtual void draw_corpus() {}
    // Returns one head as matrices; null if it has no vectors to show.
    virtual const Ladder* ladder() { return nullptr; }
    // For a network that learns: which runs and which step are shown, and the runs themselves.
    virtual const TrainingState* course() const { return nullptr; }
    virtual TrainingRuns* runs() { return nullptr; }
    // Returns the command that hands a head to this subject; nothing if it takes none.
    virtual std::optional<Command> take_over(const HeadCopy&) const { return std::nullopt; }

    // ---- What it says -------------------------------------------------------------------------------------
    virtual std::optional<Explained> explain_at(const CellPlace& place) = 0;
    // Explains a cell of the chosen head.
    std::optional<Explained> explain(const CellRef& cell) { return explain_at({chosen_head(), cell}); }
    virtual std::string status() = 0;  // "14 tokens   5 layers × 8 heads"
    virtual Guide guide() const = 0;
    // Returns the heading while there is nothing to see, in place of the lens's sentence.
    virtual std::string heading() const { return ""; }
    // Returns commands that are worth finding by name: the subject's examples and settings.
    virtual std::vector<Offer> offers() const { return {}; }
    virtual std::vector<Request> requests() { return {}; }
    // Returns the command for Ctrl+V, which pastes at the pinned cell.
    virtual std::optional<Command> paste(const Matrix&) const { return std::nullopt; }

    // ---- What it draws ------------------------------------------------------------------------------------
    // Draws the heading and the subject's settings: all of them, or a brief form above a lens that asks
    // something else. Returns false if there is nothing to show yet; it has then said why, and what to do.
    virtual bool draw_controls(const Drawing& drawing, bool brief) = 0;
    // Draws the controls that accompany every lens in the row of tabs of a wide window, in at most this
    // width. Returns false if there are none or if they do not fit: draw_controls() then draws them.
    virtual bool draw_in_tabs(const Drawing&, bool /*brief*/, float /*width*/) { return false; }
    // Draws, under the name of the chosen head, what was measured of it and the subject's own way to choose
    // a head.
    virtual void draw_head(const Drawing&) {}
    // Draws the settings of a comparison: other pairs to compare, a way to end it, and the names of the two.
    virtual void draw_comparison(const Drawing&) {}
    virtual std::pair<std::string, std::string> comparison_names() { return {"this", "the other"}; }
    // Draws controls in the inspector that change the pinned number, given its explanation.
    virtual void draw_change(const CellPlace&, const Explained&) {}
    // Called after a click on the name of a row or column next to a matrix of the ladder.
    virtual void name_clicked(Stage, std::optional<Index> /*row*/, std::optional<Index> /*column*/) {}
    // Draws what the subject shows next to its heads, such as predictions or remarks, `width` points wide.
    virtual void draw_beside(const Drawing&, float /*width*/) {}

  protected:
    Visit& visit() const { return visit_; }
    const State& state() const { return visit_.state(); }

  private:
    Visit& visit_;
};

inline Subject& subject_in(const Visit& visit) { return static_cast<Subject&>(visit.subject()); }

inline Selection selection_of(const Drawing& drawing) { return subject_in(drawing.visit).chosen(); }

}  // namespace attn::app
