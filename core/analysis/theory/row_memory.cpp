#include "analysis/theory/row_memory.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attn {

namespace {

constexpr Index at_once = Index{1} << 19;  // multiplications of a path that are not worth waiting for
constexpr Index first_steps = 6, most_ranked = 256;

}  // namespace

Result<RowMemory> RowMemory::of_query(const Record& record, Index head, Index query) {
    auto seen = patterns_seen(record, head, query);
    if (!seen) return seen.error();
    auto vector = query_state(record, head, query);
    if (!vector) return vector.error();
    return RowMemory(std::make_shared<const HopfieldPatterns>(*std::move(seen)), *std::move(vector));
}

// With 16,384 keys this takes milliseconds, so with many keys it is a step of the work.
void RowMemory::find_plane() {
    plane = place_patterns(
        *patterns, kind_ == Plane::spread ? principal.plane() : plane_of_query(*patterns, query), query);
    basins.reset();
}

void RowMemory::follow(std::optional<double> beta, Plane kind,
                       const std::optional<std::array<double, 2>>& start) {
    if (kind_ != kind) {
        kind_ = kind;
        plane.reset();
        basins.reset();
    }
    const Index look = look_cost(patterns->count(), patterns->components);
    if (plane_is_due() && look <= at_once) find_plane();
    if (!beta || (start && !plane)) path.reset();
    if (!beta) return basins.reset();
    if (!start || plane) {
        std::vector<double> from = start ? plane->plane.point_at(*start) : query;
        if (!path || path->beta() != *beta || path->points().front().state != from) {
            path.emplace(patterns, *beta, std::move(from));
            for (Index left = at_once; left >= look && path->step();) left -= look;
        }
    }
    if (plane && (!basins || basins_beta_ != beta)) {
        basins_beta_ = beta;
        basins.emplace(patterns, *beta, plane->plane, plane->box);
    }
}

bool RowMemory::pending() const {
    return (path && !path->done()) || !principal.done() || plane_is_due() || (basins && !basins->done());
}

void RowMemory::step() {
    if (path && !path->done())
        path->step();
    else if (!principal.done())
        principal.step();
    else if (plane_is_due())
        find_plane();
    else if (basins && !basins->done())
        basins->step();
}

std::vector<Index> RowMemory::some_steps() const {
    std::vector<Index> steps(static_cast<std::size_t>(std::min(path->steps(), first_steps) + 1));
    std::iota(steps.begin(), steps.end(), Index{0});
    if (path->steps() > first_steps) steps.push_back(path->steps());
    return steps;
}

std::vector<Index> RowMemory::heaviest() const {
    std::vector<double> largest(static_cast<std::size_t>(patterns->count()), 0);
    for (const Index t : some_steps()) {
        const auto& weights = path->points()[static_cast<std::size_t>(t)].weights;
        for (std::size_t j = 0; j < weights.size(); ++j) largest[j] = std::max(largest[j], weights[j]);
    }
    std::vector<Index> ranked(largest.size());
    std::iota(ranked.begin(), ranked.end(), Index{0});
    const auto middle = ranked.begin() + std::min(patterns->count(), most_ranked);
    std::ranges::partial_sort(ranked, middle, {},
                              [&](Index j) { return std::pair(-largest[static_cast<std::size_t>(j)], j); });
    ranked.erase(middle, ranked.end());
    return ranked;
}

double RowMemory::off_attention(const Record& record, Index head, Index row) const {
    const auto& weights = path->steps() > 0 ? path->points()[1].weights : path->weights();
    const std::vector<float> own = record.weights(head, row);
    double off = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
        const auto key = static_cast<std::size_t>(patterns->keys[j]);
        off = std::max(off, std::abs(weights[j] - static_cast<double>(own[key])));
    }
    return off;
}

}  // namespace attn
