// Draws the plane: the basins, the keys, and the path from its start, which can be dragged.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>

#include "app/format.hpp"
#include "lenses/memory/memory.hpp"
#include "present/card.hpp"
#include "subjects/explain.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/fingers.hpp"
#include "widgets/heatmap.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::app::memory {

namespace {

constexpr float most_side = 420, left_margin = 46, axis_height = 36, legend_line = 20, near_key = 9;
constexpr double least_off = 1e-6;  // distance of a state from the plane, relative to max |k|
constexpr std::size_t colours = 7;  // colours of basins; the next one stands for all others
constexpr Index most_drawn = 2000, most_named = 40;  // keys

ImU32 mixed_with_background(ImU32 colour, float share) {
    const ImVec4 a = ImGui::ColorConvertU32ToFloat4(ui::theme().background),
                 b = ImGui::ColorConvertU32ToFloat4(colour);
    const auto mixed = [&](float from, float to) { return from + (to - from) * share; };
    return ImGui::ColorConvertFloat4ToU32({mixed(a.x, b.x), mixed(a.y, b.y), mixed(a.z, b.z), 1});
}

// Grey, in the series of colours, stands for the other basins.
ImU32 basin_colour(std::size_t i) {
    constexpr std::array<std::size_t, colours + 1> series{0, 1, 2, 3, 4, 5, 7, 6};
    return mixed_with_background(ui::series_colour(series[i]), 0.55f);
}

const render::Palette& basin_palette() {
    static render::Palette palette;
    static const ui::Theme* of = nullptr;
    if (of != &ui::theme()) {
        of = &ui::theme();
        for (std::size_t i = 0; i < palette.colours.size(); ++i)
            palette.colours[i] = basin_colour((i * colours + 127) / 255);
    }
    return palette;
}

// Places words on the picture where no other word is.
class Names {
  public:
    void write(ImVec2 at, const std::string& text) {
        const ImVec2 size = ui::text_size(text), min{at.x + 6, at.y - size.y / 2},
                     max{min.x + size.x, min.y + size.y};
        for (const auto& [low, high] : taken_)
            if (min.x < high.x && low.x < max.x && min.y < high.y && low.y < max.y) return;
        taken_.emplace_back(min, max);
        ImDrawList* list = ImGui::GetWindowDrawList();
        list->AddRectFilled({min.x - 3, min.y}, {max.x + 3, max.y}, ui::theme().background, 3);
        ui::draw_text(list, min, ui::theme().text, text);
    }

  private:
    std::vector<std::pair<ImVec2, ImVec2>> taken_;
};

// The square on the screen.
struct Square {
    Basins::Box box;
    ImVec2 at;
    float side;

    ImVec2 end() const { return {at.x + side, at.y + side}; }
    ImVec2 point(std::array<double, 2> place) const {
        const auto share = [&](std::size_t axis) {
            return static_cast<float>((place[axis] - box.low[axis]) / (box.high[axis] - box.low[axis]));
        };
        return {at.x + side * share(0), at.y + side * (1 - share(1))};
    }
    std::array<double, 2> place(ImVec2 point) const {
        const auto along = [&](std::size_t axis, float share) {
            return box.low[axis] +
                   (box.high[axis] - box.low[axis]) * static_cast<double>(std::clamp(share, 0.0f, 1.0f));
        };
        return {along(0, (point.x - at.x) / side), along(1, 1 - (point.y - at.y) / side)};
    }
    bool holds(ImVec2 point) const {
        return point.x >= at.x && point.x < at.x + side && point.y >= at.y && point.y < at.y + side;
    }
    void draw_axes(const std::string& across, const std::string& up) const;
};

void Square::draw_axes(const std::string& across, const std::string& up) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::Theme& t = ui::theme();
    const float bottom = at.y + side;
    list->AddRect(at, end(), t.border);
    {
        ui::Type mono(ui::Face::mono, 12);
        const auto ticks = [&](std::size_t axis) {
            const ui::ChartAxis along{"", box.low[axis], box.high[axis]};
            std::vector<std::pair<double, std::string>> labelled;
            const std::vector<double> values = ui::axis_ticks(along, 5);
            const std::vector<std::string> labels = ui::tick_labels(along, values);
            for (std::size_t i = 0; i < values.size(); ++i) labelled.emplace_back(values[i], labels[i]);
            return labelled;
        };
        for (const auto& [tick, text] : ticks(0)) {
            const float x = point({tick, 0}).x, wide = ui::text_size(text).x;
            list->AddLine({x, bottom}, {x, bottom + 4}, t.border);
            ui::draw_text(list, {ui::bounded(x - wide / 2, at.x, at.x + side - wide), bottom + 5}, t.dim,
                          text);
        }
        for (const auto& [tick, text] : ticks(1)) {
            const float y = point({0, tick}).y;
            list->AddLine({at.x - 4, y}, {at.x, y}, t.border);
            ui::draw_text(list, {at.x - 7 - ui::text_size(text).x, y - 7}, t.dim, text);
        }
    }
    ui::Type small(ui::Face::regular, 12);
    ui::draw_text(list, {at.x, at.y - 17}, t.dim, up + " ↑");
    const std::string title = across + " →";
    ui::draw_text(list, {at.x + side - ui::text_size(title).x, bottom + 19}, t.dim, title);
}

