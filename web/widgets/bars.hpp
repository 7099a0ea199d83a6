// A list of named numbers as bars.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "widgets/heatmap.hpp"

namespace attn::ui {

struct Bar {
    std::string name;
    float value = 0;
    std::string number;  // as it is written beside the bar
    bool lit = false;
    bool quiet = false;  // counts less: drawn dim
};

// One line a bar, each as long as its share of `most`, in the scale's colours; advances the cursor. The bar under the
// mouse. Landmarks "<name>/<place in the list>".
std::optional<Index> bar_list(const std::string& name, float width, std::span<const Bar> bars, float most,
                              const ColourScale& scale);
float bar_list_height(Index bars);

}  // namespace attn::ui
