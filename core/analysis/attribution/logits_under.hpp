// The logits of one token in runs of a text under interventions.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "analysis/attribution/variant_runs.hpp"

namespace attn {

class LogitsUnder {
  public:
    using Variant = VariantRuns::Variant;
    // Fails if a variant is refused (`resolved`). `row` is one of the run's tokens.
    static Result<LogitsUnder> start(std::shared_ptr<const Trace> trace, Index row,
                                     std::vector<Variant> variants,
                                     double slice_operations = operations_of_a_frame);

    bool step();  // a slice of a variant; true while there is more to do
    bool done() const { return runs_.done(); }
    float progress() const { return runs_.progress(); }
    // [vocabulary] for each variant that is done.
    std::span<const std::vector<float>> logits() const { return logits_; }

  private:
    LogitsUnder(Index row, VariantRuns runs) : row_(row), runs_(std::move(runs)) {}

    Index row_;
    VariantRuns runs_;
    std::vector<std::vector<float>> logits_;
};

}  // namespace attn
