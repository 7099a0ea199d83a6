// Writes the contents of draw lists as SVG: shapes as polygons, and texts as text.
#pragma once

#include <imgui.h>

#include <string>
#include <string_view>
#include <vector>

#include "widgets/theme.hpp"

namespace attn::ui {

// Follows a window's draw list from its construction on, and those of windows within it. Meanwhile the
// window clips nothing, so that parts out of view are in the picture, and edges are not anti-aliased, because
// viewers of the file do that.
class VectorPicture {
  public:
    explicit VectorPicture(ImDrawList* list);
    ~VectorPicture();
    VectorPicture(const VectorPicture&) = delete;
    VectorPicture& operator=(const VectorPicture&) = delete;

    // Returns everything drawn within this rectangle of the screen.
    std::string finish(ImVec2 min, ImVec2 max, const std::string& title);

    // Returns the picture that follows this list, the current window's, or null. Functions that draw text
    // report it there.
    static VectorPicture* of(const ImDrawList* list);
    void text(const ImDrawList* list, ImVec2 at, ImU32 colour, std::string_view text);
    void rotate_last_text(ImVec2 at, float radians);  // `at`: where its baseline begins

  private:
    struct Text {
        const ImDrawList* list;
        int before;  // drawn before the index with this number
        ImVec2 at;   // where its baseline begins
        float width, size, radians;
        ImU32 colour;
        Face face;
        std::string text;
    };
    struct Followed {
        ImDrawList* list;
        int first_index;
    };
    bool follows(const ImDrawList* list);

    ImDrawList* list_;
    ImDrawListFlags flags_;
    std::vector<Followed> lists_;
    std::vector<Text> texts_;
};

}  // namespace attn::ui
