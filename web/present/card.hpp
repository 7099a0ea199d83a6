// Draws the card around a picture: its title, and what shows it as a table, copies and saves it.
#pragma once

#include <imgui.h>

#include <functional>
#include <memory>
#include <string>

#include "app/drawing.hpp"
#include "app/table.hpp"

namespace attn::ui {
class VectorPicture;
}

namespace attn::present {

// While it lives, what fills the room to the right ends at this place of the screen.
class Room {
  public:
    explicit Room(float right);
    ~Room();
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

  private:
    float outer_right_, outer_content_right_;  // of the window's region around it
};

// While it lives, what is drawn at the cursor stands in the card, which then advances the cursor:
//
//     const Card card(drawing, {.key = "memory/plane", .title = "The plane", .table = …}, width);
//     draw_plane(card.width());
class Card {
  public:
    struct Text {
        std::string key;    // a part of landmarks ("card/<key>") and of files' names
        std::string title;  // empty: has neither a title nor what acts on a picture
        std::string notation = {};
        // Makes the table of the picture, from copies of what it shows: it is called after this frame, too.
        std::function<app::Table()> table = {};
        bool is_vector = true;  // an SVG can hold it; false: the GPU draws it
        bool is_listed = true;  // among the tables of the page; otherwise the lens lists it
    };
    Card(const app::Drawing& drawing, Text text, float width);
    ~Card();
    Card(const Card&) = delete;
    Card& operator=(const Card&) = delete;
    float width() const { return width_within(width_); }  // of what is drawn in it
    static float width_within(float width);

  private:
    void draw_head();
    void draw_actions(ImVec2 at, bool in_one_menu);
    void act(int item);
    bool is_saved_as_picture() const;
    std::string file() const;

    const app::Drawing& drawing_;
    Text text_;
    float width_, padding_;
    ImVec2 at_;
    Room room_;
    ImDrawListSplitter layers_;  // what is behind, and the picture
    std::unique_ptr<ui::VectorPicture> svg_;
    bool svg_wanted_ = false;
};

inline constexpr float card_gap = 14;  // between cards

}  // namespace attn::present
