// Draws all heads as points: one score horizontally, another vertically, coloured by layer.
#include <algorithm>
#include <cmath>
#include <vector>

#include "app/format.hpp"
#include "parts/heads_part.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::parts {

namespace {

constexpr float axis_width = 40, tick_height = 20, inset = 10;
constexpr float radius = 4.5f, mouse_reach = 14, finger_reach = 28;

struct Point {
    HeadIndex head;
    double across, up;
    ImVec2 at;
};

struct Plot {
    ImVec2 min, max;
    double most_across = 0, most_up = 0;  // ends of the axes; both begin at 0

    float x(double value) const {
        return min.x + inset + (max.x - min.x - 2 * inset) * static_cast<float>(value / most_across);
    }
    float y(double value) const {
        return max.y - inset - (max.y - min.y - 2 * inset) * static_cast<float>(value / most_up);
    }
};

// Returns the smallest number ≥ value that is 1, 2 or 5 times a power of ten.
double axis_end(double value) {
    if (!(value > 0)) return 1;
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (const double step : {1.0, 2.0, 5.0})
        if (value <= step * power) return step * power;
    return 10 * power;
}

std::vector<Point> points_of(const HeadsView& view, HeadScore across, HeadScore up) {
    std::vector<Point> points;
    for (Index layer = 0; layer < view.heads.layers(); ++layer)
        for (Index head = 0; head < view.heads.heads(); ++head) {
            const auto x = view.number({layer, head}, across), y = view.number({layer, head}, up);
            if (x && y) points.push_back({{layer, head}, *x, *y, {}});
        }
    return points;
}

// The first layers are pale, but still visible against the background.
ImU32 layer_colour(const HeadsView& view, Index layer) {
    const Index last = std::max(view.heads.layers() - 1, Index{1});
    return ui::sequential(0.3f + 0.7f * static_cast<float>(layer) / static_cast<float>(last));
}

std::string tick(double value) { return value == 0 ? "0" : app::shortest(value); }

void draw_axes(const Plot& plot, HeadScore across_score, HeadScore up_score) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    ui::Type mono(ui::Face::mono, 12);
    list->AddRect(plot.min, plot.max, ui::theme().border, 4);
    for (const double share : {0.0, 0.5, 1.0}) {
        const float x = std::floor(plot.x(share * plot.most_across)) + 0.5f,
                    y = std::floor(plot.y(share * plot.most_up)) + 0.5f;
        const ImU32 line = ui::with_alpha(ui::theme().border, 0.6f);
        list->AddLine({x, plot.min.y}, {x, plot.max.y}, line);
        list->AddLine({plot.min.x, y}, {plot.max.x, y}, line);
        const std::string across = tick(share * plot.most_across), up = tick(share * plot.most_up);
        ui::draw_text(list, {x - ui::text_size(across).x / 2, plot.max.y + 4}, ui::theme().dim, across);
        ui::draw_text(list, {plot.min.x - 6 - ui::text_size(up).x, y - ImGui::GetFontSize() / 2},
                      ui::theme().dim, up);
    }
    const std::string unit = info(across_score).unit;
    ui::draw_text(list, {plot.max.x - 6 - ui::text_size(unit).x, plot.max.y - ImGui::GetFontSize() - 4},
                  ui::theme().dim, unit);
    ui::draw_text(list, {plot.min.x + 6, plot.min.y + 4}, ui::theme().dim, info(up_score).unit);
}

