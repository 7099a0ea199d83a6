#include "widgets/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::ui {

namespace {

constexpr float tick_width = 52, legend_height = 20, x_axis_height = 36, y_title_height = 18;
double at_share(const ChartAxis& axis, double share) {
    share = std::clamp(share, 0.0, 1.0);
    return axis.logarithmic ? axis.low * std::pow(axis.high / axis.low, share)
                            : axis.low + share * (axis.high - axis.low);
}

struct Area {
    ImVec2 min, max;
    const Chart& chart;

    float x(double value) const {
        return min.x + (max.x - min.x) * static_cast<float>(std::clamp(along(chart.x, value), -1.0, 2.0));
    }
    float y(double value) const {
        // Values beyond the axis are cut off, without bending the line that leads there.
        return max.y - (max.y - min.y) * static_cast<float>(std::clamp(along(chart.y, value), -3.0, 4.0));
    }
    ImVec2 at(double to_x, double to_y) const { return {x(to_x), y(to_y)}; }
};

struct Ticks {
    std::vector<double> at;
    std::vector<std::string> labels;

    Ticks(const ChartAxis& axis, float room, float apart)
        : at(axis_ticks(axis, std::max(2, static_cast<int>(room / apart)))), labels(tick_labels(axis, at)) {}
};

Ticks rows_of(const Area& area) { return {area.chart.y, area.max.y - area.min.y, 44}; }

// Large labels get the room that they need.
float rows_width(const Ticks& rows) {
    Type mono(Face::mono, 12);
    float width = tick_width;
    for (const std::string& label : rows.labels) width = std::max(width, text_size(label).x + 10);
    return width;
}

void draw_axes(ImDrawList* list, const Area& area, const Ticks& rows) {
    const Theme& t = theme();
    Type mono(Face::mono, 12);
    const auto [x_axis, y_axis] = std::pair(area.chart.x, area.chart.y);
    for (std::size_t i = 0; i < rows.at.size(); ++i) {
        const float y = std::floor(area.y(rows.at[i])) + 0.5f;
        list->AddLine({area.min.x, y}, {area.max.x, y}, with_alpha(t.border, 0.5f));
        const std::string& text = rows.labels[i];
        draw_text(list, {area.min.x - 8 - text_size(text).x, y - ImGui::GetFontSize() / 2}, t.dim, text);
    }
    const float floor = std::floor(area.max.y) + 0.5f;
    list->AddLine({area.min.x, floor}, {area.max.x, floor}, t.border);
    const Ticks columns(x_axis, area.max.x - area.min.x, 70);
    float free = area.min.x - tick_width;
    for (std::size_t i = 0; i < columns.at.size(); ++i) {
        const std::string& text = columns.labels[i];
        const float x = area.x(columns.at[i]), wide = text_size(text).x;
        list->AddLine({x, floor}, {x, floor + 4}, t.border);
        const float left = bounded(x - wide / 2, area.min.x - 4, area.max.x - wide);
        if (left < free + 8) continue;
        draw_text(list, {left, floor + 5}, t.dim, text);
        free = left + wide;
    }
    Type regular(Face::regular, 12);
    draw_text(list, {area.min.x + 4, area.min.y - y_title_height}, t.dim, y_axis.full_title() + " ↑");
    const std::string x_title = x_axis.full_title() + " →";
    draw_text(list, {area.max.x - text_size(x_title).x, floor + 19}, t.dim, x_title);
}

// Returns where a bar begins and ends along the axis.
std::pair<float, float> bar_ends(const Area& area, const ChartCurve& curve, std::size_t i) {
    const std::size_t last = curve.x.size() - 1;
    if (last == 0) return {area.min.x, area.max.x};
    const auto between = [&](std::size_t a) { return (area.x(curve.x[a]) + area.x(curve.x[a + 1])) / 2; };
    const float from = i > 0 ? between(i - 1) : 2 * area.x(curve.x[0]) - between(0),
                to = i < last ? between(i) : 2 * area.x(curve.x[last]) - between(last - 1);
    return {from, to};
}

void draw_bars(ImDrawList* list, const Area& area, const ChartCurve& curve) {
    const float zero = area.y(0);
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
        if (!std::isfinite(curve.y[i])) continue;
        const auto [from, to] = bar_ends(area, curve, i);
        const float y = area.y(curve.y[i]), gap = to - from > 4 ? 1.0f : 0.0f;
        list->AddRectFilled({from + gap, std::min(y, zero)}, {to - gap, std::max(y, zero)}, curve.colour);
    }
}

