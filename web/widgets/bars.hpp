// Draws a list of named numbers as bars.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "widgets/heatmap.hpp"

namespace attn::ui {

struct Bar {
    std::string name;
    float value = 0;
    std::string number;  // written next to the bar
    bool lit = false;
    bool quiet = false;  // less important, so drawn dim
};

// Draws one line per bar, its length in proportion to `most`, in the scale's colours, and advances the
// cursor. On a diverging scale, bars begin in the middle, and negative ones extend to the left. Returns the
// bar under the mouse. Landmarks are "<name>/<place in the list>". Names longer than `most_name` are cut off.
std::optional<Index> bar_list(const std::string& name, const std::string& title, float width,
                              std::span<const Bar> bars, float most, const ColourScale& scale,
                              float most_name = 72);
float bar_list_height(Index bars);
// Shows a tooltip for this bar of the list drawn last.
void bar_tooltip(Index bar, const char* text);

}  // namespace attn::ui