void draw_points(const HeadsView& view, const Plot& plot, const std::vector<Point>& points,
                 const Point* lit) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const auto dot = [&](const Point& point, float size) {
        list->AddCircleFilled(point.at, size, layer_colour(view, point.head.layer));
        list->AddCircle(point.at, size, ui::with_alpha(ui::theme().text, 0.35f));
    };
    const auto mark = [&](const Point& point, ImU32 colour) {
        dot(point, radius + 1);
        list->AddCircle(point.at, radius + 3, colour, 0, 2);
        ui::Type mono(ui::Face::mono, 12);
        const std::string name = view.short_name(point.head);
        const ImVec2 size = ui::text_size(name);
        const bool left = point.at.x + radius + 8 + size.x > plot.max.x;
        const ImVec2 at{left ? point.at.x - radius - 8 - size.x : point.at.x + radius + 8,
                        point.at.y - size.y / 2};
        // A background keeps the text readable on top of other points.
        list->AddRectFilled({at.x - 2, at.y}, {at.x + size.x + 2, at.y + size.y},
                            ui::with_alpha(ui::theme().background, 0.85f), 3);
        ui::draw_text(list, at, colour, name);
    };
    for (const Point& point : points) dot(point, radius);
    for (const Point& point : points)
        if (point.head == view.chosen()) mark(point, ui::theme().accent);
    if (lit && lit->head != view.chosen()) mark(*lit, ui::theme().text);
}

// Draws the colours of the layers on a line that begins at `at`.
void draw_legend(const HeadsView& view, ImVec2 at) {
    if (view.heads.layers() < 2) return;
    ImDrawList* list = ImGui::GetWindowDrawList();
    ui::Type small(ui::Face::regular, ui::size_small);
    const float middle = at.y + ImGui::GetFrameHeight() / 2, top = middle - ImGui::GetFontSize() / 2;
    const Index end = view.heads.layers() - 1;
    const std::string first = view.layers.name(0),
                      last = view.layers.decoder > 0 ? view.layers.name(end) : std::to_string(end);
    ui::draw_text(list, {at.x, top}, ui::theme().dim, first);
    const float left = at.x + ui::text_size(first).x + 6;
    const float step = std::min(8.0f, 64 / static_cast<float>(view.heads.layers()));
    for (Index layer = 0; layer < view.heads.layers(); ++layer) {
        const float x = left + static_cast<float>(layer) * step;
        list->AddRectFilled({x, middle - 4}, {x + step, middle + 4}, layer_colour(view, layer));
    }
    ui::draw_text(list, {left + static_cast<float>(view.heads.layers()) * step + 6, top}, ui::theme().dim,
                  last);
}

const Point* nearest(const std::vector<Point>& points, ImVec2 mouse) {
    const bool finger = ImGui::GetIO().MouseSource == ImGuiMouseSource_TouchScreen;
    const auto away = [&](const Point& point) {
        return std::hypot(point.at.x - mouse.x, point.at.y - mouse.y);
    };
    const auto found = std::ranges::min_element(points, {}, away);
    return found != points.end() && away(*found) <= (finger ? finger_reach : mouse_reach) ? &*found : nullptr;
}

// Arrow keys go to the next head in that direction.
void walk(const HeadsView& view, const std::vector<Point>& points) {
    const auto go = [&](double Point::* score, int way) {
        const auto from = std::ranges::find(points, view.chosen(), &Point::head);
        if (from == points.end()) return;
        const auto place = [&](const Point& point) {
            return std::pair(point.*score, view.heads.number(point.head));
        };
        const Point* to = nullptr;
        for (const Point& point : points) {
            if (way > 0 ? place(point) <= place(*from) : place(point) >= place(*from)) continue;
            if (!to || (way > 0 ? place(point) < place(*to) : place(point) > place(*to))) to = &point;
        }
        if (to) view.choose(to->head);
    };
    if (arrow_pressed(ImGuiKey_LeftArrow)) go(&Point::across, -1);
    if (arrow_pressed(ImGuiKey_RightArrow)) go(&Point::across, 1);
    if (arrow_pressed(ImGuiKey_DownArrow)) go(&Point::up, -1);
    if (arrow_pressed(ImGuiKey_UpArrow)) go(&Point::up, 1);
}

void tell(const HeadsView& view, const Point& point, HeadScore across, HeadScore up) {
    view.point(point.head);
    view.explain(point.head, up);
    std::string text = view.introduced(point.head);
    for (const HeadScore score : {across, up}) text.append("\n").append(view.told(point.head, score));
    ui::tooltip(text.c_str());
}

