// Draws the controls of a map, next to ui::MapView, which draws the map itself.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/looks.hpp"
#include "widgets/map_view.hpp"

namespace attn::parts {

// Draws a line of controls above the map and, if opened, a second line for its colours. Returns the new
// choice.
std::optional<app::MapChoice> map_controls(ui::MapView& view, const app::MapChoice& choice,
                                           std::span<const Stage> stages);

// Describes the sums of the marked rectangle in words; empty if there is none, or while the sums are
// computed.
std::string marked_part(const ui::MapView& view);
// Draws a line below the map that searches for tokens and positions, jumps from one bright cell to the next,
// zooms, and gives the sums of the marked rectangle.
class MapFinder {
  public:
    struct Touch {
        std::optional<ui::MapCell> gone;               // the cell that it jumped to
        bool over_sums = false, sums_clicked = false;  // the sums of the marked rectangle
    };
    Touch draw(ui::MapView& view, const ui::MapPicture& picture, float width);

  private:
    static void draw_sums(ui::MapView& view, Touch& touch);
    struct Place {
        std::optional<Index> query, key;
    };
    void search(const ui::MapPicture& picture);
    std::optional<ui::MapCell> go(ui::MapView& view, const ui::MapPicture& picture, const Place& place) const;
    std::optional<ui::MapCell> next_bright(ui::MapView& view, const ui::MapPicture& picture);

    std::array<char, 64> text_{};
    std::string searched_;
    const void* searched_in_ = nullptr;  // names it searched in
    std::vector<Place> found_;
    std::size_t at_ = 0;
    MapPointer bright_of_;
    std::vector<ui::MapCell> bright_;  // strongest first
    std::size_t next_ = 0;
};

}  // namespace attn::parts
