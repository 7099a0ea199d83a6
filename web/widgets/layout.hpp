// Defines in one place at which widths the layout changes and how wide controls are, in points.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace attn::ui {

// Like std::clamp, but if a picture without room makes the bounds cross, the upper bound wins.
inline float bounded(float value, float low, float high) { return std::min(std::max(value, low), high); }

// In a window at least this wide, the rail, the lens and the inspector are side by side; a narrower one gets
// the phone's layout.
inline constexpr float wide_window = 820;
// A window lower than this, such as a phone held sideways, also gets the phone's layout, with everything
// above its lens in one row.
inline constexpr float low_window = 440, least_low_width = 520;
inline bool low_window_now() {
    const ImVec2 size = ImGui::GetMainViewport()->Size;
    return size.y < low_window && size.x >= least_low_width;
}
inline bool narrow_window() { return ImGui::GetMainViewport()->Size.x < wide_window || low_window_now(); }
// In a lens at least this wide, the parts are in two columns, the curves are next to the maps, and the
// settings are open.
inline constexpr float two_columns = 680, two_unequal_columns = 740, settings_open = 640;
// At this width or more, two maps are side by side.
inline constexpr float two_maps = 440;
inline constexpr float column_gap = 32;
inline constexpr ImVec2 popup_padding{10, 8};
inline constexpr float reading_width = 620;  // longest line of text

// Returns the padding of smaller controls. Where fingers press them, no control is smaller.
inline ImVec2 compact(ImVec2 padding) {
    const bool touch = (ImGui::GetIO().ConfigFlags & ImGuiConfigFlags_IsTouchScreen) != 0;
    return {padding.x, touch ? ImGui::GetStyle().FramePadding.y : padding.y};
}

// The width that a control needs after the previous one; with less, it starts a new line.
namespace need {
inline constexpr float icon = 60, button = 90, long_button = 120, two_choices = 130, choices = 180,
                       many_choices = 250, slider = 290, named_choices = 330, stepper = 200,
                       short_stepper = 135;
}

// Widths of controls without a text that determines them.
inline constexpr float slider_width = 110, menu_width = 150, wide_menu_width = 300, number_width = 64,
                       long_number_width = 96;

// Lays out the child window that has just begun even if it is entirely out of view, because the keyboard can
// go there. Dear ImGui would skip it.
void lay_out_unseen();

// Calls draw(width) at the cursor. The column is as high as its contents.
void column(const char* name, float width, auto&& draw) {
    ImGui::BeginChild(name, {width, 0}, ImGuiChildFlags_AutoResizeY,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    lay_out_unseen();
    draw(ImGui::GetContentRegionAvail().x);
    ImGui::EndChild();
}

// Draws columns of equal widths side by side, as many as fit at the least width, and the others below.
template <class... Draw>
void columns(const char* name, float least, float gap, Draw&&... draw) {
    const float width = ImGui::GetContentRegionAvail().x;
    const int all = sizeof...(draw),
              beside = std::clamp(static_cast<int>((width + gap) / (least + gap)), 1, all);
    const float each =
        std::floor((width - gap * static_cast<float>(beside - 1)) / static_cast<float>(beside));
    int i = 0;
    const auto next = [&](auto& one) {
        if (i % beside > 0) ImGui::SameLine(0, gap);
        column((name + std::to_string(i++)).c_str(), each, one);
    };
    (next(draw), ...);
}

// Draws two columns side by side, the left one with this share of the width; in a narrow lens, one below the
// other.
void unequal_columns(float share, float gap, const char* left_name, auto&& draw_left, const char* right_name,
                     auto&& draw_right) {
    const float width = ImGui::GetContentRegionAvail().x;
    const bool beside = width >= two_unequal_columns;
    const float left = beside ? std::floor((width - gap) * share) : width;
    column(left_name, left, draw_left);
    if (beside) ImGui::SameLine(0, gap);
    column(right_name, beside ? width - left - gap : width, draw_right);
}

// Places items one after another, on as many lines as they need.
class Lines {
  public:
    Lines(float width, ImVec2 gap) : corner_(ImGui::GetCursorScreenPos()), gap_(gap), width_(width) {}

    ImVec2 place(ImVec2 size) {
        if (x_ > 0 && x_ + size.x > width_) next_line();
        const ImVec2 at{corner_.x + x_, corner_.y + y_};
        x_ += size.x + gap_.x;
        height_ = std::max(height_, size.y);
        return at;
    }
    void next_line() {
        y_ += height_ > 0 ? height_ + gap_.y : 0;
        x_ = height_ = 0;
    }
    void finish() {
        next_line();
        ImGui::SetCursorScreenPos(corner_);
        ImGui::Dummy({width_, y_});
    }
    float width() const { return width_; }

  private:
    ImVec2 corner_, gap_;
    float width_, x_ = 0, y_ = 0, height_ = 0;
};

}  // namespace attn::ui
