// Draws the card around a picture: its title, and the buttons that show it as a table, copy it and save it.
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

// While it lives, whatever fills the room to the right ends at this x on the screen.
class Room {
  public:
    explicit Room(float right);
    ~Room();
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

  private:
    float outer_right_, outer_content_right_;  // the right edges of the surrounding window region
};

// While it lives, what is drawn at the cursor stands in the card, which then advances the cursor:
//
//     const Card card(drawing, {.key = "memory/plane", .title = "The plane", .table = …}, width);
//     draw_plane(card.width());
class Card {
  public:
    struct Text {
        std::string key;    // a part of landmarks ("card/<key>") and of file names
        std::string title;  // empty: no title and no buttons
        std::string notation = {};
        // Makes the picture's table. It owns copies of the numbers, because it is called after this frame,
        // too.
        std::function<app::Table()> table = {};
        bool is_listed = true;  // lists its table on the page; otherwise the lens lists it
    };
    Card(const app::Drawing& drawing, Text text, float width);
    ~Card();
    Card(const Card&) = delete;
    Card& operator=(const Card&) = delete;
    float width() const { return width_within(width_); }  // inner width
    static float width_within(float width);
    // Names the buttons that show the table of a card of this width.
    static std::string way_to_table(float width);

  private:
    void draw_head();
    void draw_actions(ImVec2 at, bool in_one_menu);
    void act(int item);
    static bool has_one_menu(float inner_width);
    bool is_saved_as_picture() const;
    std::string file() const;

    const app::Drawing& drawing_;
    Text text_;
    float width_, padding_;
    ImVec2 at_;
    Room room_;
    ImDrawListSplitter layers_;  // background, and picture
    std::unique_ptr<ui::VectorPicture> svg_;
};

inline constexpr float card_gap = 14;  // between cards

}  // namespace attn::present
