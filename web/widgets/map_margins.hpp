// Beside a map of weights or contributions, what each row and each column amounts to, and rulers of positions.
#pragma once

#include <optional>

#include "maps/blocks.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

struct Margins {
    struct Axis {
        float begin, cell;  // points
        float first;        // index of the cell that begins there
        Range shown;
    };
    Axis queries, keys;
    float right = 0, bottom = 0;  // of the map
    std::optional<Index> pointed_query, pointed_key;
    bool weights = true;  // rows then show their entropy, as they all sum to one
};

// How much room they take to the right of a map and below it, of so many tokens a side.
ImVec2 margins_size(Index tokens);
// Null: not known yet; the rulers stand without them.
void draw_margins(const MapSums* sums, const Margins& margins);

}  // namespace attn::ui
