// Writes the contents of a draw list as SVG: shapes as polygons, and texts as text.
#pragma once

#include <imgui.h>

#include <string>
#include <string_view>
#include <vector>

#include "widgets/theme.hpp"

namespace attn::ui {

// Follows one draw list from its construction on. Meanwhile the window clips nothing, so that parts out of
// view are in the picture, and edges are not anti-aliased, because viewers of the file do that.
class VectorPicture {
  public:
    explicit VectorPicture(ImDrawList* list);
    ~VectorPicture();
    VectorPicture(const VectorPicture&) = delete;
    VectorPicture& operator=(const VectorPicture&) = delete;

    // Returns everything drawn within this rectangle of the screen.
    std::string finish(ImVec2 min, ImVec2 max, const std::string& title);

    // Returns the picture that follows this list, or null. Functions that draw text report it there.
    static VectorPicture* of(const ImDrawList* list);
    void text(ImVec2 at, ImU32 colour, std::string_view text);
    void rotate_last_text(ImVec2 at, float radians);  // `at`: where its baseline begins

  private:
    struct Text {
        int before;  // drawn before the index with this number
        ImVec2 at;   // where its baseline begins
        float width, size, radians;
        ImU32 colour;
        Face face;
        std::string text;
    };
    ImDrawList* list_;
    ImDrawListFlags flags_;
    int first_index_;
    std::vector<Text> texts_;
};

}  // namespace attn::ui
