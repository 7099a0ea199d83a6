#include "maps/value_scale.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attn {

namespace {

constexpr float decades = 1e4f;

}  // namespace

Quantiles quantiles_of(std::span<const float> values, std::uint64_t serial) {
    std::vector<float> magnitudes;
    magnitudes.reserve(values.size());
    for (const float value : values)
        if (std::isfinite(value)) magnitudes.push_back(std::abs(value));
    std::ranges::sort(magnitudes);
    Quantiles quantiles{serial, {}};
    if (magnitudes.empty()) return quantiles;
    const std::size_t parts = quantiles.values.size() - 1;
    for (std::size_t i = 0; i <= parts; ++i)
        quantiles.values[i] = magnitudes[(i * (magnitudes.size() - 1) + parts / 2) / parts];
    return quantiles;
}

float ValueScale::share(float magnitude) const {
    const auto below = [&] {
        const auto& q = quantiles->values;
        const auto next = std::ranges::upper_bound(q, magnitude);
        if (next == q.begin()) return 0.0f;
        const auto at = static_cast<float>(next - q.begin() - 1);
        const float parts = static_cast<float>(q.size() - 1);
        if (next == q.end()) return 1.0f;
        return (at + (magnitude - next[-1]) / (next[0] - next[-1])) / parts;
    };
    const float of_high = magnitude / high;
    const float share = scaling == Scaling::logarithmic ? std::log1p(of_high * decades) / std::log1p(decades)
                        : scaling == Scaling::rank && quantiles ? below()
                                                                : of_high;
    return std::clamp(share, 0.0f, 1.0f);
}

float ValueScale::magnitude(float share) const {
    if (scaling == Scaling::logarithmic) return high * std::expm1(share * std::log1p(decades)) / decades;
    if (scaling == Scaling::rank && quantiles) {
        const auto& q = quantiles->values;
        const float at = share * static_cast<float>(q.size() - 1);
        const auto below = std::min(static_cast<std::size_t>(at), q.size() - 2);
        return std::lerp(q[below], q[below + 1], at - static_cast<float>(below));
    }
    return share * high;
}

float ValueScale::position(float value) const {
    if (!diverging) return value > 0 ? share(value) : 0;
    return 0.5f + std::copysign(0.5f * share(std::abs(value)), value);
}

float ValueScale::value_at(float position) const {
    if (!diverging) return magnitude(position);
    const float signed_share = 2 * position - 1;
    return std::copysign(magnitude(std::abs(signed_share)), signed_share);
}

float ValueScale::coloured(float value) const {
    if (share(std::abs(value)) < least) return diverging ? 0.5f : 0;
    return position(value);
}

}  // namespace attn
