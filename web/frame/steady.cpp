#include "frame/steady.hpp"

#include <algorithm>
#include <cmath>

#include "widgets/semantics.hpp"

namespace attn::app {

namespace {

constexpr float tremble = 8;  // points; a mouse that moves farther has let go

// Returns the room needed below the content for the panel to be scrolled this far.
float missing_below(float scroll) {
    constexpr float more = 40;  // spare points
    const float missing = scroll + ImGui::GetWindowHeight() - ImGui::GetCursorPosY();
    return scroll > 0 && missing > 0 ? missing + more : 0;
}

}  // namespace

void Steady::keep() {
    const float scroll = follow();
    // Content may be short for a while, for example while a model runs again. Afterwards the extra room only
    // shrinks.
    room_ = pressed_ ? missing_below(scroll) : std::min(room_, missing_below(scroll));
    if (room_ > 0) ImGui::Dummy({0, room_});
}

float Steady::follow() {
    const ImGuiIO& io = ImGui::GetIO();
    const float scroll = ImGui::GetScrollY(), top = ImGui::GetWindowPos().y - scroll;
    if (pressed_ && (io.MouseWheel != 0 || std::hypot(io.MousePos.x - pressed_->pointer.x,
                                                      io.MousePos.y - pressed_->pointer.y) > tremble))
        pressed_.reset();
    constexpr ImGuiHoveredFlags here =
        ImGuiHoveredFlags_ChildWindows | ImGuiHoveredFlags_AllowWhenBlockedByActiveItem;
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) && ImGui::IsWindowHovered(here)) {
        pressed_.reset();
        const auto node = std::ranges::find(ui::semantics(), ui::node_under_press(), &ui::Node::key);
        if (node != ui::semantics().end()) pressed_ = Pressed{node->key, node->min.y - top, io.MousePos};
        return scroll;
    }
    if (!pressed_) return scroll;
    const auto node = std::ranges::find(ui::semantics(), pressed_->key, &ui::Node::key);
    if (node == ui::semantics().end()) return scroll;
    const float moved = node->min.y - top - pressed_->at;
    if (std::abs(moved) < 1) return scroll;
    pressed_->at += moved;
    const float to = std::max(scroll + moved, 0.0f);
    ImGui::SetScrollY(to);
    return to;
}

}  // namespace attn::app
