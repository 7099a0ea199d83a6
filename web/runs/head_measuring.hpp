// Measures in slices what the heads of a network in training do, for the curves of lens Curves.
#pragma once

#include <memory>
#include <vector>

#include "analysis/heads/head_scores.hpp"
#include "model/forward.hpp"
#include "runs/training_data.hpp"

namespace attn::app {

struct HeadPoint {
    double induction = 0;  // stripe score over repeated random tokens, analysis/heads/repeated_tokens.hpp
    double previous_token = 0;  // mean over the probe
    double entropy = 0;         // nats, mean over the probe's rows
    bool operator==(const HeadPoint&) const = default;
};

class HeadMeasuring {
  public:
    // The data must outlive this object.
    static Result<HeadMeasuring> start(std::shared_ptr<const Model> model, const TrainingData& data);

    // Does a slice of a forward pass or a part of a head; true while there is more to do.
    Result<bool> step();
    const std::vector<HeadPoint>& points() const { return points_; }  // [layers · heads]

  private:
    HeadMeasuring() = default;
    const Record& record(const Trace& trace) const;

    const TrainingData* data_ = nullptr;
    std::shared_ptr<const Model> model_;
    std::optional<ForwardPass> forward_;
    std::shared_ptr<const Trace> probe_, repeated_;
    std::size_t next_ = 0;  // the next head
    HeadScoring scoring_;
    std::vector<HeadPoint> points_;
};

}  // namespace attn::app
