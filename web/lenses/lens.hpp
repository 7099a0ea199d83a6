// A lens is a way of looking at a subject. It asks one question and answers it for every subject that has the
// necessary data.
//
// Each lens is one folder and one line in lenses/list.cpp. NAME.hpp and NAME.cpp hold its State, its
// commands, its link rows and what it computes, without Dear ImGui; NAME_view.cpp draws it. Its members hold
// what it remembers between frames.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "subjects/subject.hpp"
#include "subjects/tables.hpp"

namespace attn::app {

// Says what a subject lacks for a lens.
struct Missing {
    std::string sentence;  // what is missing, and what it is needed for
    // A step of the same subject that fixes it, if there is one; otherwise another subject is offered.
    std::optional<Offer> offer = {};
};

class Lens : public Resident {
  public:
    explicit Lens(Visit& visit) : visit_(visit) {}

    // Returns nothing if the subject can be drawn. Called only if the subject has something to show.
    virtual std::optional<Missing> missing(Subject& subject) const = 0;
    // Says whether the lens makes sense for this kind of subject, so that it is worth going there.
    virtual bool suits(Subject& subject) const = 0;

    // Draws at the cursor, across the window's width.
    virtual void draw(const Drawing& drawing, Subject& subject) = 0;

    // Explain a cell. A lens with nothing of its own to say leaves this to its subject.
    virtual std::optional<Explained> explain(Subject& subject, const CellPlace& place) {
        return subject.explain_at(place);
    }
    // Says whether the cell stands in this lens, and what brings it into view there.
    virtual bool shows(Subject&, const CellRef&) const { return false; }
    virtual std::vector<Command> reveal(Subject&, const CellRef&) const { return {}; }
    // Returns the matrices on screen, the one in focus first; none until there are numbers.
    virtual std::vector<Table> tables(Subject& subject) {
        return subject.attention() ? tables_of(*subject.attention(), state(), subject.chosen_head())
                                   : std::vector<Table>{};
    }
    virtual std::string status(Subject& subject) { return subject.status(); }
    virtual Guide guide(Subject& subject) const { return subject.guide(); }
    // Returns one sentence, computed from what is shown, that says what can be seen; empty if the subject's
    // heading already says it.
    virtual std::string spoken(Subject&) { return ""; }
    // The same for another query, which the cursor is over; empty if the sentence is not about one query.
    virtual std::string preview(Subject&, Index) { return ""; }

  protected:
    Visit& visit() const { return visit_; }
    const State& state() const { return visit_.state(); }

  private:
    Visit& visit_;
};

inline Lens& lens_in(const Visit& visit) { return static_cast<Lens&>(visit.lens()); }

}  // namespace attn::app
