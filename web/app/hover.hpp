// Says what the cursor is over in a frame, anywhere on the page. It is not part of the State, because it
// vanishes with the cursor.
#pragma once

#include <optional>

#include "app/state.hpp"
#include "attention/head_index.hpp"

namespace attn::app {

struct Hover {
    std::optional<CellRef> cell;      // the cell to explain; it belongs to `head`, if that is set
    std::optional<Index> query, key;  // highlighted everywhere
    // The same in the second text, if the subject is compared with one.
    std::optional<Index> second_query, second_key;
    std::optional<HeadIndex> head;  // set if it is not the chosen head
};

}  // namespace attn::app
