// A lens presents a subject in one way. It asks one question and answers it for every subject that has the
// necessary data.
//
// Each lens is one folder, one namespace and one line in lenses/list.cpp. NAME.hpp and NAME.cpp hold its
// State with its fields, and its Model: what it computes from a subject, without Dear ImGui. NAME_view.cpp
// draws the model. What the view remembers between frames, such as how a map is zoomed, is its ViewMemory, to
// which the model keeps a pointer.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/derived.hpp"
#include "subjects/subject.hpp"
#include "subjects/tables.hpp"

namespace attn::app {

// Says what a subject lacks for a lens.
struct Missing {
    std::string sentence;  // what is missing, and what it is needed for
    // The subject's own step that fixes it, if there is one; otherwise another subject is offered.
    std::optional<Offer> offer = {};
    bool comes = false;  // will be there shortly, without a step
};

// A kind of a model's numbers, and the function that explains them.
template <class M>
struct ModelNumber {
    const CellKind* kind;
    std::optional<Explained> (*explain)(M& model, Subject& subject, const LensCell& cell);
};
template <class M, std::size_t n>
CellKinds kinds_of(const std::array<ModelNumber<M>, n>& numbers) {
    static const std::vector<const CellKind*> kinds = [&] {
        std::vector<const CellKind*> all;
        for (const ModelNumber<M>& each : numbers) all.push_back(each.kind);
        return all;
    }();
    return kinds;
}
template <class M, std::size_t n>
std::optional<Explained> explain_by(const std::array<ModelNumber<M>, n>& numbers, M& model, Subject& subject,
                                    const LensCell& cell) {
    for (const ModelNumber<M>& each : numbers)
        if (each.kind == cell.kind && cell.is_within()) return each.explain(model, subject, cell);
    return std::nullopt;
}

// Why most lenses stay with tokens where maps show larger units.
inline constexpr const char* counts_tokens =
    "Here rows and columns stay tokens: only weights can be merged into larger units, and this lens shows "
    "what "
    "weights are made of.";

class Lens : public Resident {
  public:
    explicit Lens(Visit& visit) : visit_(visit) {}

  protected:
    Visit& visit() const { return visit_; }
    const State& state() const { return visit_.state(); }

    // Only GuardedLens calls these.
    friend class GuardedLens;

    // Returns nothing if the subject can be drawn. Called only if the subject has attention.
    virtual std::optional<Missing> missing(Subject& subject) const = 0;
    // Says whether the lens makes sense for this kind of subject, so that the step to it is worth offering.
    virtual bool suits(Subject& subject) const = 0;
    virtual Guide guide(Subject& subject) const { return subject.guide(); }
    // Says why the lens stays with tokens where maps show larger units; null if it does not.
    virtual const char* tokens_alone() const { return counts_tokens; }

    // The following are called only if the subject has attention and nothing is missing.

    // Draws at the cursor, across the window's width.
    virtual void draw(const Drawing& drawing, Subject& subject) = 0;
    // Explain a cell. A lens with nothing to add leaves this to its subject.
    virtual std::optional<Explained> explain(Subject& subject, const CellPlace& place) {
        return subject.explain_at(place);
    }
    // Says whether the lens shows the cell, and which commands bring it into view there.
    virtual bool shows(Subject&, const CellRef&) const { return false; }
    virtual std::vector<Command> reveal(Subject&, const CellRef&) const { return {}; }
    // Says whether a person changes the cell by the lens itself; the inspector then offers no other change.
    virtual bool changes(const CellRef&) const { return false; }
    // Returns the matrices on screen, the one in focus first; none until there are numbers.
    virtual std::vector<Table> tables(Subject& subject) {
        return tables_of(*subject.attention(), state(), subject.chosen_head());
    }
    virtual std::string status(Subject& subject) { return subject.status(); }
    // Returns the headline, computed from the numbers on screen: their meaning, in at most 90 characters if
    // names are short, and after a line break whatever the headline leaves out. Empty if the subject's
    // heading already says it.
    virtual std::string spoken(Subject&) { return ""; }
    // The same for the query under the cursor; empty if the sentence is not about a single query.
    virtual std::string preview(Subject&, Index) { return ""; }

  private:
    Visit& visit_;
};

// Returns what a view remembers between frames, and creates it when the view is first drawn.
template <class ViewMemory>
ViewMemory& remembered(std::shared_ptr<ViewMemory>& seen) {
    if (!seen) seen = std::make_shared<ViewMemory>();
    return *seen;
}

// The lens of a model. Its folder defines, in the model's namespace:
//
//     class Model {
//       public:
//         static std::optional<Missing> missing(Subject& subject);  // these three as in Lens
//         static bool suits(Subject& subject);
//         static Guide guide(Subject& subject);
//         static const char* tokens_alone();            // if it differs from counts_tokens
//         void update(Visit& visit, Subject& subject);  // called before whatever follows
//         Key key() const;                              // what its numbers depend on
//         std::string headline(Subject& subject);       // as Lens::spoken
//         std::vector<Table> tables(Subject& subject);
//         std::optional<Explained> explain(Subject& subject, const LensCell& cell);
//     };
//     void draw_model(Model& model, const Drawing& drawing, Subject& subject);
template <class M>
class ModelLens : public Lens {
  public:
    using Lens::Lens;

    M& model() { return model_; }

