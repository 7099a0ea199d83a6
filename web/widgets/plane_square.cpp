#include "widgets/plane_square.hpp"

#include <cmath>

#include "widgets/chart.hpp"
#include "widgets/layout.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

void PlaneSquare::draw_axes(const std::string& across, const std::string& up) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const Theme& t = theme();
    const float bottom = at.y + side;
    list->AddRect(at, end(), t.border);
    {
        Type mono(Face::mono, 12);
        const auto ticks = [&](std::size_t axis) {
            const ChartAxis along{"", low[axis], high[axis]};
            std::vector<std::pair<double, std::string>> labelled;
            const std::vector<double> values = axis_ticks(along, 5);
            const std::vector<std::string> labels = tick_labels(along, values);
            for (std::size_t i = 0; i < values.size(); ++i) labelled.emplace_back(values[i], labels[i]);
            return labelled;
        };
        for (const auto& [tick, text] : ticks(0)) {
            const float x = point({tick, 0}).x, wide = text_size(text).x;
            list->AddLine({x, bottom}, {x, bottom + 4}, t.border);
            draw_text(list, {bounded(x - wide / 2, at.x, at.x + side - wide), bottom + 5}, t.dim, text);
        }
        for (const auto& [tick, text] : ticks(1)) {
            const float y = point({0, tick}).y;
            list->AddLine({at.x - 4, y}, {at.x, y}, t.border);
            draw_text(list, {at.x - 7 - text_size(text).x, y - 7}, t.dim, text);
        }
    }
    Type small(Face::regular, 12);
    draw_text(list, {at.x, at.y - 17}, t.dim, up + " ↑");
    const std::string title = across + " →";
    draw_text(list, {at.x + side - text_size(title).x, bottom + 19}, t.dim, title);
}

std::optional<Index> PlaneSquare::draw_points(std::span<const std::array<double, 2>> places) const {
    constexpr float near_point = 9;
    ImDrawList* list = ImGui::GetWindowDrawList();
    std::optional<Index> over;
    float nearest = near_point;
    const ImVec2 mouse = ImGui::GetMousePos();
    for (std::size_t i = 0; i < places.size(); ++i) {
        const ImVec2 where = point(places[i]);
        list->AddCircleFilled(where, 3.5f, theme().text);
        list->AddCircle(where, 3.5f, theme().background);
        const float away = std::hypot(where.x - mouse.x, where.y - mouse.y);
        if (away >= nearest) continue;
        nearest = away;
        over = static_cast<Index>(i);
    }
    return over;
}

void PlaneSquare::draw_path(std::span<const std::array<double, 2>> places, bool has_end) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 handle = point(places.front());
    for (std::size_t i = 1; i < places.size(); ++i) {
        list->AddLine(point(places[i - 1]), point(places[i]), theme().background, 5);
        list->AddLine(point(places[i - 1]), point(places[i]), theme().text, 2);
    }
    for (const auto& place : places.subspan(1)) list->AddCircleFilled(point(place), 3, theme().accent);
    if (has_end) list->AddCircle(point(places.back()), 7, theme().text, 0, 2);
    list->AddCircleFilled(handle, 8, theme().accent);
    list->AddCircle(handle, 8, theme().background, 0, 2);
}

void PlacedNames::write(ImVec2 at, const std::string& text) {
    const ImVec2 size = text_size(text), min{at.x + 6, at.y - size.y / 2},
                 max{min.x + size.x, min.y + size.y};
    for (const auto& [low, high] : taken_)
        if (min.x < high.x && low.x < max.x && min.y < high.y && low.y < max.y) return;
    taken_.emplace_back(min, max);
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled({min.x - 3, min.y}, {max.x + 3, max.y}, theme().background, 3);
    draw_text(list, min, theme().text, text);
}

}  // namespace attn::ui