void axis_menu(const HeadsView& view, const char* name, const char* label, const char* arrow, HeadScore taken,
               std::optional<HeadScore> app::HeadsChoice::* axis) {
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({8, 4}));
    const auto chosen = score_menu(view, name, label, taken);
    ImGui::PopStyleVar();
    ImGui::SameLine(0, 6);
    ImGui::AlignTextToFramePadding();
    ui::Type small(ui::Face::regular, ui::size_small);
    ui::text_item(arrow);
    if (!chosen) return;
    app::HeadsChoice choice = view.choice;
    choice.*axis = *chosen;
    view.choose_view(choice);
}

}  // namespace

void head_scatter(const HeadsView& view, HeadScore across, HeadScore up, float width, float most_height) {
    axis_menu(view, "heads/up", "Upwards", "↑", up, &app::HeadsChoice::against);
    std::vector<Point> points = points_of(view, across, up);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const float below = tick_height + 2 * ImGui::GetFrameHeightWithSpacing(),
                height = std::clamp(width * 0.8f, 160.0f, std::max(most_height - below, 160.0f));
    Plot plot{{corner.x + axis_width, corner.y}, {corner.x + width, corner.y + height}};
    for (const Point& point : points) {
        plot.most_across = std::max(plot.most_across, point.across);
        plot.most_up = std::max(plot.most_up, point.up);
    }
    plot.most_across = axis_end(plot.most_across);
    plot.most_up = axis_end(plot.most_up);
    for (Point& point : points) point.at = {plot.x(point.across), plot.y(point.up)};

    ImGui::SetCursorScreenPos(plot.min);
    ImGui::InvisibleButton("points", {plot.max.x - plot.min.x, height});
    ui::landmark_item("heads/scatter");
    walk(view, points);
    const Point* lit = ImGui::IsItemHovered() ? nearest(points, ImGui::GetMousePos()) : nullptr;
    if (const auto asked = ui::asked_place("heads/scatter/"); asked && !lit) {
        const auto found =
            std::ranges::find(points, asked->col, [&](const Point& p) { return view.heads.number(p.head); });
        if (found != points.end()) lit = &*found;
        if (lit && asked->pressed) view.choose(lit->head);
    }
    if (lit) {
        tell(view, *lit, across, up);
        if (ImGui::IsItemDeactivated() && !ui::dragged()) view.choose(lit->head);
    }
    draw_axes(plot, across, up);
    draw_points(view, plot, points, lit);
    ui::begin_semantic_group(ui::Role::listbox, "heads/points", "Heads");
    for (const Point& point : points) {
        const ImVec2 min{point.at.x - radius, point.at.y - radius},
            max{point.at.x + radius, point.at.y + radius};
        ui::landmark("head/" + std::to_string(point.head.layer) + "/" + std::to_string(point.head.head), min,
                     max);
        ui::semantic_place(ui::Role::option, "heads/scatter/" + std::to_string(view.heads.number(point.head)),
                           view.spoken(point.head, std::array{across, up}), min, max)
            .on = point.head == view.chosen();
    }
    ui::end_semantic_group();

    ImGui::SetCursorScreenPos({corner.x, plot.max.y + tick_height});
    const ImVec2 line = ImGui::GetCursorScreenPos();
    draw_legend(view, line);
    ImGui::SetCursorScreenPos({corner.x + width - ui::menu_width - 22, line.y});
    axis_menu(view, "heads/across", "To the right", "→", across, &app::HeadsChoice::by);
    const auto missing = view.heads.layers() * view.heads.heads() - std::ssize(points);
    if (view.heads.done() && missing && view.heads.measures(across) && view.heads.measures(up))
        ui::caption((std::to_string(missing) + (missing == 1 ? " head has" : " heads have") +
                     " no such number for this text.")
                        .c_str());
}

}  // namespace attn::parts
