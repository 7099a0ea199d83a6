// Says what the cursor is over in a frame, anywhere on the page. It is not part of the State, because it
// vanishes with the cursor.
#pragma once

#include <optional>

#include "app/state.hpp"
#include "attention/head_index.hpp"

namespace attn::app {

struct Hover {
    std::optional<CellRef> cell;                    // whose explanation is shown; of `head`, if there is one
    std::optional<Index> query, key;                // highlighted everywhere
    std::optional<Index> second_query, second_key;  // the same in what the subject is compared with
    std::optional<HeadIndex> head;                  // if it is not the chosen head
};

}  // namespace attn::app
