// Bookmarks of a map: the part that is in view can be kept, and those that were kept come back with their head.
#pragma once

#include <functional>
#include <vector>

#include "app/state.hpp"
#include "app/word_axis.hpp"
#include "widgets/map_view.hpp"

namespace attn::lenses {

// Places count in tokens, whatever the map shows of them.
struct PlacesPart {
    ui::MapView& map;
    HeadIndex head;               // that the map shows
    Index layers = 0, heads = 0;  // that there are
    Index queries = 0, keys = 0;
    const app::ShownAxis &query_axis, &key_axis;
    const std::vector<app::Bookmark>& kept;
    std::function<void(const app::Bookmark&)> keep;
    std::function<void(std::size_t)> remove;
    std::function<void(HeadIndex)> select_head;
};

// A line of buttons at the cursor, and more where they need them.
void draw_places(const PlacesPart& part, float width);

}  // namespace attn::lenses
