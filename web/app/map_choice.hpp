// Which map lens Sentence shows of the chosen head, and how.
#pragma once

#include <array>
#include <string_view>

namespace attn::app {

enum class MapStage { raw, scaled, capped, masked, weight, contribution, projected };
inline constexpr std::array<std::string_view, 7> map_keys{"raw",    "scaled",       "capped",   "masked",
                                                          "weight", "contribution", "projected"};  // in links

// How a block of cells is one texel: its strongest cell, so that a single bright one survives, or its mean.
enum class Pooling { strongest, mean };
inline constexpr std::array<std::string_view, 2> pooling_keys{"strongest", "mean"};

struct MapChoice {
    MapStage stage = MapStage::weight;
    Pooling pooling = Pooling::strongest;
    bool operator==(const MapChoice&) const = default;
};

}  // namespace attn::app
