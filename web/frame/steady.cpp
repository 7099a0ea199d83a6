#include "frame/steady.hpp"

#include <algorithm>
#include <cmath>

#include "widgets/semantics.hpp"

namespace attn::app {

namespace {

constexpr float tremble = 8;  // points; a hand that moves farther has let go

}  // namespace

void Steady::keep() {
    const ImGuiIO& io = ImGui::GetIO();
    const float top = ImGui::GetWindowPos().y - ImGui::GetScrollY();
    if (pressed_ && (io.MouseWheel != 0 || std::hypot(io.MousePos.x - pressed_->pointer.x,
                                                      io.MousePos.y - pressed_->pointer.y) > tremble))
        pressed_.reset();
    constexpr ImGuiHoveredFlags here =
        ImGuiHoveredFlags_ChildWindows | ImGuiHoveredFlags_AllowWhenBlockedByActiveItem;
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) && ImGui::IsWindowHovered(here)) {
        pressed_.reset();
        const auto node = std::ranges::find(ui::semantics(), ui::node_under_press(), &ui::Node::key);
        if (node != ui::semantics().end()) pressed_ = Pressed{node->key, node->min.y - top, io.MousePos};
        return;
    }
    if (!pressed_) return;
    const auto node = std::ranges::find(ui::semantics(), pressed_->key, &ui::Node::key);
    if (node == ui::semantics().end()) return;
    const float moved = node->min.y - top - pressed_->at;
    if (std::abs(moved) < 1) return;
    pressed_->at += moved;
    ImGui::SetScrollY(std::max(ImGui::GetScrollY() + moved, 0.0f));
}

}  // namespace attn::app
