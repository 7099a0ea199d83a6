// A text field that takes the keyboard as soon as it opens. Dear ImGui gives a field its focus only a frame or
// two after it is asked for; what is typed until then is kept here, so that no letter is lost.
#pragma once

#include <imgui.h>

#include <array>
#include <string>
#include <string_view>

namespace attn::ui {

// Says whether a finger points. The bridge sets this once.
inline bool by_touch() { return (ImGui::GetIO().ConfigFlags & ImGuiConfigFlags_IsTouchScreen) != 0; }

// A text field that the page lays over the canvas on a touch screen, since only a real one brings the keyboard.
struct PageField {
    std::string name;     // for screen readers
    std::string text;     // what it holds as long as nobody types
    bool number = false;  // a keyboard of digits suffices; the text counts once it is entered
    ImVec2 min = {}, max = {};

    bool operator==(const PageField& o) const {
        return name == o.name && text == o.text && number == o.number && min.x == o.min.x &&
               min.y == o.min.y && max.x == o.max.x && max.y == o.max.y;
    }
};

class Typing {
  public:
    // Everything in the field is selected at first, so that typing replaces it.
    explicit Typing(std::string_view text = {});

    // Keeps what is typed in this frame, unless the field already has its focus.
    void gather();
    // Draws the field at the cursor.
    void draw(const char* id, const char* hint = "");

    std::string_view text() const { return text_.data(); }
    bool entered() const { return entered_; }  // with the Enter key
    bool left() const { return left_; }        // for another field, or with the Escape key

  private:
    std::array<char, 80> text_{};
    bool focus_ = true, active_ = false, entered_ = false, left_ = false;
    bool caret_to_end_ = false;
};

}  // namespace attn::ui
