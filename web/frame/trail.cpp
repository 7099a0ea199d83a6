// Follows operands from a number to its inputs, and back.
#include <algorithm>

#include "frame/frame.hpp"
#include "widgets/controls.hpp"

namespace attn::app {

namespace {

// Chooses the tokens of a cell, so that lenses show them.
Selection chosen_with(Selection selection, const CellPlace& place) {
    selection.layer = place.head.layer;
    selection.head = place.head.head;
    if (place.cell.second() || place.cell.unit() != Unit::tokens) return selection;
    if (const MapSum* sum = place.cell.sum()) {
        if (sum->is_of_row()) selection.query = sum->at;
        if (sum->is_of_column()) selection.key = sum->at;
    }
    const RunCell* cell = place.cell.run();
    if (!cell) return selection;
    const Stage stage = cell->stage;
    if (is_of_pairs(stage) || stage == Stage::exponential) {
        selection.query = cell->row;
        selection.key = cell->col;
    } else if (stage == Stage::x || stage == Stage::q || stage == Stage::output || is_of_softmax(stage)) {
        selection.query = cell->row;
    } else if (stage == Stage::k || stage == Stage::v) {
        selection.key = cell->row;
    }
    return selection;
}

}  // namespace

void Frame::follow(const CellRef& from, const CellPlace& place) {
    const State& state = visit_.state();
    const Stop stop{state.lens, state.selection, from};
    show_cell(visit_, state.lens, chosen_with(state.selection, place), place.cell, ui::gesture());
    trail_end_ = visit_.state().pin;
    if (trail_end_ == place.cell) trail_.push_back(stop);
}

void Frame::go_back() {
    const Stop stop = trail_.back();
    trail_.pop_back();
    show_cell(visit_, stop.lens, stop.selection, stop.cell, ui::gesture());
    trail_end_ = visit_.state().pin;
}

}  // namespace attn::app
