#include "analysis/attribution/variant_runs.hpp"

namespace attn {

Result<VariantRuns> VariantRuns::start(std::shared_ptr<const Trace> trace, std::vector<Variant> variants,
                                       double slice_operations) {
    for (const Variant& variant : variants)
        if (Status fits = check_interventions(variant, *trace); !fits) return fits.error();
    return VariantRuns(std::move(trace), std::move(variants), slice_operations);
}

std::shared_ptr<const Trace> VariantRuns::step() {
    if (done()) return nullptr;
    if (!running_) {
        auto begun = ForwardPass::start_with(variants_[finished_], trace_, slice_operations_);
        // It was checked that it starts.
        if (begun)
            running_ = *std::move(begun);
        else
            variants_.resize(finished_);
        return nullptr;
    }
    if (running_->step()) return nullptr;
    const auto run = running_->finish();
    running_.reset();
    ++finished_;
    return *run;
}

float VariantRuns::progress() const {
    if (variants_.empty()) return 1;
    const float running = running_ ? running_->progress() : 0;
    return (static_cast<float>(finished_) + running) / static_cast<float>(variants_.size());
}

}  // namespace attn
