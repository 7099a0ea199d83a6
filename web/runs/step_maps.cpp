#include "runs/step_maps.hpp"

#include <algorithm>
#include <cmath>

#include "runs/text_run.hpp"

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

void StepMaps::update(const TrainingRun& run, const TrainingView& view, TrainingMaps shown) {
    if (trace_ == view.probe && shown_ == shown) return;
    trace_ = view.probe;
    shown_ = shown;
    static std::uint64_t serials = 0;  // over all StepMaps
    serial_ = ++serials;
    maps_.clear();
    cells_.clear();
    extent_ = 0;
    gradients_.clear();
    if (shown == TrainingMaps::gradient) gradients_ = run.attention_gradients(view);
    for (Index layer = 0; layer < std::ssize(trace_->layers()); ++layer) {
        const auto record = record_of(trace_, layer);
        for (Index head = 0; head < record->heads(); ++head) {
            maps_.push_back(shown == TrainingMaps::weights
                                ? stage_map(record, head, Stage::weight)
                                : by_weight(record, head, gradients_[static_cast<std::size_t>(layer)]));
            cells_.push_back(cells_of(*maps_.back()));
        }
    }
    for (const std::vector<float>& head : cells_)
        for (const float value : head)
            if (std::isfinite(value)) extent_ = std::max(extent_, std::abs(value));
}

bool StepMaps::has(HeadIndex head) const {
    return trace_ && head.layer < std::ssize(trace_->layers()) && head.head < record(head).heads();
}

}  // namespace attn::app
