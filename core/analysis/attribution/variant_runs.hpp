// A text that is run again under several sets of interventions, one after the other. What lies before the
// first changed number is shared with the run that they start from.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/forward.hpp"

namespace attn {

// To cancel it, drop it.
class VariantRuns {
  public:
    using Variant = std::vector<Intervention>;  // all interventions of a run
    // Fails if a variant is refused (`resolved`).
    static Result<VariantRuns> start(std::shared_ptr<const Trace> trace, std::vector<Variant> variants,
                                     double slice_operations);

    // Does a slice of a variant. Returns its run if that has just become complete, or null.
    std::shared_ptr<const Trace> step();
    bool done() const { return finished_ == variants_.size(); }
    float progress() const;

  private:
    VariantRuns(std::shared_ptr<const Trace> trace, std::vector<Variant> variants, double slice_operations)
        : trace_(std::move(trace)), variants_(std::move(variants)), slice_operations_(slice_operations) {}

    std::shared_ptr<const Trace> trace_;
    std::vector<Variant> variants_;
    double slice_operations_;
    std::size_t finished_ = 0;
    std::optional<ForwardPass> running_;
};

}  // namespace attn
