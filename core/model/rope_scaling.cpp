#include "model/rope_scaling.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {

namespace {

// The pair that turns so many times in a context, as a real number.
double pair_of_rotations(double rotations, Index head_dim, double base, Index context) {
    return static_cast<double>(head_dim) *
           std::log(static_cast<double>(context) / (rotations * 2 * std::numbers::pi)) / (2 * std::log(base));
}

}  // namespace

std::vector<double> rotary_frequencies(Index head_dim, double base, const RopeScaling& scaling) {
    using Kind = RopeScaling::Kind;
    const auto d = static_cast<double>(head_dim);
    // A single pair turns by 1 radian, whatever the base is.
    if (scaling.kind == Kind::ntk && head_dim > 2) base *= std::pow(scaling.factor, d / (d - 2));
    double first = 0, last = 0;  // the pairs that YaRN mixes
    if (scaling.kind == Kind::yarn) {
        const auto at = [&](double rotations) {
            return pair_of_rotations(rotations, head_dim, base, scaling.original_context);
        };
        first = std::max(std::floor(at(scaling.beta_fast)), 0.0);
        last = std::min(std::ceil(at(scaling.beta_slow)), d - 1);
        if (first == last) last += 0.001;
    }
    std::vector<double> frequencies;
    for (Index pair = 0; pair < head_dim / 2; ++pair) {
        const double plain = std::pow(base, -2 * static_cast<double>(pair) / d);
        double kept = 1;  // the share of the original frequency
        switch (scaling.kind) {
            case Kind::none:
            case Kind::ntk: break;
            case Kind::linear: kept = 0; break;
            case Kind::yarn: kept = 1 - (static_cast<double>(pair) - first) / (last - first); break;
            case Kind::llama3: {
                const double rotations =
                    static_cast<double>(scaling.original_context) * plain / (2 * std::numbers::pi);
                kept = (rotations - scaling.low_freq_factor) /
                       (scaling.high_freq_factor - scaling.low_freq_factor);
                break;
            }
            case Kind::longrope: {
                frequencies.push_back(plain / scaling.short_factor[static_cast<std::size_t>(pair)]);
                continue;
            }
        }
        kept = std::clamp(kept, 0.0, 1.0);
        frequencies.push_back(kept * plain + (1 - kept) * plain / scaling.factor);
    }
    return frequencies;
}

std::vector<double> long_rotary_frequencies(Index head_dim, double base, const RopeScaling& scaling) {
    RopeScaling of_long = scaling;
    of_long.short_factor = scaling.long_factor;
    return rotary_frequencies(head_dim, base, of_long);
}

double rotary_magnitude(const RopeScaling& scaling) {
    if (scaling.magnitude) return *scaling.magnitude;
    if (scaling.kind == RopeScaling::Kind::longrope) {
        const auto original = static_cast<double>(scaling.original_context);
        return scaling.factor > 1 ? std::sqrt(1 + std::log(scaling.factor) / std::log(original)) : 1;
    }
    return scaling.kind == RopeScaling::Kind::yarn && scaling.factor > 1 ? 0.1 * std::log(scaling.factor) + 1
                                                                         : 1;
}

}  // namespace attn
