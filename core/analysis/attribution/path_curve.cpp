#include "analysis/attribution/path_curve.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attn {

namespace {

constexpr Index finest_share = 100;

}  // namespace

const PathCurve::Point* PathCurve::at(Index count) const {
    const auto found = std::ranges::lower_bound(points_, count, {}, &Point::count);
    return found != points_.end() && found->count == count ? &*found : nullptr;
}

void PathCurve::start_run() {
    PathSubgraph graph = strongest_subgraph(base_->graph(), next_.count);
    if (random_graphs_ > 0)
        graph = random_subgraph(base_->graph(), std::ssize(graph.edges), next_.random.size() + 1);
    next_.edges = std::max(next_.edges, std::ssize(graph.edges));
    run_.emplace(base_, graph);
}

void PathCurve::take_value() {
    next_.value = run_->value();
    run_.reset();
    if (random_graphs_ > 0) {
        next_.random.push_back(next_.value);
        if (next_.random.size() < random_graphs_) return;
        next_.value = std::accumulate(next_.random.begin(), next_.random.end(), 0.0) /
                      static_cast<double>(next_.random.size());
    }
    points_.insert(std::ranges::lower_bound(points_, next_.count, {}, &Point::count), next_);
    next_ = {};
}

bool PathCurve::step(Index count) {
    if (at(count)) return false;
    if (base_->step()) return true;
    if (next_.count != count) {
        next_ = {.count = count};
        run_.reset();
    }
    if (!run_) start_run();
    if (!run_->step()) take_value();
    return !at(count);
}

PathCurve::Reach PathCurve::reach(double share, std::span<const Index> sizes) const {
    const auto keeps = [&](const Point& point) { return kept_share(graph(), point.value) >= share; };
    Index below = 0, above = 0;
    for (const Index size : sizes) {
        const Point* point = at(size);
        if (!point) return {size, false};
        above = size;
        if (keeps(*point)) break;
        below = size;
    }
    while (above - below > std::max<Index>(above / finest_share, 1)) {
        const Index between = (below + above) / 2;
        const Point* point = at(between);
        if (!point) return {between, false};
        (keeps(*point) ? above : below) = between;
    }
    return {above, true};
}

double PathCurve::share_within(double edges) const {
    double before = 1, share = 0;
    for (const Point& point : points_) {
        const auto count = static_cast<double>(point.count);
        const double reached = std::clamp(kept_share(graph(), point.value), share, 1.0);
        if (count >= edges && count > before)
            return share + (reached - share) * std::log(edges / before) / std::log(count / before);
        share = reached;
        before = count;
    }
    return share;
}

double kept_share(const PathGraph& graph, double value) {
    const double constant = graph.constant(graph.layout().target());
    return (value - constant) / (graph.value() - constant);
}

}  // namespace attn
