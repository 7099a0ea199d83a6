// Which map is shown of a head, and how.
#pragma once

#include <array>
#include <string_view>

#include "maps/value_scale.hpp"

namespace attn::app {

enum class MapStage { raw, scaled, capped, masked, weight, contribution, projected };
inline constexpr std::array<std::string_view, 7> map_keys{"raw",    "scaled",       "capped",   "masked",
                                                          "weight", "contribution", "projected"};  // in links

// How a block of cells is one texel: its strongest cell, so that a single bright one survives, or its mean.
enum class Pooling { strongest, mean };
inline constexpr std::array<std::string_view, 2> pooling_keys{"strongest", "mean"};

inline constexpr std::array<std::string_view, 3> scaling_keys{"linear", "log", "rank"};

// The first key: as it is, left out, or left out and the others made to sum to one again. Of weights and contributions.
enum class Sink { shown, hidden, renormalised };
inline constexpr std::array<std::string_view, 3> sink_keys{"sink", "nosink", "renormalised"};

// What a row and a column of it are. Words are the tokens that a text has between spaces, merged: maps/merged.hpp.
enum class Unit { tokens, words };
inline constexpr std::array<std::string_view, 2> unit_keys{"tokens", "words"};

struct MapChoice {
    MapStage stage = MapStage::weight;
    Pooling pooling = Pooling::strongest;
    Scaling scaling = Scaling::linear;
    Sink sink = Sink::shown;
    float least = 0;           // 0 … 1 of the colour bar: weaker cells are coloured as zero
    Unit unit = Unit::tokens;  // of weights; other stages have tokens alone
    bool operator==(const MapChoice&) const = default;
};

constexpr bool is_signed(MapStage stage) { return stage < MapStage::weight; }

}  // namespace attn::app
