// Values as colours: the scale that a map, its bar and its numbers share.
#pragma once

#include <optional>
#include <string_view>

#include "render/heatmap.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

struct ColourScale : ValueScale {
    ImU32 colour(float value) const;  // −inf: masked; NaN stands out
};

// [0, high], or [−extent, extent] when diverging; an extent of 0 becomes 1.
ColourScale sequential_scale(float high);
ColourScale diverging_scale(float extent);

// Sets what the pass needs to know of colours.
void use_scale(render::Heatmap& heatmap, const ColourScale& scale);

inline constexpr float colour_bar_height = 34;
// The bar with its title between the two ends, and the value that is looked at marked on it.
void colour_bar(ImVec2 at, float width, const ColourScale& scale, std::string_view title,
                std::optional<float> marked);

}  // namespace attn::ui
