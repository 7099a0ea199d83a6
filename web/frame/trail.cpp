// Follows operands from a number to its inputs, and back.
#include <algorithm>

#include "frame/frame.hpp"

namespace attn::app {

namespace {

// Chooses the tokens of a cell, so that lenses show them.
Selection chosen_with(Selection selection, const CellPlace& place) {
    const CellRef& cell = place.cell;
    selection.layer = place.head.layer;
    selection.head = place.head.head;
    if (cell.second || cell.words) return selection;
    const Stage stage = cell.stage;
    if (is_of_pairs(stage) || stage == Stage::exponential) {
        selection.query = cell.row;
        selection.key = cell.col;
    } else if (stage == Stage::x || stage == Stage::q || stage == Stage::output || is_of_softmax(stage) ||
               stage == Stage::row_entropy || stage == Stage::row_total) {
        selection.query = cell.row;
    } else if (stage == Stage::k || stage == Stage::v || stage == Stage::column_total) {
        selection.key = cell.row;
    }
    return selection;
}

}  // namespace

void Frame::go_to(std::string_view lens, const Selection& selection, const CellRef& cell) {
    Subject& subject = subject_in(visit_);
    const auto shows = [&](std::string_view key) { return lens_in(visit_, key).shows(subject, cell); };
    if (!shows(lens))
        for (const LensEntry& entry : lens_list())
            if (shows(entry.key)) {
                lens = entry.key;
                break;
            }
    // A lens's number can be pinned only in that lens.
    std::vector<Command> commands{Select{selection}};
    if (lens != visit_.state().lens) commands.push_back(OpenLens{lens});
    commands.push_back(Pin{cell});
    for (Command& each : lens_in(visit_, lens).reveal(subject, cell)) commands.push_back(std::move(each));
    if (commands.size() > 2) return visit_.perform(Together{std::move(commands)});
    for (const Command& command : commands) visit_.perform(command, ui::gesture());
}

void Frame::follow(const CellRef& from, const CellPlace& place) {
    const State& state = visit_.state();
    const Stop stop{state.lens, state.selection, from};
    go_to(state.lens, chosen_with(state.selection, place), place.cell);
    trail_end_ = visit_.state().pin;
    if (trail_end_ == place.cell) trail_.push_back(stop);
}

void Frame::go_back() {
    const Stop stop = trail_.back();
    trail_.pop_back();
    go_to(stop.lens, stop.selection, stop.cell);
    trail_end_ = visit_.state().pin;
}

}  // namespace attn::app