void paint_basins(Model& model) {
    const Basins& basins = *model.basins;
    Model::Picture& picture = model.picture;
    if (picture.version == basins.version()) return;
    static std::uint64_t painted = 0;
    picture.version = basins.version();
    picture.serial = ++painted;
    const auto& ends = basins.ends();
    std::vector<std::size_t> order;
    for (std::size_t e = 0; e < ends.size(); ++e)
        if (ends[e].places > 0) order.push_back(e);
    std::ranges::sort(order, {}, [&](std::size_t e) { return std::pair(-ends[e].places, e); });
    std::vector<float> colour_of(256, static_cast<float>(colours));
    colour_of[Basins::unknown] = HUGE_VALF;
    colour_of[Basins::moving] = -HUGE_VALF;
    picture.others = order.size() > colours;
    if (picture.others) order.resize(colours);
    for (std::size_t i = 0; i < order.size(); ++i) colour_of[order[i]] = static_cast<float>(i);
    picture.ends = std::move(order);
    picture.moving = false;
    picture.values.clear();
    for (Index row = basins.side() - 1; row >= 0; --row)
        for (Index col = 0; col < basins.side(); ++col) {
            const std::uint8_t end = basins.end_at(row, col);
            picture.moving = picture.moving || end == Basins::moving;
            picture.others = picture.others || end == Basins::others;
            picture.values.push_back(colour_of[end]);
        }
}

void draw_legend(const Model& model, Subject& subject, float width) {
    ui::Type small(ui::Face::regular, ui::size_small);
    ui::Lines lines(width, {16, 4});
    ImDrawList* list = ImGui::GetWindowDrawList();
    const auto entry = [&](ImU32 colour, const std::string& text, const std::string& name) {
        const float wide = std::min(ui::text_size(text).x, width - 16);
        const ImVec2 at = lines.place({wide + 16, legend_line});
        list->AddRectFilled({at.x, at.y + 4}, {at.x + 11, at.y + 15}, colour, 2);
        list->AddRect({at.x, at.y + 4}, {at.x + 11, at.y + 15}, ui::theme().border, 2);
        ui::draw_text_within(list, {at.x + 16, at.y + 1}, wide, ui::theme().text, text);
        ui::landmark(name, at, {at.x + 16 + wide, at.y + legend_line});
        ui::semantic_text(text, at, {at.x + 16 + wide, at.y + legend_line});
    };
    const double places = static_cast<double>(model.basins->side() * model.basins->side());
    for (std::size_t i = 0; i < model.picture.ends.size(); ++i) {
        const Basins::End& end = model.basins->ends()[model.picture.ends[i]];
        const MemoryKind kind = memory_kind(end.effective, model.patterns->count());
        const std::string share = percent(static_cast<double>(end.places) / places);
        const bool single = kind == MemoryKind::one || model.patterns->count() == 1;
        const std::string name =
            single ? key_name(subject, end.strongest)
            : kind == MemoryKind::all
                ? "mean of all"
                : "mean of " + fixed(end.effective, 1) + " keys, mostly " + key_name(subject, end.strongest);
        entry(basin_colour(i), name + ": " + share, "memory/basin/" + std::to_string(i));
    }
    if (model.picture.others) entry(basin_colour(colours), "other memories", "memory/basin/others");
    if (model.picture.moving) entry(ui::theme().masked, "still moving", "memory/basin/moving");
    lines.finish();
    if (model.picture.ends.size() == 1 && !model.picture.others && !model.picture.moving)
        ui::caption("At this β, every place in the plane leads to the same memory. Raise β to see several.");
}

