// Defines in one place where the page breaks and how wide controls are, in points.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace attn::ui {

// Like std::clamp, but in a picture without room the bounds may cross: then the upper one counts.
inline float bounded(float value, float low, float high) { return std::min(std::max(value, low), high); }

// In a window at least this wide, the rail, the lens and the inspector are side by side; a narrower one is
// treated as a phone.
inline constexpr float wide_window = 820;
// So is one lower than this, as a phone held sideways: everything above its lens is in one row.
inline constexpr float low_window = 440, least_low_width = 520;
inline bool low_window_now() {
    const ImVec2 size = ImGui::GetMainViewport()->Size;
    return size.y < low_window && size.x >= least_low_width;
}
inline bool narrow_window() { return ImGui::GetMainViewport()->Size.x < wide_window || low_window_now(); }
// In a lens at least this wide, its parts are in two columns, its curves are next to its maps, and its
// settings are open.
inline constexpr float two_columns = 680, two_unequal_columns = 740, settings_open = 640;
// At this width, two maps are side by side.
inline constexpr float two_maps = 440;
inline constexpr float column_gap = 32;
inline constexpr float reading_width = 620;  // lines of text are no longer than this

// The padding of controls that are smaller than others; where fingers press them, none are.
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

// The widths of controls without a text that determines them.
inline constexpr float slider_width = 110, menu_width = 150, wide_menu_width = 300, number_width = 64,
                       long_number_width = 96;

// Lays out what is in the child window that has just begun even where all of it is out of view, which Dear ImGui skips:
// the keyboard can go there.
void lay_out_unseen();

// Calls draw(width) at the cursor; the column is as high as what it draws.
void column(const char* name, float width, auto&& draw) {
    ImGui::BeginChild(name, {width, 0}, ImGuiChildFlags_AutoResizeY,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    lay_out_unseen();
    draw(ImGui::GetContentRegionAvail().x);
    ImGui::EndChild();
}

// Draws columns of equal widths, as many beside each other as have the least one, and the others below.
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

// Places what is drawn one after the other, in as many lines as it needs.
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