    // A model keeps its runs in memory, so it is released while another lens is open.
    void follow(const State&, Change) override {
        if (&visit().lens() != this) release();
    }
    std::optional<Missing> missing(Subject& subject) const override { return M::missing(subject); }
    bool suits(Subject& subject) const override { return M::suits(subject); }
    Guide guide(Subject& subject) const override { return M::guide(subject); }
    const char* tokens_alone() const override {
        if constexpr (requires { M::tokens_alone(); })
            return M::tokens_alone();
        else
            return counts_tokens;
    }
    void draw(const Drawing& drawing, Subject& subject) override {
        draw_model(updated(subject), drawing, subject);  // found in the model's namespace
    }
    std::string spoken(Subject& subject) override { return updated(subject).headline(subject); }
    std::vector<Table> tables(Subject& subject) override { return updated(subject).tables(subject); }
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override {
        const LensCell* own = place.cell.own();
        if (!own) return subject.explain_at(place);
        M& now = updated(subject);
        auto why = explained_.of({now.key(), *own}, [&] { return now.explain(subject, *own); });
        // An explanation that is not complete yet is made again.
        if (!why || why->in_double_progress) explained_.forget();
        return why;
    }
    bool shows(Subject&, const CellRef& cell) const override { return cell.own(); }

  protected:
    M& updated(Subject& subject) {
        model_.update(visit(), subject);
        return model_;
    }
    void release() {
        model_ = M{};
        explained_.forget();
    }

  private:
    struct Of {
        decltype(std::declval<const M&>().key()) key;
        LensCell cell;
        bool operator==(const Of&) const = default;
    };
    M model_;
    Derived<Of, std::optional<Explained>> explained_;
};

// The only access to a lens. While its subject has no attention, or lacks what the lens needs, the lens is
// not called: the answers are empty or the subject's own.
class GuardedLens {
  public:
    explicit GuardedLens(Lens& lens) : lens_(lens) {}

    std::optional<Missing> missing(Subject& subject) const {
        if (!subject.attention()) return Missing{"There is no attention to look at here yet."};
        return lens_.missing(subject);
    }
    bool suits(Subject& subject) const { return lens_.suits(subject); }
    Guide guide(Subject& subject) const { return lens_.guide(subject); }
    const char* tokens_alone() const { return lens_.tokens_alone(); }
    // While something is missing, draws nothing and returns it.
    std::optional<Missing> draw(const Drawing& drawing, Subject& subject) const {
        auto lacks = missing(subject);
        if (!lacks) lens_.draw(drawing, subject);
        return lacks;
    }
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) const {
        return missing(subject) ? subject.explain_at(place) : lens_.explain(subject, place);
    }
    bool shows(Subject& subject, const CellRef& cell) const {
        return !missing(subject) && lens_.shows(subject, cell);
    }
    std::vector<Command> reveal(Subject& subject, const CellRef& cell) const {
        return missing(subject) ? std::vector<Command>{} : lens_.reveal(subject, cell);
    }
    bool changes(Subject& subject, const CellRef& cell) const {
        return !missing(subject) && lens_.changes(cell);
    }
    std::vector<Table> tables(Subject& subject) const {
        return missing(subject) ? std::vector<Table>{} : lens_.tables(subject);
    }
    std::string status(Subject& subject) const {
        return missing(subject) ? subject.status() : lens_.status(subject);
    }
    std::string spoken(Subject& subject) const { return missing(subject) ? "" : lens_.spoken(subject); }
    std::string preview(Subject& subject, Index query) const {
        return missing(subject) ? "" : lens_.preview(subject, query);
    }

  private:
    Lens& lens_;
};

inline GuardedLens lens_in(const Visit& visit, std::string_view key) {
    return GuardedLens(static_cast<Lens&>(visit.lens(key)));
}
// Opens a lens over the open subject, after the step that provides what it needs, if there is a single one.
inline void open_lens(Visit& visit, std::string_view key) {
    Subject& subject = subject_in(visit);
    const GuardedLens lens = lens_in(visit, key);
    const auto missing = subject.attention() && lens.suits(subject) ? lens.missing(subject) : std::nullopt;
    if (!missing || !missing->offer || !missing->offer->at_once) return visit.perform(OpenLens{key});
    visit.perform(Together{{missing->offer->command, OpenLens{key}}});
    if (missing->offer->replaces)
        visit.notice("This lens needs another model, which is open now. Undo brings back yours.");
}
inline GuardedLens lens_in(const Visit& visit) { return lens_in(visit, visit.state().lens); }

// Pins a cell among these tokens in this lens or, if it does not show such a cell, in the first one that
// does.
inline void show_cell(Visit& visit, std::string_view lens, const Selection& selection, const CellRef& cell,
                      std::uint64_t gesture) {
    Subject& subject = subject_in(visit);
    const auto shows = [&](std::string_view key) { return lens_in(visit, key).shows(subject, cell); };
    if (!shows(lens))
        for (const LensEntry& entry : lens_list())
            if (shows(entry.key)) {
                lens = entry.key;
                break;
            }
    // A lens's number can be pinned only in that lens.
    std::vector<Command> commands{Select{selection}};
    if (lens != visit.state().lens) commands.push_back(OpenLens{lens});
    commands.push_back(Pin{cell});
    for (Command& each : lens_in(visit, lens).reveal(subject, cell)) commands.push_back(std::move(each));
    if (commands.size() > 2) return visit.perform(Together{std::move(commands)});
    for (const Command& command : commands) visit.perform(command, gesture);
}

}  // namespace attn::app
