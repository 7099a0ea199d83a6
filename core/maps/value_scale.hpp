// Places the values of a map on a colour bar. shaders/heatmap.frag computes the same on the GPU.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace attn {

enum class Scaling {
    linear,
    // Spans four decades below the end and is linear about zero: ln(1 + |v| / c) / ln(1 + high / c) with
    // c = high / 10^4 (Webber 2013, doi 10.1088/0957-0233/24/2/027001).
    logarithmic,
    rank,  // the share of the map's magnitudes that are smaller
};

// Divides the magnitudes of a map's cells or blocks into 255 parts of equal size, in ascending order.
struct Quantiles {
    std::uint64_t serial = 0;  // differs from that of other quantiles
    std::array<float, 256> values{};
};
// Takes the finite values only; all quantiles are 0 if there are none.
Quantiles quantiles_of(std::span<const float> values, std::uint64_t serial);

struct ValueScale {
    float high = 1;          // the value at the end of the bar; > 0
    bool diverging = false;  // the bar runs from −high to high, with 0 in its middle
    Scaling scaling = Scaling::linear;
    const Quantiles* quantiles = nullptr;  // for ranks; linear without them
    float least = 0;                       // 0 … 1: magnitudes below this share are coloured as 0

    float share(float magnitude) const;  // 0 … 1, of the bar from zero to its end
    float magnitude(float share) const;  // the inverse of share
    float position(float value) const;   // 0 … 1 along the bar
    float value_at(float position) const;
    float coloured(float value) const;  // position, with values below `least` as 0
};

}  // namespace attn