void draw_curve(ImDrawList* list, const Area& area, const ChartCurve& curve) {
    if (curve.bars) return draw_bars(list, area, curve);
    const auto good = [&](std::size_t i) { return std::isfinite(curve.y[i]); };
    for (std::size_t i = 1; i < curve.band_low.size(); ++i) {
        const ImVec2 corners[]{
            area.at(curve.x[i - 1], curve.band_low[i - 1]), area.at(curve.x[i - 1], curve.band_high[i - 1]),
            area.at(curve.x[i], curve.band_high[i]), area.at(curve.x[i], curve.band_low[i])};
        if (good(i - 1) && good(i)) list->AddConvexPolyFilled(corners, 4, with_alpha(curve.colour, 0.18f));
    }
    // Dashes and gaps have the same length, wherever the points are.
    constexpr float dash = 5;
    float travelled = 0;
    for (std::size_t i = 1; i < curve.x.size() && !curve.apart; ++i) {
        if (!good(i - 1) || !good(i)) continue;
        const ImVec2 from = area.at(curve.x[i - 1], curve.y[i - 1]), to = area.at(curve.x[i], curve.y[i]);
        if (!curve.dashed) {
            list->AddLine(from, to, curve.colour, 2);
            continue;
        }
        const float length = std::hypot(to.x - from.x, to.y - from.y);
        for (float done = 0; done < length;) {
            const float phase = std::fmod(travelled, 2 * dash),
                        piece = std::min((phase < dash ? dash : 2 * dash) - phase + 0.01f, length - done);
            const auto point = [&](float share) {
                return ImVec2{from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share};
            };
            if (phase < dash)
                list->AddLine(point(done / length), point((done + piece) / length), curve.colour, 2);
            done += piece;
            travelled += piece;
        }
    }
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
        // A point between two gaps would not form a line.
        const bool alone = (i == 0 || !good(i - 1)) && (i + 1 == curve.x.size() || !good(i + 1));
        if (good(i) && (curve.points || curve.apart || alone))
            list->AddCircleFilled(area.at(curve.x[i], curve.y[i]), curve.radius, curve.colour);
    }
}

std::optional<ChartReply::Point> point_under(const Area& area, std::span<const ChartCurve> curves,
                                             ImVec2 mouse) {
    constexpr float reach = 24;
    std::optional<ChartReply::Point> found;
    float least = reach;
    // A bar reacts to the mouse over its whole height and above and below it.
    for (std::size_t c = 0; c < curves.size(); ++c)
        for (std::size_t i = 0; curves[c].bars && i < curves[c].x.size(); ++i) {
            const auto [from, to] = bar_ends(area, curves[c], i);
            const bool in_height = mouse.y >= area.min.y && mouse.y <= area.max.y;
            if (in_height && mouse.x >= from && mouse.x < to && std::isfinite(curves[c].y[i]))
                return ChartReply::Point{c, i};
        }
    for (std::size_t c = 0; c < curves.size(); ++c)
        for (std::size_t i = 0; i < curves[c].x.size(); ++i) {
            if (!std::isfinite(curves[c].y[i])) continue;
            const ImVec2 at = area.at(curves[c].x[i], curves[c].y[i]);
            const float away = std::hypot(at.x - mouse.x, at.y - mouse.y);
            if (away >= least) continue;
            least = away;
            found = {c, i};
        }
    return found;
}

// Returns the point of a curve that is nearest along the axis.
std::optional<std::size_t> nearest(const Area& area, const ChartCurve& curve, double x) {
    std::optional<std::size_t> best;
    const auto away = [&](std::size_t i) { return std::abs(area.x(curve.x[i]) - area.x(x)); };
    for (std::size_t i = 0; i < curve.x.size(); ++i)
        if (std::isfinite(curve.y[i]) && (!best || away(i) < away(*best))) best = i;
    return best;
}

std::string told(const Chart& chart, const ChartCurve& curve, std::size_t i) {
    std::string text = (curve.name.empty() ? "" : curve.name + "\n") + chart.x.title + ": " +
                       app::shortest(static_cast<float>(curve.x[i])) + "\n" + chart.y.title + ": " +
                       number_text(chart.y, curve.y[i]);
    if (!curve.band_low.empty())
        text += ", from " + number_text(chart.y, curve.band_low[i]) + " to " +
                number_text(chart.y, curve.band_high[i]);
    if (!curve.notes.empty()) text += "\n" + curve.notes[i];
    return text;
}

// An upright line stands at one place of the axis and has no value elsewhere.
bool is_upright(const ChartCurve& curve) { return curve.x.size() > 1 && curve.x.front() == curve.x.back(); }

