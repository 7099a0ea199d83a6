// Draws the chosen head's map, enlarged, with its controls above and the ways to search, bookmark and save
// below.
#pragma once

#include <string>

#include "parts/map_controls.hpp"
#include "parts/part.hpp"
#include "widgets/map_view.hpp"

namespace attn::parts {

class MapPart {
  public:
    // Draws at the cursor, `width` points wide.
    void draw(const app::Drawing& drawing, app::Attention& attention, float width, float most_height);
    // Returns how much of the map is computed, 0 … 1, while there is more to do.
    std::optional<double> progress() const;
    void forget();  // frees the numbers of a closed subject

  private:
    bool follow_view(const app::Drawing& drawing, const Map& map);
    void keep_view(const app::Drawing& drawing, const ui::MapTouch& touch, bool told);
    struct Shown {
        std::uint64_t version = 0;  // of the attention
        HeadIndex head;
        app::MapChoice choice;
    };
    void announce_marked(app::Visit& visit);
    void follow_mark(const app::Drawing& drawing, const Map& map);
    void keep_mark(const app::Drawing& drawing);
    // How many queries the map has in common with the one that was drawn last.
    Index kept_since_last(const app::Attention& attention, HeadIndex head, const app::MapChoice& choice);

    ui::MapView view_;
    MapClicks clicks_;
    Shown last_;
    MapFinder finder_;
    struct InView {
        std::optional<app::MapExtent> of_state;  // what the State names
        bool given = false;                      // whether it is a link's, and not what a person moved to
        bool moving = false;                     // a person moves the map
    } shown_;
    std::optional<app::Window> marked_;  // the part that is marked in the State, as far as it is drawn
    std::pair<Index, Index> size_{};     // of the last map
    std::string announced_;              // the sums announced last
};

}  // namespace attn::parts
