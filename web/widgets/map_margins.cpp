#include "widgets/map_margins.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "app/format.hpp"
#include "widgets/axis_labels.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::ui {

namespace {

constexpr float strip = 30, margin_gap = 5, tick = 4, number_size = 11, apart = 46;

float ruler_width(Index tokens) {
    Type type(Face::mono, number_size);
    return text_size(std::to_string(std::max(tokens - 1, Index{10}))).x + tick + 3;
}

// Draws the bars of an axis; cells that share a pixel show their largest. f(begin, end, length 0 … 1,
// contains the marked cell).
void bars(const Margins::Axis& axis, std::span<const double> values, std::optional<Index> marked, auto f) {
    const double most = std::ranges::max(values);
    if (!(most > 0)) return;
    const auto at = [&](Index i) { return axis.begin + (static_cast<float>(i) - axis.first) * axis.cell; };
    const auto together = std::max(static_cast<Index>(std::ceil(1 / axis.cell)), Index{1});
    for (Index i = axis.shown.begin / together * together; i < axis.shown.end; i += together) {
        const Index end = std::min(i + together, std::ssize(values));
        const auto part = values.subspan(static_cast<std::size_t>(i), static_cast<std::size_t>(end - i));
        f(at(i), at(end), static_cast<float>(std::ranges::max(part) / most),
          marked && *marked >= i && *marked < end);
    }
}

}  // namespace

ImVec2 margins_size(Index tokens) {
    return {margin_gap + strip + ruler_width(tokens), margin_gap + strip + number_size + tick + 4};
}

void draw_margins(const MapSums* sums, const Margins& m) {
    const Theme& t = theme();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float left = m.right + margin_gap, top = m.bottom + margin_gap;
    const auto axis_end = [](const Margins::Axis& axis, float limit) {
        return std::min(axis.begin + (static_cast<float>(axis.shown.end) - axis.first) * axis.cell, limit);
    };
    const ImVec2 end{axis_end(m.keys, m.right), axis_end(m.queries, m.bottom)};
    if (sums) {
        const auto ink = [&](bool on) { return on ? t.accent : with_alpha(t.dim, 0.55f); };
        const auto inset = [](const Margins::Axis& axis) { return axis.cell >= 4 ? 1.0f : 0.0f; };
        list->PushClipRect({m.keys.begin, m.queries.begin}, {left + strip, end.y}, true);
        bars(m.queries, m.weights ? sums->entropies : sums->queries, m.pointed_query,
             [&](float a, float b, float length, bool on) {
                 list->AddRectFilled({left, a}, {left + std::max(length * strip, 1.0f), b - inset(m.queries)},
                                     ink(on));
             });
        list->PopClipRect();
        list->PushClipRect({m.keys.begin, m.queries.begin}, {end.x, top + strip}, true);
        bars(m.keys, sums->keys, m.pointed_key, [&](float a, float b, float length, bool on) {
            list->AddRectFilled({a, top}, {b - inset(m.keys), top + std::max(length * strip, 1.0f)}, ink(on));
        });
        list->PopClipRect();
    }

    Type type(Face::mono, number_size);
    const auto ruler = [&](const Margins::Axis& axis, float limit, auto mark) {
        const Index step = round_step(axis.cell, apart);
        for (Index i = (axis.shown.begin + step - 1) / step * step; i < axis.shown.end; i += step) {
            const float at = axis.begin + (static_cast<float>(i) + 0.5f - axis.first) * axis.cell;
            if (at >= axis.begin && at <= limit) mark(at, std::to_string(i));
        }
    };
    const float right = left + strip, below = top + strip;
    ruler(m.queries, end.y, [&](float y, const std::string& text) {
        list->AddLine({right, y}, {right + tick, y}, t.border);
        draw_text(list, {right + tick + 3, y - number_size / 2}, t.dim, text);
    });
    ruler(m.keys, end.x, [&](float x, const std::string& text) {
        list->AddLine({x, below}, {x, below + tick}, t.border);
        draw_text(list, {x - text_size(text).x / 2, below + tick + 1}, t.dim, text);
    });

    const auto says = [&](const char* name, ImVec2 a, ImVec2 b, const std::string& text) {
        landmark(name, a, b);
        if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(a, b)) tooltip_at_cursor(text.c_str());
    };
    const auto under = [](const Margins::Axis& axis, float mouse) {
        // Where there is no mouse, it is too far away for an Index.
        return static_cast<Index>(std::clamp(axis.first + (mouse - axis.begin) / axis.cell,
                                             static_cast<float>(axis.shown.begin),
                                             static_cast<float>(axis.shown.end - 1)));
    };
    if (!sums || m.queries.shown.size() <= 0 || m.keys.shown.size() <= 0) return;
    const ImVec2 mouse = ImGui::GetMousePos();
    const Index query = under(m.queries, mouse.y), key = under(m.keys, mouse.x);
    const auto value = [](const std::vector<double>& values, Index i) {
        return app::fixed(values[static_cast<std::size_t>(i)], 3);
    };
    const auto named = [](const char* side, std::span<const std::string> names, Index i) {
        return std::string(side) + " " +
               (i < std::ssize(names) ? app::curly_quoted(names[static_cast<std::size_t>(i)])
                                      : std::to_string(i));
    };
    const std::string row = named("query", m.query_names, query), column = named("key", m.key_names, key);
    says("map/rows", {left, m.queries.begin}, {right, end.y},
         m.weights ? row + ": entropy " + value(sums->entropies, query) +
                         " nats, −Σ w ln w. 0: it looks at one key alone."
                   : row + ": its cells sum to " + value(sums->queries, query));
    says("map/columns", {m.keys.begin, top}, {end.x, below},
         m.weights
             ? column + " receives " + value(sums->keys, key) + " in all: the sum of its column's weights"
             : column + ": its cells sum to " + value(sums->keys, key));
}

}  // namespace attn::ui
