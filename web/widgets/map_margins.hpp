// Draws the sums of rows and columns next to a map of weights or contributions, and rulers of positions. Each
// sum can be hovered over, clicked, and reached without the picture.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "maps/blocks.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

// Names the sum of a row, or of a column.
struct MarginCell {
    bool of_row = true;
    Index at = 0;
    bool operator==(const MarginCell&) const = default;
};
struct MarginTouch {
    std::optional<MarginCell> over;
    bool clicked = false;
};

struct Margins {
    std::string name;  // name of the map
    struct Axis {
        float begin, cell;  // points
        float first;        // index of the cell that begins there
        Range shown;
    };
    Axis queries, keys;
    float right = 0, bottom = 0;  // edges of the map
    std::optional<Index> pointed_query, pointed_key;
    std::optional<MarginCell> pinned{};
    std::span<const std::string> query_names{}, key_names{};  // names of all cells, or none
    bool weights = true;  // rows then show their entropy, because they all sum to 1
};

// Returns the width of the margin to the right of a map and the height of the one below, for this many tokens
// per side.
ImVec2 margins_size(Index tokens);
// `sums` is null while unknown; the rulers are drawn anyway.
MarginTouch draw_margins(const MapSums* sums, const Margins& margins);

}  // namespace attn::ui
