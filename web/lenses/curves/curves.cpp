#include "lenses/curves/curves.hpp"

#include <algorithm>
#include <cmath>

#include "app/format.hpp"

namespace attn::app {

namespace {

// `gradients` [heads, n, head_dim] is a layer's gradient with respect to its attention output; the map is for
// one head.
MapPointer by_weight(const std::shared_ptr<const Record>& record, Index head, const Tensor& gradients) {
    const auto size = static_cast<std::size_t>(record->queries() * record->d_v());
    const auto own = gradients.values().subspan(static_cast<std::size_t>(head) * size, size);
    return *gradient_map(record, head, Tensor({record->queries(), record->d_v()}, own), GradientBy::weight);
}

}  // namespace

const Fields<CurvesState>& CurvesState::fields() {
    using S = CurvesState;
    static const Field<S> all[]{
        {"maps", {"maps of the gradient", "maps of weights"}, word<&S::maps>("gradient")},
    };
    static const Fields<S> fields{.all = all};
    return fields;
}
LinkRows curves_links() { return {rows_of_fields<CurvesState, 1>()}; }

void StepMaps::update(const TrainingRun& run, const TrainingView& view, TrainingMaps shown) {
    if (trace_ == view.probe && shown_ == shown) return;
    trace_ = view.probe;
    shown_ = shown;
    ++serial_;
    values_.clear();
    extent_ = 0;
    gradients_.clear();
    if (shown == TrainingMaps::gradient) gradients_ = run.attention_gradients(view);
    for (Index layer = 0; layer < std::ssize(trace_->layers()); ++layer) {
        const auto record = record_of(trace_, layer);
        for (Index head = 0; head < record->heads(); ++head)
            values_.push_back(
                cells_of(shown == TrainingMaps::weights
                             ? *stage_map(record, head, Stage::weight)
                             : *by_weight(record, head, gradients_[static_cast<std::size_t>(layer)])));
    }
    for (const std::vector<float>& head : values_)
        for (const float value : head)
            if (std::isfinite(value)) extent_ = std::max(extent_, std::abs(value));
}

std::optional<Missing> CurvesLens::missing(Subject& subject) const {
    if (subject.course()) return std::nullopt;
    return Missing{"Curves follow a network while it learns; nothing learns here."};
}

Table CurvesLens::map_table(const TrainingRun& run, const TrainingView& view) const {
    const Selection& s = state().selection;
    const bool weights = maps_.shown() == TrainingMaps::weights;
    const float* cells = maps_.of(static_cast<std::size_t>(s.layer * run.plan().heads + s.head));
    const Index n = view.probe->tokens();
    Table map{std::string(weights ? "Weights" : "Gradient of the loss by the weights") + " at step " +
                  std::to_string(view.step) + ", layer " + std::to_string(s.layer) + ", head " +
                  std::to_string(s.head),
              run.data().probe_pieces, run.data().probe_pieces, Matrix(n, n)};
    std::transform(cells, cells + n * n, map.values.values.begin(), [&](float cell) {
        return weights && cell == masked_cell ? 0.0 : static_cast<double>(cell);
    });
    return map;
}

std::vector<Table> CurvesLens::tables(Subject& subject) {
    const TrainingRun* run = subject.runs()->shown();
    const TrainingView* view = run ? subject.runs()->shown_view(*subject.course()) : nullptr;
    const Selection& s = state().selection;
    if (!view || s.layer >= run->plan().layers || s.head >= run->plan().heads) return {};
    maps_.update(*run, *view, state().of<CurvesState>().maps);
    return {map_table(*run, *view)};
}

std::string CurvesLens::spoken(Subject& subject) {
    const TrainingRun* run = subject.runs()->shown();
    if (!run) return "";
    const std::int64_t step = run->shown_step(subject.course()->step.value_or(run->steps_taken()));
    const std::span<const float> losses = run->losses();
    if (step < 1 || losses.empty())
        return "Nothing is learned yet: every head looks where chance made it look.";
    const auto loss = [&](std::int64_t at) {
        return rounded(static_cast<double>(losses[static_cast<std::size_t>(at - 1)]), 3);
    };
    std::string text = "After " + with_commas(static_cast<std::ptrdiff_t>(step)) +
                       (step == 1 ? " step" : " steps") + " the loss is " + loss(step);
    if (step > 1) text += "; it began at " + loss(1);
    const auto point = std::ranges::find(run->points(), step, &TrainingPoint::step);
    if (point == run->points().end() || point->heads.empty()) return text + ".";
    const auto best = std::ranges::max_element(point->heads, {}, &HeadPoint::induction);
    const Index heads = run->plan().heads, at = best - point->heads.begin();
    return text + ".\nMost induction so far, on one random repeat: " + fixed(best->induction, 2) +
           ", in layer " + std::to_string(at / heads) + ", head " + std::to_string(at % heads) + ".";
}

}  // namespace attn::app
