#include "widgets/map_margins.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "app/format.hpp"
#include "widgets/axis_labels.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/map_cells.hpp"

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

namespace {

// A strip along an axis: the sums of its cells in view.
struct Strip {
    const Margins::Axis& axis;
    std::span<const double> values;
    std::span<const std::string> names;
    bool of_rows;
    ImVec2 min, max;
};

// Returns the sums for screen readers: those in view or, if these are too many, a single one.
std::shared_ptr<const CellGrid> heard_cells(const Strip& of, Index one, std::optional<Index> chosen,
                                            const char* what) {
    auto cells = std::make_shared<CellGrid>();
    const Range shown = can_be_told(of.axis.shown, {0, 1}) ? of.axis.shown : Range{one, one + 1};
    const Index count = std::ssize(of.values);
    cells->rows = of.of_rows ? count : 1;
    cells->cols = of.of_rows ? 1 : count;
    (of.of_rows ? cells->first_row : cells->first_col) = shown.begin;
    for (Index i = shown.begin; i < shown.end; ++i) {
        cells->values.push_back(of.values[static_cast<std::size_t>(i)]);
        (of.of_rows ? cells->row_names : cells->column_names)
            .push_back(i < std::ssize(of.names) ? of.names[static_cast<std::size_t>(i)] : std::to_string(i));
    }
    (of.of_rows ? cells->column_names : cells->row_names).push_back(what);
    cells->digits = {3};
    const float at = of.axis.begin + (static_cast<float>(shown.begin) - of.axis.first) * of.axis.cell;
    cells->at = of.of_rows ? ImVec2{of.min.x, at} : ImVec2{at, of.min.y};
    cells->cell =
        of.of_rows ? ImVec2{of.max.x - of.min.x, of.axis.cell} : ImVec2{of.axis.cell, of.max.y - of.min.y};
    if (chosen) cells->chosen = of.of_rows ? std::pair(*chosen, Index{0}) : std::pair(Index{0}, *chosen);
    return cells;
}

// Makes a strip respond to hovering, clicks and screen readers.
void touch_strip(const Strip& of, const std::string& key, const char* title, const Margins& m, auto told,
                 MarginTouch& touch) {
    const Index count = std::ssize(of.values);
    const ImVec2 size{of.max.x - of.min.x, of.max.y - of.min.y};
    if (size.x < 1 || size.y < 1) return;
    ImGui::SetCursorScreenPos(of.min);
    ImGui::InvisibleButton(key.c_str(), size);
    landmark_item(key);
    std::optional<Index> over;
    if (ImGui::IsItemHovered()) {
        const ImVec2 mouse = ImGui::GetMousePos();
        const float place = of.axis.first + ((of.of_rows ? mouse.y : mouse.x) - of.axis.begin) / of.axis.cell;
        over = static_cast<Index>(std::clamp(place, static_cast<float>(of.axis.shown.begin),
                                             static_cast<float>(of.axis.shown.end - 1)));
        tooltip_at_cursor(told(*over).c_str());
        touch.clicked = ImGui::IsItemDeactivated() && !dragged();
    } else if (const auto asked = asked_cell(key)) {
        const Index at = of.of_rows ? asked->row : asked->col;
        if (at >= 0 && at < count) {
            over = at;
            touch.clicked = asked->pressed;
        }
    }
    if (over) touch.over = MarginCell{of.of_rows, *over};
    const std::optional<Index> chosen =
        m.pinned && m.pinned->of_row == of.of_rows ? std::optional(m.pinned->at) : std::nullopt;
    const Index one = std::clamp(over.value_or(chosen.value_or(of.axis.shown.begin)), Index{0}, count - 1);
    semantic_place(Role::grid, key, title, of.min, of.max).grid =
        heard_cells(of, one, chosen, m.weights && of.of_rows ? "entropy" : "sum");
}

// Draws the positions of tokens right of and below the strips, as far as `end`.
void draw_rulers(const Margins& m, ImVec2 at, ImVec2 end) {
    const Theme& t = theme();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const Type type(Face::mono, number_size);
    const auto ruler = [&](const Margins::Axis& axis, float limit, auto mark) {
        const Index step = round_step(axis.cell, apart);
        for (Index i = (axis.shown.begin + step - 1) / step * step; i < axis.shown.end; i += step) {
            const float middle = axis.begin + (static_cast<float>(i) + 0.5f - axis.first) * axis.cell;
            if (middle >= axis.begin && middle <= limit) mark(middle, std::to_string(i));
        }
    };
    ruler(m.queries, end.y, [&](float y, const std::string& text) {
        list->AddLine({at.x, y}, {at.x + tick, y}, t.border);
        draw_text(list, {at.x + tick + 3, y - number_size / 2}, t.dim, text);
    });
    ruler(m.keys, end.x, [&](float x, const std::string& text) {
        list->AddLine({x, at.y}, {x, at.y + tick}, t.border);
        draw_text(list, {x - text_size(text).x / 2, at.y + tick + 1}, t.dim, text);
    });
}

}  // namespace

