// Draws the map of one head of a run, beside those of others. A click chooses the head, the query and the
// key.
#pragma once

#include "parts/part.hpp"
#include "widgets/map_view.hpp"

namespace attn::parts {

class HeadMap {
  public:
    // `run` has the head's queries and keys; the name is a landmark.
    void draw(const app::Drawing& drawing, app::Attention& run, HeadIndex head, const char* name, float width,
              float height);

  private:
    ui::MapView view_;
    MapClicks clicks_;
};

}  // namespace attn::parts
