#include "analysis/attribution/logits_under.hpp"

namespace attn {

Result<LogitsUnder> LogitsUnder::start(std::shared_ptr<const Trace> trace, Index row,
                                       std::vector<Variant> variants, double slice_operations) {
    auto runs = VariantRuns::start(std::move(trace), std::move(variants), slice_operations);
    if (!runs) return runs.error();
    return LogitsUnder(row, *std::move(runs));
}

bool LogitsUnder::step() {
    if (const auto run = runs_.step()) {
        const Tensor logits = run->logits({row_, row_ + 1});
        logits_.emplace_back(logits.values().begin(), logits.values().end());
    }
    return !done();
}

}  // namespace attn
