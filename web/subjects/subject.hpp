// A subject supplies the attention to show. It owns its part of the State, keeps its run up to date, and
// provides what the lenses show.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/catalogue.hpp"
#include "app/drawing.hpp"
#include "app/explained.hpp"
#include "app/visit.hpp"
#include "runs/attention.hpp"
#include "runs/head_naming.hpp"
#include "subjects/capabilities.hpp"
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

// Labels of the steps that ablate a head and restore it.
inline constexpr const char *switch_off = "Switch this head off", *switch_on = "Switch it on again";

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

class Subject : public Resident {
  public:
    explicit Subject(Visit& visit) : visit_(visit) {}

    // ---- What it has --------------------------------------------------------------------------------------
    // Null until there is something to show; lacks() then says what to do about it. If there are several
    // texts, its queries and keys are those of the chosen head.
    virtual Attention* attention() { return nullptr; }
    // The same, with the queries and keys of this layer.
    virtual Attention* attention_of(Index /*layer*/) { return attention(); }
    // Says whether a model that the State names is still on its way; what is shown belongs to the one before.
    virtual bool awaits_model() const { return false; }
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
    // Returns the names of its heads; null until something was measured.
    virtual const NamedHeads* named_heads() { return nullptr; }
    // Returns the texts of its model's tokens with these ids, if it has a model.
    virtual std::vector<std::string> token_texts(std::span<const std::int32_t>) { return {}; }
    // Returns one head as matrices; null if it has no vectors to show.
    virtual const Ladder* ladder() { return nullptr; }

    // ---- What it can do -----------------------------------------------------------------------------------
    // Null: it cannot.
    virtual Comparing* comparing() { return nullptr; }
    virtual TextModel* text_model() { return nullptr; }
    virtual Translating* translating() { return nullptr; }  // null unless an encoder–decoder is open
    virtual Learning* learning() { return nullptr; }
    virtual Editable* editable() { return nullptr; }
    // Says whether subjects of this kind run a model, whose Trace their attention has.
    bool runs_model() { return text_model() || learning(); }

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
    // Draws what the subject shows next to its heads, such as predictions or remarks, `width` points wide.
    virtual void draw_beside(const Drawing&, float /*width*/) {}

  protected:
    Visit& visit() const { return visit_; }
    const State& state() const { return visit_.state(); }

  private:
    Visit& visit_;
};

inline Subject& subject_in(const Visit& visit) { return static_cast<Subject&>(visit.subject()); }
inline Subject& subject_in(const Visit& visit, std::string_view key) {
    return static_cast<Subject&>(visit.subject(key));
}

// Returns the attention that a subject is compared with; null: none.
inline Attention* second_of(Subject& subject) {
    Comparing* comparing = subject.comparing();
    return comparing ? comparing->second() : nullptr;
}
// Returns the subject's runs over a sample of texts; null: none.
inline CorpusRun* corpus_of(Subject& subject) {
    TextModel* model = subject.text_model();
    return model ? model->corpus() : nullptr;
}

// Asks the subjects' models for a command, until one has it.
std::optional<Command> command_of_models(const Visit& visit, auto&& ask) {
    for (const SubjectEntry& entry : subject_list())
        if (const TextModel* model = subject_in(visit, entry.key).text_model())
            if (std::optional<Command> command = ask(*model)) return command;
    return std::nullopt;
}
// Returns the command that makes a model read a text and, unless it is empty, a second one for comparison.
// Nothing if there is no model for it.
inline std::optional<Command> command_to_read(const Visit& visit, const std::string& text,
                                              const std::string& second) {
    return command_of_models(visit, [&](const TextModel& model) { return model.reads(text, second); });
}

inline Selection selection_of(const Drawing& drawing) { return subject_in(drawing.visit).chosen(); }

}  // namespace attn::app
