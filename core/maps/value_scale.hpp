// How the values of a map become places on a colour bar. shaders/heatmap.frag computes the same on the GPU.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace attn {

enum class Scaling {
    linear,
    // Four decades below the end, linear about zero: ln(1 + |v| / c) / ln(1 + high / c) with c = high / 10^4 (Webber 2013,
    // doi 10.1088/0957-0233/24/2/027001).
    logarithmic,
    rank,  // the share of the map's magnitudes that lie below
};

// Magnitudes of a map's cells or blocks in 255 parts of one size, ascending.
struct Quantiles {
    std::uint64_t serial = 0;  // other quantiles have another
    std::array<float, 256> values{};
};
// Of the finite ones among the values; all 0 where there are none.
Quantiles quantiles_of(std::span<const float> values, std::uint64_t serial);

struct ValueScale {
    float high = 1;          // at the end of the bar; > 0
    bool diverging = false;  // the bar goes from −high over 0 in its middle
    Scaling scaling = Scaling::linear;
    const Quantiles* quantiles = nullptr;  // for ranks; linear without them
    float least = 0;                       // 0 … 1: magnitudes whose share lies below are coloured as 0

    float share(float magnitude) const;  // 0 … 1, of what the bar spans from zero to its end
    float magnitude(float share) const;  // that has this share
    float position(float value) const;   // 0 … 1 along the bar
    float value_at(float position) const;
    float coloured(float value) const;  // position, with what `least` takes away
};

}  // namespace attn
