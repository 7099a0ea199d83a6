// Draws the chosen head's map, enlarged, with its controls above and the ways to search, bookmark and save
// below.
#pragma once

#include <string>

#include "parts/map_controls.hpp"
#include "parts/part.hpp"
#include "parts/unit_controls.hpp"
#include "widgets/map_view.hpp"

namespace attn::parts {

class MapPart {
  public:
    // Draws at the cursor, `width` points wide.
    void draw(const app::Drawing& drawing, app::Attention& attention, float width, float most_height);
    // Returns the computed fraction of the map, 0 … 1, while there is more to do.
    std::optional<double> progress() const;
    void forget();  // frees the numbers of a closed subject

  private:
    bool follow_view(const app::Drawing& drawing, const Map& map);
    void keep_view(const app::Drawing& drawing, const ui::MapTouch& touch, bool told);
    struct Shown {
        std::uint64_t version = 0;  // version of the attention
        HeadIndex head;
        app::MapChoice choice;
    };
    void announce_marked(app::Visit& visit);
    void follow_mark(const app::Drawing& drawing, const Map& map);
    void keep_mark(const app::Drawing& drawing);
    // Counts the queries that the map shares with the map drawn last.
    Index kept_since_last(const app::Attention& attention, HeadIndex head, const app::MapChoice& choice);

    ui::MapView view_;
    MapClicks clicks_;
    Shown last_;
    MapFinder finder_;
    UnitControls units_;
    struct InView {
        std::optional<app::MapExtent> of_state;  // the view that the State names
        bool given = false;                      // comes from a link, not from the user's hand
        bool moving = false;                     // the user is moving the map
    } shown_;
    std::optional<app::Window> marked_;  // the State's marked part, as far as it is drawn
    std::pair<Index, Index> size_{};     // size of the last map
    std::string announced_;              // the sums announced last
};

}  // namespace attn::parts
