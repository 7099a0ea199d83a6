// Holds the maps of all heads of a network in training, at one of its steps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "maps/map.hpp"
#include "runs/training_run.hpp"

namespace attn::app {

// The maps of all heads show either the weights or the gradient of the probe's loss with respect to them.
enum class TrainingMaps { weights, gradient };

class StepMaps {
  public:
    void update(const TrainingRun& run, const TrainingView& view, TrainingMaps shown);
    std::uint64_t serial() const { return serial_; }  // other maps have another number
    bool has(HeadIndex head) const;
    const MapPointer& map(HeadIndex head) const { return maps_[number(head)]; }
    // Its cells in the heatmap pass's format: [n, n], −inf where masked.
    const float* cells(HeadIndex head) const { return cells_[number(head)].data(); }
    float extent() const { return extent_; }  // the largest magnitude of any cell
    TrainingMaps shown() const { return shown_; }
    const Record& record(HeadIndex head) const {
        return trace_->layers()[static_cast<std::size_t>(head.layer)].attention;
    }
    // The gradient with respect to a head's output, [n, head_dim], if the maps show gradients.
    ConstMatrix gradient(HeadIndex head) const {
        return gradients_[static_cast<std::size_t>(head.layer)].heads().head(head.head);
    }

  private:
    std::size_t number(HeadIndex head) const {
        return static_cast<std::size_t>(head.layer * record(head).heads() + head.head);
    }

    std::vector<Tensor> gradients_;  // [heads, n, head_dim] per layer
    std::shared_ptr<const Trace> trace_;
    TrainingMaps shown_ = TrainingMaps::weights;
    std::uint64_t serial_ = 0;
    std::vector<MapPointer> maps_;           // [layers · heads]
    std::vector<std::vector<float>> cells_;  // each map's
    float extent_ = 0;
};

}  // namespace attn::app
