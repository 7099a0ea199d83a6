// Shows values as colours. A map, its colour bar and its numbers share one scale.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "app/format.hpp"
#include "render/heatmap.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

struct ColourScale : ValueScale {
    ImU32 colour(float value) const;  // −inf is masked; NaN stands out
};

// The scales are [0, high] and, if diverging, [−extent, extent]; an extent of 0 becomes 1.
ColourScale sequential_scale(float high);
ColourScale diverging_scale(float extent);

// Sets the colours of the render pass.
void use_scale(render::Heatmap& heatmap, const ColourScale& scale);

// Draws them by the render pass, or as rectangles if a VectorPicture records the list.
void draw_heatmaps(ImDrawList* list, std::span<const render::Heatmap> heatmaps);

inline constexpr float colour_bar_height = 34;
// Draws the bar with its title between the two ends, and marks the value under the cursor.
// Returns how the numbers of a scale are written: `usual_decimals`, or more if the numbers are small.
app::Digits digits_of(const ColourScale& scale, int usual_decimals);
void colour_bar(ImVec2 at, float width, const ColourScale& scale, std::string_view title, int decimals,
                std::optional<float> marked);

}  // namespace attn::ui
