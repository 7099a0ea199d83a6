#include "app/command.hpp"

#include <algorithm>
#include <span>

#include "app/catalogue.hpp"

namespace attn::app {

Result<State> apply(const State& state, const Command& command) {
    State next = state;
    if (const Status done = command.apply(next); !done) return done.error();
    const SubjectEntry& subject = subject_of(next);
    if (!subject.may_select(next, next.selection)) next.selection.forget_tokens();
    // Opening a lens together with one of its numbers keeps that number pinned.
    const bool of_other_lens =
        next.pin && next.pin->own() && next.lens != state.lens && next.pin == state.pin;
    if (next.pin && (of_other_lens || !may_pin(next, *next.pin))) next.pin.reset();
    return next;
}

bool take(State& state, const Command& command) {
    auto next = app::apply(state, command);
    if (!next) return false;
    state = *std::move(next);
    return true;
}

void show_subject(State& state, std::string_view key) {
    if (key == state.subject) return;
    auto& kept = state.edit<OtherChoices>().of;
    Chosen left{state.selection, state.pin};
    if (left.pin && left.pin->own()) left.pin.reset();
    if (left != Chosen{}) kept[state.subject] = left;
    const auto found = kept.find(key);
    const Chosen there = found == kept.end() ? Chosen{} : found->second;
    if (found != kept.end()) kept.erase(found);
    state.subject = key;
    state.selection = there.selection;
    state.pin = there.pin;
}

Status OpenSubject::apply(State& state) const {
    const SubjectEntry* found = find_subject(key);
    if (!found) return Error{"There is no subject with that name."};
    if (found->key == state.subject) return ok();
    show_subject(state, found->key);
    // A lens that asks a question stays for the next subject; other lenses give way to the subject's default.
    if (lens_of(state).group == LensGroup::see) state.lens = usual_lens(state);
    return ok();
}
std::string OpenSubject::describe(const State&) const {
    const SubjectEntry* found = find_subject(key);
    return std::string("opened ") + (found ? found->name : "");
}

Status Together::apply(State& state) const {
    for (const Command& command : commands)
        if (const Status done = command.apply(state); !done) return done;
    return ok();
}
std::string Together::describe(const State& before) const {
    State state = before;
    for (const Command& command : std::span(commands).first(commands.size() - 1)) take(state, command);
    return commands.back().describe(state);
}

Status OpenLens::apply(State& state) const {
    const LensEntry* found = find_lens(key);
    if (!found) return Error{"There is no lens with that name."};
    state.lens = found->key;
    return ok();
}
std::string OpenLens::describe(const State&) const {
    const LensEntry* found = find_lens(key);
    return std::string("lens ") + (found ? found->name : "");
}

Status Select::apply(State& state) const {
    const auto within = [](Index i) { return i >= 0 && i < position_limit; };
    if (!within(selection.layer) || !within(selection.head) ||
        (selection.query && !within(*selection.query)) || (selection.key && !within(*selection.key)) ||
        (selection.counterpart && !within(*selection.counterpart)) ||
        !subject_of(state).may_select(state, selection))
        return Error{"Choose a row and a column of the matrix."};
    state.selection = selection;
    return ok();
}
std::string Select::describe(const State& before) const {
    const Selection& now = before.selection;
    return now.layer != selection.layer || now.head != selection.head ? "choice of a head"
                                                                      : "choice of a word";
}

namespace {

// The first key (the attention sink) can be left out only of weights and of numbers derived from them.
bool may_leave_out_sink(Stage stage) { return is_of_pairs(stage) && !is_signed(stage); }

bool may_pin_number(const State& state, const RunCell& cell) {
    return (cell.sink == Sink::shown || may_leave_out_sink(cell.stage)) &&
           (!cell.is_merged() ||
            ((cell.stage == Stage::weight || cell.stage == Stage::head_score) && !cell.second)) &&
           subject_of(state).may_pin(state, cell);
}

}  // namespace

bool may_pin(const State& state, const CellRef& cell) {
    if (const RunCell* run = cell.run()) return may_pin_number(state, *run);
    if (const MapSum* sum = cell.sum()) {  // has to begin with a cell of the map
        const bool of_marked = sum->total == MapTotal::marked_total;
        return is_of_pairs(sum->of) && (!of_marked || sum->at == 0) &&
               may_pin_number(state,
                              {sum->of, sum->is_of_column() ? 0 : sum->at, sum->is_of_column() ? sum->at : 0,
                               sum->second, sum->unit, sum->sink, sum->mean});
    }
    const LensCell& own = *cell.own();
    return std::ranges::find(lens_of(state).cells, own.kind) != lens_of(state).cells.end() && own.is_within();
}

Status Pin::apply(State& state) const {
    if (cell && !may_pin(state, *cell))
        return Error{"Choose a cell on screen to pin; this one does not exist."};
    state.pin = cell;
    return ok();
}
std::string Pin::describe(const State&) const { return "choice of a cell"; }

}  // namespace attn::app
