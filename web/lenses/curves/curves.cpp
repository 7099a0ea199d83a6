#include "lenses/curves/curves.hpp"

#include <algorithm>
#include <cmath>

#include "app/format.hpp"

namespace attn::app::curves {

const Fields<State>& State::fields() {
    static const Field<State> all[]{
        {"maps", {"maps of the gradient", "maps of weights"}, word<&State::maps>("gradient")},
    };
    static const Fields<State> fields{.all = all};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 1>()}; }

std::optional<CellRef> measured_cell(const app::State& state, std::string_view name, Index row, Index col) {
    if (name == "loss" && col == 0) return cells::loss(row);
    const TrainingPlan& plan = state.of<TrainingState>().plan;
    const Index heads = plan.layers * plan.heads;
    if (name != "curve" || col < 0 || col / heads >= std::ssize(curve_scores)) return std::nullopt;
    return cells::score(col / heads, col % heads, row);
}

std::optional<Missing> Model::missing(Subject& subject) {
    if (subject.learning()) return std::nullopt;
    return Missing{"Curves follow a network while it learns; nothing learns here."};
}

void Model::update(Visit& visit, Subject& subject) {
    chosen = {visit.state().selection.layer, visit.state().selection.head};
    Learning& learning = *subject.learning();
    run = learning.runs().shown();
    view = nullptr;
    if (!run) return;
    step = run->shown_step(learning.course().step.value_or(run->steps_taken()));
    view = learning.runs().shown_view(learning.course());
    if (view) maps.update(*run, *view, visit.state().of<State>().maps);
}

std::string place_name(HeadIndex head) { return head_text(head, {2}, ", "); }

Table map_table(const Model& model) {
    const bool weights = model.maps.shown() == TrainingMaps::weights;
    const std::vector<std::string>& pieces = model.run->data().probe_pieces;
    // Masked gradients stay −∞, as masked scores do.
    return table_of(std::string(weights ? "Weights" : "Gradient of the loss by the weights") + " at step " +
                        std::to_string(model.step) + ", " + place_name(model.chosen),
                    *model.maps.map(model.chosen), pieces, pieces, weights ? Stage::weight : Stage::masked);
}

std::vector<Table> Model::tables(Subject&) {
    if (!view || !maps.has(chosen)) return {};
    return {map_table(*this)};
}

std::string Model::headline(Subject&) {
    if (!run) return "";
    const std::span<const float> losses = run->losses();
    if (step < 1 || losses.empty())
        return "Nothing is learned yet: every head looks where chance made it look.";
    const auto loss = [&](std::int64_t at) {
        return rounded(static_cast<double>(losses[static_cast<std::size_t>(at - 1)]), 3);
    };
    std::string text =
        "After " + with_commas(step) + (step == 1 ? " step" : " steps") + " the loss is " + loss(step);
    if (step > 1) text += "; it began at " + loss(1);
    const auto point = std::ranges::find(run->points(), step, &TrainingPoint::step);
    if (point == run->points().end() || point->heads.empty()) return text + ".";
    const auto best = std::ranges::max_element(point->heads, {}, &HeadPoint::induction);
    const Index heads = run->plan().heads, at = best - point->heads.begin();
    return text + ".\nMost induction so far, on one random repeat: " + fixed(best->induction, 2) + ", in " +
           place_name({at / heads, at % heads}) + ".";
}

}  // namespace attn::app::curves
