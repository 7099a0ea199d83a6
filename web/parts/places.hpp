// Draws the bookmarks of a map. The part in view can be bookmarked; opening a bookmark also brings back its
// head.
#pragma once

#include "parts/part.hpp"
#include "widgets/map_view.hpp"

namespace attn::parts {

// Draws a line of buttons at the cursor, or several lines if needed. Places are counted in tokens, even if
// the map shows words.
void draw_places(const app::Drawing& drawing, const app::Attention& attention, ui::MapView& map,
                 const app::MapChoice& choice, float width);

}  // namespace attn::parts