// Holds the names of the curves, with their values at the mark.
struct Legend {
    struct Entry {
        std::size_t curve;
        std::optional<std::size_t> point;  // at the mark
        std::string text;
        ImVec2 min, max;
    };
    std::vector<Entry> entries;
    float height = 0, extra = 0;  // `extra`: additional row height for fingers
};

Legend legend_of(const Area& area, ImVec2 at, float width, std::span<const ChartCurve> curves) {
    Type mono(Face::mono, 12);
    Legend legend;
    // Values at the mark can be pressed.
    const float row =
        area.chart.marked && narrow_window() ? std::max(finger_size, legend_height) : legend_height;
    ImVec2 to = at;
    for (std::size_t c = 0; c < curves.size(); ++c) {
        const ChartCurve& curve = curves[c];
        if (curve.name.empty()) continue;
        Legend::Entry entry{c, std::nullopt, curve.name, {}, {}};
        if (area.chart.marked && !is_upright(curve)) entry.point = nearest(area, curve, *area.chart.marked);
        if (entry.point) entry.text += " " + number_text(area.chart.y, curve.y[*entry.point]);
        const float wide = text_size(entry.text).x + 16;
        if (to.x > at.x && to.x + wide > at.x + width) to = {at.x, to.y + row};
        entry.min = to;
        entry.max = {std::min(to.x + wide, at.x + width), to.y + row};
        legend.entries.push_back(std::move(entry));
        to.x += wide + 14;
    }
    legend.height = to.y + row - at.y;
    legend.extra = legend.height * (1 - legend_height / row);
    return legend;
}

void draw_legend(ImDrawList* list, const Legend& legend, float width, std::span<const ChartCurve> curves) {
    Type mono(Face::mono, 12);
    for (const Legend::Entry& entry : legend.entries) {
        const ImVec2 at{entry.min.x, std::floor((entry.min.y + entry.max.y - legend_height) / 2)};
        list->AddRectFilled({at.x, at.y + 6}, {at.x + 10, at.y + 9}, curves[entry.curve].colour, 1.5f);
        draw_text_within(list, {at.x + 14, at.y}, width - 14, theme().dim, entry.text);
    }
}

bool lies_in(ImVec2 point, ImVec2 min, ImVec2 max) {
    return point.x >= min.x && point.x < max.x && point.y >= min.y && point.y < max.y;
}

// Returns the point reached without a mouse: a value at the mark, a bar, or a point of a plane.
std::optional<ChartReply::Point> asked_point(const Area& area, const Legend& legend,
                                             std::span<const ChartCurve> curves, bool& pressed) {
    constexpr std::size_t most_options = 256;
    const std::string key = "chart/" + area.chart.name;
    std::optional<ChartReply::Point> found;
    const auto answer = [&](const std::string& prefix, auto&& point_of) {
        const auto asked = asked_place(prefix);
        if (!asked) return;
        found = point_of(static_cast<std::size_t>(asked->col));
        pressed = found && asked->pressed && take_press();
    };
    for (const Legend::Entry& entry : legend.entries)
        if (entry.point)
            semantic_place(Role::button, key + "/at-mark/" + std::to_string(entry.curve),
                           area.chart.y.title + ", " + entry.text, entry.min, entry.max);
    answer(key + "/at-mark/", [&](std::size_t curve) -> std::optional<ChartReply::Point> {
        for (const Legend::Entry& entry : legend.entries)
            if (entry.curve == curve && entry.point) return ChartReply::Point{curve, *entry.point};
        return std::nullopt;
    });
    for (std::size_t c = 0; c < curves.size(); ++c) {
        const ChartCurve& curve = curves[c];
        if (!curve.bars && !curve.apart) continue;
        const std::string list = key + (curve.bars ? "/bars/" : "/points/") + std::to_string(c);
        const SemanticGroup group(Role::listbox, list, curve.name);
        const std::size_t count = std::min(curve.x.size(), most_options);
        for (std::size_t i = 0; i < count; ++i) {
            const std::string option = list + "/" + std::to_string(i),
                              value = app::shortest(static_cast<float>(curve.x[i])) + ": " +
                                      number_text(area.chart.y, curve.y[i]);
            if (curve.bars) {
                const auto [from, to] = bar_ends(area, curve, i);
                semantic_place(Role::option, option, value, {from, area.min.y}, {to, area.max.y}).on = false;
                continue;
            }
            const ImVec2 at = area.at(curve.x[i], curve.y[i]);
            semantic_place(Role::option, option, (curve.notes.empty() ? "" : curve.notes[i] + ", ") + value,
                           {at.x - 4, at.y - 4}, {at.x + 4, at.y + 4})
                .on = false;
        }
        answer(list + "/", [&](std::size_t i) -> std::optional<ChartReply::Point> {
            return i < count ? std::optional(ChartReply::Point{c, i}) : std::nullopt;
        });
    }
    return found;
}

}  // namespace

