// Defines the settings of lens Scale.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "app/fields.hpp"

namespace attn::app {

inline constexpr Index scale_components_limit = 4096, scale_least_keys = 2, scale_most_keys = 64;
inline constexpr double scale_least_own = 1e-4, scale_most_own = 10;

enum class ScaleVectors { normal, head };
enum class ScaleRow { seeded, hundred, two, ninety };  // seeded q and k, or scores that a tutorial prints

struct ScaleState {
    ScaleVectors vectors = ScaleVectors::normal;
    Index components = 64;  // d; limited by the head's own
    std::uint32_t seed = 1;
    ScaleRow row = ScaleRow::seeded;
    Index keys = 8;     // in a seeded row
    double own = 0.25;  // the scale of the fourth rule
    bool operator==(const ScaleState&) const = default;
    static const Fields<ScaleState>& fields();
};
using SetScale = Set<ScaleState>;

LinkRows scale_links();

// A row of scores in a tutorial, with its printed weights.
struct PrintedRow {
    std::string_view key, scores_text, tutorial;
    std::span<const double> scores;
    std::span<const std::string_view> weights;
};
const PrintedRow* printed_row(ScaleRow row);  // null: seeded

struct ScalePreset {
    const char* title;
    ScaleState (*from)(ScaleState now);
};
std::span<const ScalePreset> scale_presets();

}  // namespace attn::app
