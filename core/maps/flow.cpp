#include "maps/flow.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/workers.hpp"

namespace attn {

namespace {

constexpr Index cells_a_task = Index{1} << 16;

bool heavier(const FlowEdge& a, const FlowEdge& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.key < b.key;
}

// Appends the edges of a row and returns their share of it.
float add_row(Index query, std::span<const float> cells, const FlowLimits& limits,
              std::vector<FlowEdge>& edges) {
    const std::size_t first = edges.size();
    const auto begin = [&] { return edges.begin() + static_cast<std::ptrdiff_t>(first); };
    double sum = 0;
    for (std::size_t k = 0; k < cells.size(); ++k) {
        const float weight = cells[k];
        if (!(weight > 0) || std::isinf(weight)) continue;
        sum += static_cast<double>(weight);
        edges.push_back({static_cast<std::uint32_t>(query), static_cast<std::uint32_t>(k), weight, 0});
    }
    if (std::ssize(edges) - static_cast<Index>(first) > limits.most) {
        std::nth_element(begin(), begin() + limits.most, edges.end(), heavier);
        edges.resize(first + static_cast<std::size_t>(limits.most));
    }
    std::sort(begin(), edges.end(), heavier);
    double mass = 0;
    std::size_t count = first;
    for (; count < edges.size() && (limits.mass >= 1 || mass < limits.mass * sum); ++count) {
        edges[count].before = static_cast<float>(mass / sum);
        mass += static_cast<double>(edges[count].weight);
    }
    edges.resize(count);
    std::reverse(begin(), edges.end());
    return sum > 0 ? static_cast<float>(mass / sum) : 1;
}

}  // namespace

std::vector<FlowEdge> flow_row(const Map& map, Index query, FlowLimits limits) {
    std::vector<FlowEdge> edges;
    add_row(query, cells_of(map, {{query, query + 1}, {0, map.keys()}}), limits, edges);
    return edges;
}

std::span<const FlowEdge> making_up(std::span<const FlowEdge> row, float mass) {
    const auto first = std::ranges::partition_point(
        row, [&](const FlowEdge& edge) { return edge.before >= before_limit(mass); });
    return row.subspan(static_cast<std::size_t>(first - row.begin()));
}

FlowLimits Flow::usual_limits(Index queries, Index keys) {
    const Index share = std::max(most_edges / std::max(queries, Index{1}), Index{1});
    return share >= keys ? FlowLimits{} : FlowLimits{0.99, share};
}

Flow::Flow(MapPointer map) : Flow(map, usual_limits(map->queries(), map->keys())) {}

Flow::Flow(MapPointer map, FlowLimits limits) : map_(std::move(map)), limits_(limits) {
    const Index keys = std::min(limits_.most, map_->keys());
    edges_.reserve(static_cast<std::size_t>(std::min(keys * map_->queries(), most_edges)));
}

void Flow::take_over(const Flow& before, Index kept) {
    if (before.limits_.mass != limits_.mass) return;
    // A row with fewer edges than there may be was cut by its mass alone.
    const Index most = std::min(before.limits_.most, limits_.most),
                end = std::min({kept, before.rows_, map_->queries()});
    const auto whole = [&](Index row) { return std::ssize(before.edges({row, row + 1})) < most; };
    while (rows_ < end && whole(rows_)) ++rows_;
    const auto edges = before.edges({0, rows_});
    edges_.assign(edges.begin(), edges.end());
    ends_.assign(before.ends_.begin(), before.ends_.begin() + rows_);
    kept_.assign(before.kept_.begin(), before.kept_.begin() + rows_);
}

bool Flow::step() {
    if (done()) return false;
    struct Part {
        Range rows;
        std::vector<FlowEdge> edges;
        std::vector<std::size_t> counts;
        std::vector<float> kept;
    };
    const Index height = std::max(cells_a_task / std::max(map_->keys(), Index{1}), Index{1});
    std::vector<Part> parts;
    for (Index row = rows_; row < map_->queries() && std::ssize(parts) < thread_count(); row += height)
        parts.push_back({{row, std::min(row + height, map_->queries())}, {}, {}, {}});
    for_each_task(std::ssize(parts), [&](Index i) {
        Part& part = parts[static_cast<std::size_t>(i)];
        const auto keys = static_cast<std::size_t>(map_->keys());
        const std::vector<float> cells = cells_of(*map_, {part.rows, {0, map_->keys()}});
        for (Index row = part.rows.begin; row < part.rows.end; ++row) {
            const std::span all(cells);
            part.kept.push_back(
                add_row(row, all.subspan(static_cast<std::size_t>(row - part.rows.begin) * keys, keys),
                        limits_, part.edges));
            part.counts.push_back(part.edges.size());
        }
    });
    for (const Part& part : parts) {
        for (const std::size_t count : part.counts) ends_.push_back(edges_.size() + count);
        edges_.insert(edges_.end(), part.edges.begin(), part.edges.end());
        kept_.insert(kept_.end(), part.kept.begin(), part.kept.end());
        rows_ = part.rows.end;
    }
    return !done();
}

double Flow::progress() const {
    return done() ? 1 : static_cast<double>(rows_) / static_cast<double>(map_->queries());
}

std::span<const FlowEdge> Flow::edges(Range queries) const {
    const Index end = std::min(queries.end, rows_), begin = std::min(queries.begin, end);
    const auto at = [&](Index query) { return query == 0 ? 0 : ends_[static_cast<std::size_t>(query) - 1]; };
    return std::span(edges_).subspan(at(begin), at(end) - at(begin));
}

std::size_t Flow::bytes() const {
    return edges_.capacity() * sizeof(FlowEdge) + ends_.capacity() * sizeof(std::size_t) +
           kept_.capacity() * sizeof(float);
}

}  // namespace attn
