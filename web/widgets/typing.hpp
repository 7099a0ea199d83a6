// A text field that takes the keyboard as soon as it opens. Dear ImGui gives a field its focus only a frame
// or two after it is requested; text typed until then is kept here, so that no letter is lost.
#pragma once

#include <array>
#include <string_view>

namespace attn::ui {

class Typing {
  public:
    // Everything in the field is selected at first, so that typing replaces it.
    explicit Typing(std::string_view text = {});

    // Keeps what was typed in this frame, unless the field already has its focus.
    void gather();
    // Draws the field at the cursor.
    void draw(const char* id, const char* hint = "");

    std::string_view text() const { return text_.data(); }
    bool entered() const { return entered_; }  // with the Enter key
    bool left() const { return left_; }        // because another field took the focus, or with the Escape key

  private:
    std::array<char, 80> text_{};
    bool focus_ = true, active_ = false, entered_ = false, left_ = false;
    bool caret_to_end_ = false;
};

}  // namespace attn::ui