MarginTouch draw_margins(const MapSums* sums, const Margins& m) {
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
        const auto marked = [&](bool of_row, std::optional<Index> pointed) {
            return m.pinned && m.pinned->of_row == of_row ? std::optional(m.pinned->at) : pointed;
        };
        bars(m.queries, m.weights ? sums->entropies : sums->queries, marked(true, m.pointed_query),
             [&](float a, float b, float length, bool on) {
                 list->AddRectFilled({left, a}, {left + std::max(length * strip, 1.0f), b - inset(m.queries)},
                                     ink(on));
             });
        list->PopClipRect();
        list->PushClipRect({m.keys.begin, m.queries.begin}, {end.x, top + strip}, true);
        bars(m.keys, sums->keys, marked(false, m.pointed_key), [&](float a, float b, float length, bool on) {
            list->AddRectFilled({a, top}, {b - inset(m.keys), top + std::max(length * strip, 1.0f)}, ink(on));
        });
        list->PopClipRect();
    }

    const float right = left + strip, below = top + strip;
    draw_rulers(m, {right, below}, end);
    MarginTouch touch;
    if (!sums || m.queries.shown.size() <= 0 || m.keys.shown.size() <= 0) return touch;
    const auto value = [](std::span<const double> values, Index i) {
        return app::fixed(values[static_cast<std::size_t>(i)], 3);
    };
    const auto named = [](const char* side, std::span<const std::string> names, Index i) {
        return std::string(side) + " " +
               (i < std::ssize(names) ? app::curly_quoted(names[static_cast<std::size_t>(i)])
                                      : std::to_string(i));
    };
    const Strip rows{m.queries,
                     m.weights ? std::span(sums->entropies) : std::span(sums->queries),
                     m.query_names,
                     true,
                     {left, m.queries.begin},
                     {right, end.y}},
        columns{m.keys, sums->keys, m.key_names, false, {m.keys.begin, top}, {end.x, below}};
    touch_strip(
        rows, m.name + "/rows", m.weights ? "Entropy of each row" : "Sum of each row", m,
        [&](Index i) {
            const std::string row = named("query", m.query_names, i), number = value(rows.values, i);
            return m.weights ? row + ": entropy " + number + " nats, −Σ w ln w. 0: it looks at one key alone."
                             : row + ": its cells sum to " + number;
        },
        touch);
    touch_strip(
        columns, m.name + "/columns", "Sum of each column", m,
        [&](Index i) {
            const std::string column = named("key", m.key_names, i), number = value(columns.values, i);
            return m.weights ? column + " receives " + number + " in all: the sum of its column's weights"
                             : column + ": its cells sum to " + number;
        },
        touch);
    return touch;
}

}  // namespace attn::ui
