#include "model/positions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace attn {

double sinusoid(Index position, Index component, Index width) {
    const Index even = component - component % 2;
    const double angle = static_cast<double>(position) *
                         std::pow(10'000.0, -static_cast<double>(even) / static_cast<double>(width));
    return component == even ? std::sin(angle) : std::cos(angle);
}

std::vector<double> alibi_slopes(Index heads) {
    const auto power = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(heads)));
    std::vector<double> slopes;
    for (Index head = 0; head < heads; ++head) {
        // Beyond the power, heads take the slopes 0, 2, 4, … of the next power.
        const Index of = head < power ? power : 2 * power,
                    place = head < power ? head + 1 : 2 * (head - power) + 1;
        slopes.push_back(std::exp2(-8 * static_cast<double>(place) / static_cast<double>(of)));
    }
    return slopes;
}

Index relative_bucket(const RelativeBuckets& buckets, Index query, Index key) {
    const Index count = buckets.both_ways ? buckets.count / 2 : buckets.count, exact = count / 2;
    const Index first = buckets.both_ways && key > query ? count : 0;
    const Index distance = buckets.both_ways ? std::abs(query - key) : std::max<Index>(query - key, 0);
    if (distance < exact) return first + distance;
    const auto share = [&](Index to) {
        return std::log(static_cast<double>(to) / static_cast<double>(exact));
    };
    // A distance that begins a bucket does so however its logarithm is rounded.
    constexpr double rounding = 1e-9;
    const double beyond =
        share(distance) / share(buckets.most_distance) * static_cast<double>(count - exact) + rounding;
    return first + std::min(exact + static_cast<Index>(beyond), count - 1);
}

}  // namespace attn