// Keys and mouse move the start.
void move_start(const Model& model, const Drawing& drawing, const Square& square, std::array<double, 2> start,
                bool held) {
    State wanted = model.state;
    for (std::size_t axis = 0; axis < 2; ++axis) {
        const auto asked = ui::semantic_slider(
            axis == 0 ? "memory/start/across" : "memory/start/up", axis == 0 ? "start, across" : "start, up",
            fixed(start[axis], 3), {start[axis], model.plane->box.low[axis], model.plane->box.high[axis]});
        if (!asked) continue;
        wanted.start = start;
        (*wanted.start)[axis] = four_digits(*asked);
    }
    if (held && ImGui::IsMousePosValid()) {
        const auto place = square.place(ImGui::GetMousePos());
        wanted.start = {four_digits(place[0]), four_digits(place[1])};
    }
    set(model, drawing, wanted);
}

void draw_basins(Model& model, const Square& square) {
    if (!model.basins) return;
    paint_basins(model);
    render::Heatmap map;
    map.key = {&model, 0};
    map.version = model.picture.serial;
    map.values = model.picture.values.data();
    map.rows = map.cols = model.basins->side();
    map.min = map.origin = square.at;
    map.max = square.end();
    map.cell.x = map.cell.y = square.side / static_cast<float>(model.basins->side());
    const ui::ColourScale scale = ui::sequential_scale(static_cast<float>(colours));
    ui::use_scale(map, scale);
    map.palette = &basin_palette();
    ui::draw_heatmaps(ImGui::GetWindowDrawList(), std::array{map});
}

// Returns the key near the cursor.
std::optional<Index> draw_keys(const Model& model, const Square& square, Index drawn) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    std::optional<Index> over;
    float nearest = near_key;
    const ImVec2 mouse = ImGui::GetMousePos();
    for (Index i = 0; i < drawn; ++i) {
        const Index j = i * model.patterns->count() / drawn;
        const ImVec2 at = square.point(model.plane->places[static_cast<std::size_t>(j)]);
        list->AddCircleFilled(at, 3.5f, ui::theme().text);
        list->AddCircle(at, 3.5f, ui::theme().background);
        const float away = std::hypot(at.x - mouse.x, at.y - mouse.y);
        if (away >= nearest) continue;
        nearest = away;
        over = j;
    }
    return over;
}

void draw_steps(const Model& model, const Square& square, std::array<double, 2> start) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 grip = square.point(start);
    if (model.path) {
        ImVec2 from = grip;
        std::vector<ImVec2> steps;
        for (const auto& point : model.path->points() | std::views::drop(1))
            steps.push_back(square.point(model.plane->plane.place_of(point.state)));
        for (const ImVec2 to : steps) {
            list->AddLine(from, to, ui::theme().background, 5);
            list->AddLine(from, to, ui::theme().text, 2);
            from = to;
        }
        for (const ImVec2 step : steps) list->AddCircleFilled(step, 3, ui::theme().accent);
        list->AddCircle(from, 7, ui::theme().text, 0, 2);
    }
    list->AddCircleFilled(grip, 8, ui::theme().accent);
    list->AddCircle(grip, 8, ui::theme().background, 0, 2);
}

