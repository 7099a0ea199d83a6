// What a person may set of a map, beside ui::MapView, which draws it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/session.hpp"
#include "widgets/map_view.hpp"

namespace attn::lenses {

app::MatrixId matrix_of(app::MapStage stage);  // whose explanation a cell of the map opens
const char* map_title(app::MapStage stage);    // of its values

// A line of controls above the map, and a second one for its colours where that is opened; the new choice. Words may be
// chosen where there are some of several tokens.
std::optional<app::MapChoice> map_controls(ui::MapView& view, const app::MapChoice& choice,
                                           std::span<const app::MapStage> stages, bool has_words);

// What the marked rectangle sums up to, in words; empty while there is none or it is being summed up.
std::string marked_part(const ui::MapView& view);
// The same, to those who do not see it, whenever it is another.
void announce_marked(app::Session& session, const ui::MapView& view);

// A line below the map: looks for tokens and positions, goes from one bright cell to the next, zooms, and says what the marked
// rectangle sums up to.
class MapFinder {
  public:
    // The cell that it went to.
    std::optional<ui::MapCell> draw(ui::MapView& view, const ui::MapPicture& picture, float width);

  private:
    struct Place {
        std::optional<Index> query, key;
    };
    void search(const ui::MapPicture& picture);
    std::optional<ui::MapCell> go(ui::MapView& view, const ui::MapPicture& picture, const Place& place) const;
    std::optional<ui::MapCell> next_bright(ui::MapView& view, const ui::MapPicture& picture);

    std::array<char, 64> text_{};
    std::string searched_;
    const void* searched_in_ = nullptr;  // names
    std::vector<Place> found_;
    std::size_t at_ = 0;
    MapPointer bright_of_;
    std::vector<ui::MapCell> bright_;  // the strongest first
    std::size_t next_ = 0;
};

}  // namespace attn::lenses
