#include "widgets/fingers.hpp"

#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

namespace {

constexpr float slack = 8;              // points by which a finger may miss its target
constexpr float zoom_per_notch = 0.2f;  // widgets/map_view.cpp zooms by e^0.2 per notch

struct State {
    TouchArbiter arbiter;
    TouchArbiter::Said said;
    ImGuiID window = 0;  // the window that scrolls, or 0
    float at = 0;        // its scroll position, without rounding
    bool moved = false;  // since the finger came down
    bool any_way = false;
    std::optional<Swipe> swipe;
};
State state;

ImGuiWindow* window_at(ImVec2 at) {
    ImGuiWindow *found = nullptr, *behind = nullptr;
    ImGui::FindHoveredWindowEx(at, false, &found, &behind);
    return found;
}

// Returns the innermost window under the finger that can scroll in that direction. A popup keeps the windows
// behind it in place.
ImGuiWindow* scrolling_window(ImVec2 at, float way) {
    const ImGuiContext& context = *ImGui::GetCurrentContext();
    ImGuiWindow* window = window_at(at);
    if (!window) return nullptr;
    if (!context.OpenPopupStack.empty() && context.OpenPopupStack.back().Window &&
        window->RootWindow != context.OpenPopupStack.back().Window->RootWindow)
        return nullptr;
    for (; window; window = window->ParentWindow) {
        const bool can = way > 0 ? window->Scroll.y > 0 : window->Scroll.y < window->ScrollMax.y;
        if (can) return window;
        if (window == window->RootWindow) return nullptr;
    }
    return nullptr;
}

bool is_target(const Node& node) {
    switch (node.role) {
        case Role::tab:
        case Role::button:
        case Role::radio:
        case Role::option:
        case Role::menuitem:
        case Role::slider:
        case Role::spinbutton:
        case Role::textbox:
        case Role::combobox:
        case Role::img:
        case Role::grid: return true;
        default: return false;
    }
}

// Returns the point of the nearest target in this window that a finger here is likely to mean, or else the
// point itself.
ImVec2 meant(ImVec2 at) {
    const ImGuiWindow* window = window_at(at);
    if (!window) return at;
    ImVec2 best = at;
    float nearest = HUGE_VALF;
    for (const Node& node : semantics()) {
        if (node.window != window->ID || !is_target(node)) continue;
        const ImVec2 size{node.max.x - node.min.x, node.max.y - node.min.y};
        if (size.x < 2 || size.y < 2) continue;
        const ImVec2 on{bounded(at.x, node.min.x + 1, node.max.x - 1),
                        bounded(at.y, node.min.y + 1, node.max.y - 1)};
        const ImVec2 off{std::abs(on.x - at.x), std::abs(on.y - at.y)};
        if (off.x <= 1 && off.y <= 1) return at;  // the finger hits a target
        if (off.x > std::max(slack, (finger_size - size.x) / 2) ||
            off.y > std::max(slack, (finger_size - size.y) / 2))
            continue;
        if (const float away = std::hypot(off.x, off.y); away < nearest) nearest = away, best = on;
    }
    return best;
}

}  // namespace

void fingers(std::span<const Finger> down, double ms) { state.arbiter.fingers(down, ms); }

void fingers_cancelled() { state.arbiter.cancelled(); }

void tell_fingers(double ms) {
    state.said = state.arbiter.take(ms, std::exchange(state.any_way, false));
    ImGuiIO& io = ImGui::GetIO();
    if (!state.said.steps.empty() || state.said.scroll || state.said.pinch)
        io.AddMouseSourceEvent(ImGuiMouseSource_TouchScreen);
    for (const TouchArbiter::Step& step : state.said.steps) {
        const ImVec2 at = step.begins ? meant(step.at) : step.at;
        switch (step.kind) {
            case TouchArbiter::Step::Kind::point: io.AddMousePosEvent(at.x, at.y); break;
            case TouchArbiter::Step::Kind::press: io.AddMouseButtonEvent(0, true); break;
            case TouchArbiter::Step::Kind::release: io.AddMouseButtonEvent(0, false); break;
            case TouchArbiter::Step::Kind::leave: io.AddMousePosEvent(-FLT_MAX, -FLT_MAX); break;
        }
    }
}

bool scrolls_under_finger(ImVec2 at, float way) { return scrolling_window(at, way) != nullptr; }

void scroll_by_fingers() {
    state.swipe.reset();
    const auto scroll = std::exchange(state.said.scroll, {});
    if (!scroll) return;
    if (scroll->begins) {
        const ImGuiWindow* found = scrolling_window(scroll->from, scroll->to.y - scroll->from.y);
        state.window = found ? found->ID : 0;
        state.at = found ? found->Scroll.y : 0;
        state.moved = found != nullptr;
    }
    ImGuiWindow* window = ImGui::FindWindowByID(state.window);
    if (window && scroll->by != 0) {
        const float wanted = state.at - scroll->by;
        state.at = std::clamp(wanted, 0.0f, window->ScrollMax.y);
        ImGui::SetScrollY(window, std::round(state.at));
        if (wanted != state.at) state.arbiter.halt();
    } else if (!window) {
        state.arbiter.halt();
    }
    if (scroll->ends && !state.moved) state.swipe = Swipe{scroll->from, scroll->to};
}

bool fingers_need_frames() { return state.arbiter.needs_frames(); }

void takes_any_drag() {
    if (ImGui::IsItemHovered()) state.any_way = true;
}

std::optional<TwoFingers> two_fingers() {
    if (!state.said.pinch || !ImGui::IsItemHovered()) return std::nullopt;
    return TwoFingers{std::log(state.said.pinch->factor) / zoom_per_notch, state.said.pinch->pan};
}

std::optional<Swipe> swiped() { return state.swipe; }

}  // namespace attn::ui
