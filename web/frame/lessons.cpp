// Places the lesson in the frame: its panel beside the lens, and its sheet on a phone.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "frame/frame.hpp"
#include "frame/panel.hpp"
#include "widgets/controls.hpp"
#include "widgets/layout.hpp"
#include "widgets/theme.hpp"

namespace attn::app {

namespace {

constexpr float most_lesson_share = 0.6f, least_explanation = 200, sheet_share_of_lesson = 0.46f;
constexpr ImVec2 lesson_inset{20, 18}, inspector_inset{20, 20};

}  // namespace

// Draws what stands right of the lens: the lesson and, as far as there is room, the explanation below it.
void Frame::draw_right(ImVec2 at, ImVec2 size) {
    const ImU32 surface = ui::theme().surface;
    float top = 0;
    if (lessons_.is_open()) {
        const bool fits = lesson_height_ < most_lesson_share * size.y;
        const bool explains = visit_.state().pin || (before_.cell && fits);
        // What a short explanation leaves is the lesson's.
        const float share = std::max(std::floor(most_lesson_share * size.y), size.y - inspector_height_);
        top = explains ? std::min({lesson_height_, share, size.y - least_explanation}) : size.y;
        const auto draw_lesson = [&] {
            const float begin = ImGui::GetCursorPosY();
            lessons_.draw(before_);
            // The text of a lesson that is being written takes all room.
            const float drawn = lessons_.shows_step()         ? lessons_.height()
                                : lessons_.writer().is_open() ? size.y
                                                              : ImGui::GetCursorPosY() - begin;
            lesson_height_ = drawn + 2 * lesson_inset.y;
        };
        lessons_.shows_step()
            ? panel("lesson", at, {size.x, top}, surface, lesson_inset, draw_lesson)
            : scrolling_panel("lesson", at, {size.x, top}, surface, lesson_inset, draw_lesson);
        if (!explains) return;
        ImGui::GetWindowDrawList()->AddLine({at.x, at.y + top}, {at.x + size.x, at.y + top},
                                            ui::theme().border);
    }
    scrolling_panel("inspector", {at.x, at.y + top}, {size.x, size.y - top}, surface, inspector_inset, [&] {
        const float begin = ImGui::GetCursorPosY();
        draw_inspector();
        inspector_height_ = ImGui::GetCursorPosY() - begin + 2 * inspector_inset.y;
    });
}

// A sheet that is folded down is as high as its content; any other keeps its height from step to step.
float Frame::lesson_sheet_height(float window) const {
    const float most = std::floor(window * sheet_share_of_lesson);
    return lessons_.is_brief() && lesson_height_ > 0 ? std::min(lesson_height_, most) : most;
}

void Frame::draw_lesson_sheet(const Rect& sheet) {
    // A step scrolls by itself, above its buttons.
    const auto draw_sheet = [&](auto draw) {
        lessons_.lists() || lessons_.writer().is_open() || lessons_.is_brief()
            ? scrolling_panel("lesson", sheet.at, sheet.size, ui::theme().surface, sheet_inset, draw)
            : panel("lesson", sheet.at, sheet.size, ui::theme().surface, sheet_inset, draw);
    };
    draw_sheet([&] {
        const float begin = ImGui::GetCursorPosY();
        if (lesson_pin_.holds(visit_.state()) && ui::button("sheet/explain", "Explain the pinned number"))
            lesson_pin_.let_go();
        lessons_.draw(before_);
        lesson_height_ = ImGui::GetCursorPosY() - begin + 2 * sheet_inset.y;
    });
}

}  // namespace attn::app
