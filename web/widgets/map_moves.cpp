// Moves a map under the mouse, two fingers and the page's accessible elements, and paints and marks on it.
#include <algorithm>
#include <cmath>
#include <utility>

#include "widgets/fingers.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/map_plot.hpp"
#include "widgets/semantics.hpp"

namespace attn::ui {

void MapView::keep_inside(const Plot& plot) {
    const auto last = [](Index n, float length, float cell) {
        return std::max(static_cast<float>(n) - length / cell, 0.0f);
    };
    first_query_ = std::clamp(first_query_, 0.0f, last(plot.n_q, plot.size.y, plot.cell.y));
    first_key_ = std::clamp(first_key_, 0.0f, last(plot.n_k, plot.size.x, plot.cell.x));
}

void MapView::zoom(Plot& plot, float fit, float factor, ImVec2 around) {
    const ImVec2 inside{around.x - plot.min.x, around.y - plot.min.y};
    const float key = first_key_ + inside.x / plot.cell.x, query = first_query_ + inside.y / plot.cell.y;
    const float before = zoom_;
    zoom_ = std::clamp(zoom_ * factor, 1.0f, std::max(most_cell / fit, 1.0f));
    plot.cell = {plot.cell.x * zoom_ / before, plot.cell.y * zoom_ / before};
    first_key_ = key - inside.x / plot.cell.x;
    first_query_ = query - inside.y / plot.cell.y;
}

// Applies requests from the lens's buttons, a search or a bookmark.
void MapView::place(Plot& plot, float fit) {
    const ImVec2 whole{plot.cell.x / zoom_, plot.cell.y / zoom_};
    moved_ = zoom_factor_ != 1 || wanted_;
    // In a window of another size, the same part stays in view, as far as possible.
    const bool resized = std::exchange(size_.x, plot.size.x) != plot.size.x || size_.y != plot.size.y;
    size_.y = plot.size.y;
    if (resized && zoom_ > 1 && !moved_) wanted_ = view_;
    if (zoom_factor_ != 1)
        zoom(plot, fit, zoom_factor_, {plot.min.x + plot.size.x / 2, plot.min.y + plot.size.y / 2});
    zoom_factor_ = 1;
    if (!wanted_) return;
    const auto cells = [](const app::MapExtent::Span& span) { return static_cast<float>(span.size()); };
    const float largest = std::min(plot.size.x / (cells(wanted_->keys) * whole.x),
                                   plot.size.y / (cells(wanted_->queries) * whole.y));
    zoom_ = std::clamp(largest, 1.0f, std::max(most_cell / fit, 1.0f));
    plot.cell = {whole.x * zoom_, whole.y * zoom_};
    const auto middle = [](const app::MapExtent::Span& span, float length, float cell) {
        return (static_cast<float>(span.begin + span.end) - length / cell) / 2;
    };
    first_query_ = middle(wanted_->queries, plot.size.y, plot.cell.y);
    first_key_ = middle(wanted_->keys, plot.size.x, plot.cell.x);
    wanted_.reset();
}

void MapView::paint(const Plot& plot, MapTouch& touch) {
    constexpr float least_side_of_brush = 3;
    brush_side_ = 1;
    while (static_cast<float>(brush_side_) * std::min(plot.cell.x, plot.cell.y) < least_side_of_brush)
        brush_side_ *= 2;
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const bool inside =
        mouse.x >= plot.min.x && mouse.y >= plot.min.y && mouse.x < plot.max().x && mouse.y < plot.max().y;
    const bool begins = ImGui::IsItemActivated() && ImGui::IsMouseDown(0) && inside;
    if (begins) stroking_ = true, stroked_ = plot.at(mouse);
    if (!stroking_) return;
    touch.stroke_ended = !ImGui::IsItemActive();
    if (touch.stroke_ended) stroking_ = false;
    if (!inside) return stroked_.reset();
    const MapCell to = plot.at(mouse);
    if (begins || stroked_ != to) touch.stroke = MapStroke{stroked_.value_or(to), to, begins};
    stroked_ = to;
}

void MapView::act(Plot& plot, const MapPicture& picture, float fit, MapTouch& touch) {
    const ImGuiIO& io = ImGui::GetIO();
    ImGui::SetCursorScreenPos(plot.min);
    ImGui::InvisibleButton(picture.name.c_str(), plot.size);
    landmark_item(picture.name);
    const bool hovered = ImGui::IsItemHovered();
    if (const float notches = wheel_.notches(); notches != 0) {
        zoom(plot, fit, std::exp(notches * 0.2f), io.MousePos);
        moved_ = true;
    }
    if (const auto fingers = two_fingers()) {
        first_key_ -= fingers->pan.x / plot.cell.x;
        first_query_ -= fingers->pan.y / plot.cell.y;
        moved_ = true;
    }
    if (painting || brushing || zoom_ > 1) takes_any_drag();
    plot.first = {first_key_, first_query_};
    if (painting) paint(plot, touch);
    if (ImGui::IsItemActivated()) pressed_ = plot.at(io.MousePos), marks_.reset();
    const bool dragging = !painting && ImGui::IsItemActive() && ImGui::IsMouseDragging(0);
    if (dragging && !marks_) marks_ = brushing || io.KeyShift;
    if (dragging && *marks_) {
        const MapCell to = plot.at(io.MousePos);
        brush({{std::min(pressed_.query, to.query), std::max(pressed_.query, to.query) + 1},
               {std::min(pressed_.key, to.key), std::max(pressed_.key, to.key) + 1}});
    } else if (dragging) {
        if (zoom_ > 1) {
            first_key_ -= io.MouseDelta.x / plot.cell.x;
            first_query_ -= io.MouseDelta.y / plot.cell.y;
            moved_ = true;
            ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeAll);
        } else {
            ImGui::SetScrollY(ImGui::GetScrollY() - io.MouseDelta.y);
        }
    }
    touch.double_clicked = hovered && !painting && ImGui::IsMouseDoubleClicked(0);
    if (touch.double_clicked) {
        plot.cell = {plot.cell.x / zoom_, plot.cell.y / zoom_};
        zoom_ = 1;
        moved_ = true;
    }
    keep_inside(plot);
    plot.first = {first_key_, first_query_};
    hear(plot, picture, touch);
    if (!hovered || picture.being_measured || touch.clicked) return;
    touch.over = plot.at(io.MousePos);
    const bool moved = io.MouseDragMaxDistanceSqr[0] >= io.MouseDragThreshold * io.MouseDragThreshold;
    touch.clicked = ImGui::IsItemDeactivated() && !painting && !moved && io.MouseClickedLastCount[0] < 2;
}

void MapView::hear(Plot& plot, const MapPicture& picture, MapTouch& touch) {
    heard_.reset();
    const auto asked = asked_cell(picture.name);
    if (!asked || picture.being_measured || asked->row < 0 || asked->row >= plot.n_q || asked->col < 0 ||
        asked->col >= plot.n_k)
        return;
    heard_ = MapCell{asked->row, asked->col};
    touch.over = heard_;
    touch.clicked = asked->pressed;
    if (!asked->arrived) return;
    const auto follow = [](float& first, Index at, float cells) {
        const auto place = static_cast<float>(at);
        if (place < first || place + 1 > first + cells) first = place + 0.5f - cells / 2;
    };
    follow(first_query_, asked->row, plot.size.y / plot.cell.y);
    follow(first_key_, asked->col, plot.size.x / plot.cell.x);
    keep_inside(plot);
    moved_ = true;
    plot.first = {first_key_, first_query_};
    const float x = plot.x(asked->col), y = plot.y(asked->row);
    scroll_to({x, y}, {x + plot.cell.x, y + plot.cell.y});
}

}  // namespace attn::ui
