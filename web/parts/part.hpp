// Declares what the parts of the page share. Parts are pieces of the screen that several lenses use, whatever
// the subject.
#pragma once

#include <optional>

#include "app/looks.hpp"
#include "runs/attention.hpp"
#include "subjects/drawing.hpp"
#include "widgets/controls.hpp"
#include "widgets/heatmap.hpp"

namespace attn::parts {

// These choices belong to the current gesture.
void choose_head(const app::Drawing& drawing, HeadIndex head);
void choose_tokens(const app::Drawing& drawing, std::optional<Index> query, std::optional<Index> key);
void pin(const app::Drawing& drawing, const app::CellRef& cell);

// Returns the query in view: the one under the cursor, otherwise the chosen one, otherwise the last token of
// a text.
std::optional<Index> looked_query(const app::Drawing& drawing, const app::Attention& attention);
std::optional<Index> looked_key(const app::Drawing& drawing);

// Returns a scale from 0 to 1, unless a file's weights exceed that range.
ui::ColourScale weight_scale(const app::Attention& attention, float extent);

}  // namespace attn::parts
