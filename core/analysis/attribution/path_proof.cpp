#include "analysis/attribution/path_proof.hpp"

#include <algorithm>
#include <utility>

namespace attn {

namespace {

constexpr Index size_count = 12;

}  // namespace

PathProof::PathProof(std::shared_ptr<const PathGraph> graph)
    : graph_(std::move(graph)), sizes_(path_sizes(*graph_, size_count)) {
    if (sizes_.empty()) sizes_ = {1};
    auto held = PathBase::start(graph_, {.is_live = false});
    curves_.front().emplace(std::make_shared<PathBase>(*std::move(held)));
}

Status PathProof::replace_rest(const PathReplacement& replacement) {
    auto started = PathBase::start(graph_, replacement);
    if (!started) return started.error();
    const auto base = std::make_shared<PathBase>(*std::move(started));
    curves_[1].emplace(base);
    curves_[2].emplace(base, random_graphs);
    return ok();
}

bool PathProof::step(double share) {
    const auto [count, is_known] = curves_.front()->reach(share, sizes_);
    if (!is_known) {
        curves_.front()->step(count);
        return true;
    }
    taken_ = count;
    // Random graphs of most edges take long and are near the whole.
    const Index most_random = std::max<Index>(taken_, std::ssize(graph_->edges()) / 4);
    const auto measures = [&](Index size) {
        return std::ranges::any_of(curves_, [&](std::optional<PathCurve>& curve) {
            return curve && (size <= most_random || &curve != &curves_.back()) && curve->step(size);
        });
    };
    return measures(taken_) || std::ranges::any_of(sizes_, measures);
}

std::span<const PathCurve::Point> PathProof::points(PathMeasure measure) const {
    return curve(measure) ? curve(measure)->points() : std::span<const PathCurve::Point>();
}

const PathCurve::Point* PathProof::at(PathMeasure measure, Index count) const {
    return curve(measure) ? curve(measure)->at(count) : nullptr;
}

}  // namespace attn