// Says what is under the cursor: a key, or where a start there would lead.
void tell_place(const Model& model, const Drawing& drawing, Subject& subject, const Square& square,
                std::optional<Index> over) {
    if (over) {
        const Index key = model.patterns->keys[static_cast<std::size_t>(*over)];
        ui::tooltip_at_cursor(key_name(subject, key).c_str());
        return drawing.point(model.row.query, key);
    }
    if (!model.basins) return;
    const auto place = square.place(ImGui::GetMousePos());
    const auto step = [&](std::size_t axis) {
        const double share = (place[axis] - model.plane->box.low[axis]) /
                             (model.plane->box.high[axis] - model.plane->box.low[axis]);
        return std::min(static_cast<Index>(share * static_cast<double>(model.basins->side())),
                        model.basins->side() - 1);
    };
    const std::uint8_t end = model.basins->end_at(step(1), step(0));
    if (end >= model.basins->ends().size()) return;
    const Basins::End& there = model.basins->ends()[end];
    const std::string text = "From here to " + fixed(there.effective, 2) + " of " +
                             many(model.patterns->count(), "key") + ", most " +
                             key_name(subject, there.strongest) + " (" + percent(there.weight) + ")";
    ui::tooltip_at_cursor(text.c_str());
}

}  // namespace

void draw_plane(Model& model, const Drawing& drawing, Subject& subject, float width) {
    if (!model.plane) return ui::caption("The directions of the plane are being looked for.");
    const present::Card card(drawing,
                             {.key = "memory/plane",
                              .title = "Basins",
                              .table = [&] { return plane_table(model, subject); },
                              .is_listed = false},
                             width);
    width = card.width();
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const float side = std::floor(std::min(width - left_margin - 4, most_side));
    const Square square{model.plane->box, {corner.x + left_margin, corner.y + 20}, side};
    ImGui::SetCursorScreenPos(square.at);
    ImGui::InvisibleButton("plane", {side, side});
    const bool held = ui::held(), hovered = ImGui::IsItemHovered();
    ui::takes_any_drag();
    ui::landmark_item("memory/plane");

    ui::semantic_item(ui::Role::img, "memory/plane", "The plane with its basins, the keys and the path");
    std::string across = "to the query", up = "to its strongest key";
    if (model.state.plane != Plane::query) {
        const auto shares = model.principal->shares();
        across = "first principal component, " + percent(shares[0]) + " of the keys’ variance";
        up = "second, " + percent(shares[1]);
    }
    const auto start = model.path ? model.plane->plane.place_of(model.path->points().front().state)
                                  : model.plane->plane.place_of(model.query);
    move_start(model, drawing, square, start, held);

    draw_basins(model, square);
    square.draw_axes(across, up);
    ImGui::GetWindowDrawList()->PushClipRect(square.at, square.end(), true);
    const Index count = model.patterns->count(), drawn = std::min(count, most_drawn);
    const std::optional<Index> over = draw_keys(model, square, drawn);
    const ImVec2 grip = square.point(start);
    draw_steps(model, square, start);
    {
        ui::Type small(ui::Face::regular, 12);
        Names names;
        names.write(grip, model.state.start ? "start" : "q");
        for (const Index j : model.path ? model.heaviest_keys(most_named) : std::vector<Index>{})
            names.write(square.point(model.plane->places[static_cast<std::size_t>(j)]),
                        label_at(subject.attention()->key_names(),
                                 model.patterns->keys[static_cast<std::size_t>(j)]));
    }
    ImGui::GetWindowDrawList()->PopClipRect();
    ui::landmark("memory/start", {grip.x - 8, grip.y - 8}, {grip.x + 8, grip.y + 8});
    if (hovered && !held && square.holds(ImGui::GetMousePos()))
        tell_place(model, drawing, subject, square, over);

    ImGui::SetCursorScreenPos(corner);
    ImGui::Dummy({width, 20 + side + axis_height});
    if (model.basins) draw_legend(model, subject, width);
    std::string told;
    if (count > drawn) told = with_commas(drawn) + " of " + with_commas(count) + " keys are drawn. ";
    const double off = model.path ? model.plane->plane.distance_to(model.path->points().front().state) : 0;
    if (!model.state.start && off > least_off * model.patterns->largest)
        told += "q itself lies " + fixed(off, 2) + " from this plane. ";
    if (model.basins && !model.basins->done())
        told += "The basins are being followed, " + std::to_string(model.basins->side()) + " × " +
                std::to_string(model.basins->side()) + " places so far.";
    if (!told.empty()) ui::caption(told.c_str());
}

}  // namespace attn::app::memory
