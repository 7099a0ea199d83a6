// Declares what the parts of the page share. Parts are pieces of the screen that several lenses use, whatever
// the subject.
#pragma once

#include <optional>

#include "app/drawing.hpp"
#include "app/looks.hpp"
#include "runs/attention.hpp"
#include "subjects/subject.hpp"
#include "widgets/controls.hpp"
#include "widgets/heatmap.hpp"
#include "widgets/map_view.hpp"

namespace attn::parts {

// These choices belong to the current gesture.
void choose_head(const app::Drawing& drawing, HeadIndex head);
void choose_tokens(const app::Drawing& drawing, std::optional<Index> query, std::optional<Index> key);

// Answers clicks on a map. A click pins and chooses at once; if it turns out to begin a double click, it is
// undone.
class MapClicks {
  public:
    void answer(const app::Drawing& drawing, const ui::MapTouch& touch, auto click) {
        if (touch.double_clicked) take_back(drawing);
        if (!touch.clicked) return;
        before_ = {drawing.state().pin, selection_of(drawing)};
        click();
    }

  private:
    void take_back(const app::Drawing& drawing);

    struct Before {
        std::optional<app::CellRef> pin;
        app::Selection selection;
    };
    std::optional<Before> before_;  // the last click
};

// Returns the query in view: the hovered one, otherwise the chosen one, otherwise the predicted token of a
// text.
std::optional<Index> looked_query(const app::Drawing& drawing, const app::Attention& attention);
std::optional<Index> looked_key(const app::Drawing& drawing);

// Returns a scale from 0 to 1, unless a file's weights exceed that range.
ui::ColourScale weight_scale(const app::Attention& attention, float extent);

}  // namespace attn::parts