ImU32 series_colour(std::size_t i) {
    static constexpr std::array<ImU32, 8> light{IM_COL32(0, 114, 178, 255),   IM_COL32(213, 94, 0, 255),
                                                IM_COL32(0, 158, 115, 255),   IM_COL32(204, 121, 167, 255),
                                                IM_COL32(86, 180, 233, 255),  IM_COL32(230, 159, 0, 255),
                                                IM_COL32(120, 120, 120, 255), IM_COL32(120, 94, 240, 255)};
    return light[i % light.size()];
}

ChartReply chart(const Chart& chart, float width, float height, std::span<const ChartCurve> curves) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    Area area{{at.x + tick_width, at.y}, {at.x + width - 6, at.y + height - x_axis_height}, chart};
    const Legend legend = legend_of(area, at, width, curves);
    area.min.y += y_title_height + legend.height;
    area.max.y += legend.extra;
    const Ticks rows = rows_of(area);
    area.min.x = at.x + rows_width(rows);
    ImGui::PushID(chart.name.c_str());
    ImGui::InvisibleButton("chart", {width, height + legend.extra});
    ImGui::PopID();
    const bool held = ui::held(), hovered = ImGui::IsItemHovered(), released = ImGui::IsItemDeactivated();
    landmark("chart/" + chart.name, area.min, area.max);
    draw_legend(list, legend, width, curves);
    draw_axes(list, area, rows);
    list->PushClipRect({area.min.x - 4, area.min.y - 4}, {area.max.x + 4, area.max.y + 4}, true);
    for (const ChartCurve& curve : curves) draw_curve(list, area, curve);
    if (chart.marked) {
        const float x = std::floor(area.x(*chart.marked)) + 0.5f;
        list->AddLine({x, area.min.y}, {x, area.max.y}, theme().accent, 1);
    }
    list->PopClipRect();

    ChartReply reply;
    std::string values;
    for (const ChartCurve& curve : curves) {
        const auto i = nearest(area, curve, chart.marked.value_or(chart.x.high));
        if (i && !curve.name.empty() && !is_upright(curve) && !curve.apart)
            values += (values.empty() ? "" : ", ") + curve.name + " " + number_text(chart.y, curve.y[*i]);
    }
    const ImVec2 mouse = ImGui::GetMousePos();
    if (chart.marked) {
        const auto asked = semantic_slider(
            "chart/" + chart.name, chart.title,
            chart.x.title + " " + app::shortest(static_cast<float>(*chart.marked)) + ": " + values,
            {*chart.marked, chart.x.low, chart.x.high}, chart.x.logarithmic);
        // A press on the legend does not drag the mark. On an axis of whole numbers, a step is at least 1.
        if (asked && chart.x.whole && std::abs(*asked - *chart.marked) < 1)
            reply.held = std::clamp(*chart.marked + std::copysign(1.0, *asked - *chart.marked), chart.x.low,
                                    chart.x.high);
        else if (asked)
            reply.held = *asked;
        else if (held && ImGui::GetIO().MouseClickedPos[0].y >= area.min.y)
            reply.held =
                at_share(chart.x, static_cast<double>((mouse.x - area.min.x) / (area.max.x - area.min.x)));
    } else {
        semantic_item(Role::img, "chart/" + chart.name, chart.title).value = std::move(values);
    }
    if (hovered) {
        reply.over = point_under(area, curves, mouse);
        for (const Legend::Entry& entry : legend.entries)
            if (entry.point && lies_in(mouse, entry.min, entry.max)) reply.over = {entry.curve, *entry.point};
        reply.clicked = reply.over && released && !dragged();
    }
    bool pressed = false;
    if (const auto asked = asked_point(area, legend, curves, pressed); asked && (!reply.over || pressed)) {
        reply.over = asked;
        reply.clicked = pressed;
    }
    if (!reply.over) return reply;
    const ChartCurve& curve = curves[reply.over->curve];
    const ImVec2 point = area.at(curve.x[reply.over->point], curve.y[reply.over->point]);
    list->AddCircle(point, 5, theme().text, 0, 1.5f);
    if (hovered)
        tooltip_at({point.x - 8, point.y - 8}, {point.x + 8, point.y + 8},
                   told(chart, curve, reply.over->point).c_str());
    return reply;
}

}  // namespace attn::ui
