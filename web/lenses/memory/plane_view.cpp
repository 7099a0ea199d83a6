// Draws the plane: the basins, the keys, and the path from its start, which can be dragged.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

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
#include "widgets/plane_square.hpp"
#include "widgets/semantics.hpp"
#include "widgets/swatches.hpp"

namespace attn::app::memory {

namespace {

constexpr float most_side = 420, left_margin = 46, axis_height = 36;
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

void draw_legend(Model& model, Subject& subject, float width) {
    const BasinPicture& picture = model.picture.kept()->basins;
    ui::Swatches legend(width);
    const double places = static_cast<double>(model.basins()->side() * model.basins()->side());
    for (std::size_t i = 0; i < picture.ends.size(); ++i) {
        const Basins::End& end = model.basins()->ends()[picture.ends[i]];
        const MemoryKind kind = memory_kind(end.effective, model.patterns()->count());
        const std::string share = percent(static_cast<double>(end.places) / places);
        const bool single = kind == MemoryKind::one || model.patterns()->count() == 1;
        const std::string name =
            single ? key_name(subject, end.strongest)
            : kind == MemoryKind::all
                ? "mean of all"
                : "mean of " + fixed(end.effective, 1) + " keys, mostly " + key_name(subject, end.strongest);
        legend.add(basin_colour(i), name + ": " + share, "memory/basin/" + std::to_string(i));
    }
    if (picture.others) legend.add(basin_colour(colours), "other memories", "memory/basin/others");
    if (picture.moving) legend.add(ui::theme().masked, "still moving", "memory/basin/moving");
    legend.finish();
    if (picture.ends.size() == 1 && !picture.others && !picture.moving)
        ui::caption("At this β, every place in the plane leads to the same memory. Raise β to see several.");
}

// Keys and mouse move the start.
void move_start(const Model& model, const Drawing& drawing, const ui::PlaneSquare& square,
                std::array<double, 2> start, bool held) {
    State wanted = model.state;
    for (std::size_t axis = 0; axis < 2; ++axis) {
        const auto asked = ui::semantic_slider(
            axis == 0 ? "memory/start/across" : "memory/start/up", axis == 0 ? "start, across" : "start, up",
            fixed(start[axis], 3), {start[axis], square.low[axis], square.high[axis]});
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

void draw_basins(Model& model, const ui::PlaneSquare& square) {
    if (!model.basins()) return;
    const Model::PictureOf of{model.row, model.beta, model.state.plane, model.basins()->version()};
    // Textures are known by their versions, so a new picture never has the version of an older one.
    static std::uint64_t painted = 0;
    const auto& [picture, serial] =
        model.picture.of(of, [&] { return Model::Picture{picture_of(*model.basins(), colours), ++painted}; });
    render::Heatmap map;
    map.key = {&model, 0};
    map.version = serial;
    map.values = picture.values.data();
    map.rows = map.cols = model.basins()->side();
    map.min = map.origin = square.at;
    map.max = square.end();
    map.cell.x = map.cell.y = square.side / static_cast<float>(model.basins()->side());
    ui::use_scale(map, ui::sequential_scale(static_cast<float>(colours)));
    map.palette = &basin_palette();
    ui::draw_heatmaps(ImGui::GetWindowDrawList(), std::array{map});
}

// Says what is under the cursor: a key, or where a start there would lead.
void tell_place(const Model& model, const Drawing& drawing, Subject& subject, const ui::PlaneSquare& square,
                std::optional<Index> over) {
    if (over) {
        const Index key = model.patterns()->keys[static_cast<std::size_t>(*over)];
        ui::tooltip_at_cursor(key_name(subject, key).c_str());
        return drawing.point(model.row.query, key);
    }
    if (!model.basins()) return;
    const Basins& basins = *model.basins();
    const auto place = square.place(ImGui::GetMousePos());
    const auto step = [&](std::size_t axis) {
        const double share = (place[axis] - square.low[axis]) / (square.high[axis] - square.low[axis]);
        return std::min(static_cast<Index>(share * static_cast<double>(basins.side())), basins.side() - 1);
    };
    const std::uint8_t end = basins.end_at(step(1), step(0));
    if (end >= basins.ends().size()) return;
    const Basins::End& there = basins.ends()[end];
    const std::string text = "From here to " + fixed(there.effective, 2) + " of " +
                             many(model.patterns()->count(), "key") + ", most " +
                             key_name(subject, there.strongest) + " (" + percent(there.weight) + ")";
    ui::tooltip_at_cursor(text.c_str());
}

}  // namespace

void draw_plane(Model& model, const Drawing& drawing, Subject& subject, float width) {
    if (!model.plane()) return ui::caption("The directions of the plane are being looked for.");
    const present::Card card(drawing,
                             {.key = "memory/plane",
                              .title = "Basins",
                              .table = [&] { return plane_table(model, subject); },
                              .is_listed = false},
                             width);
    width = card.width();
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const float side = std::floor(std::min(width - left_margin - 4, most_side));
    const Basins::Box& box = model.plane()->box;
    const ui::PlaneSquare square{box.low, box.high, {corner.x + left_margin, corner.y + 20}, side};
    ImGui::SetCursorScreenPos(square.at);
    ImGui::InvisibleButton("plane", {side, side});
    const bool held = ui::held(), hovered = ImGui::IsItemHovered();
    ui::takes_any_drag();
    ui::landmark_item("memory/plane");

    ui::semantic_item(ui::Role::img, "memory/plane", "The plane with its basins, the keys and the path");
    std::string across = "to the query", up = "to its strongest key";
    if (model.state.plane != Plane::query) {
        const auto shares = model.modern->principal.shares();
        across = "first principal component, " + percent(shares[0]) + " of the keys’ variance";
        up = "second, " + percent(shares[1]);
    }
    const auto start = model.path() ? model.plane()->plane.place_of(model.path()->points().front().state)
                                    : model.plane()->plane.place_of(model.modern->query);
    move_start(model, drawing, square, start, held);

    draw_basins(model, square);
    square.draw_axes(across, up);
    ImGui::GetWindowDrawList()->PushClipRect(square.at, square.end(), true);
    const Index count = model.patterns()->count(), drawn = std::min(count, most_drawn);
    std::vector<std::array<double, 2>> keys, steps{start};
    for (Index i = 0; i < drawn; ++i)
        keys.push_back(model.plane()->places[static_cast<std::size_t>(i * count / drawn)]);
    std::optional<Index> over = square.draw_points(keys);
    if (over) *over = *over * count / drawn;
    for (std::size_t t = 1; model.path() && t < model.path()->points().size(); ++t)
        steps.push_back(model.plane()->plane.place_of(model.path()->points()[t].state));
    square.draw_path(steps, model.path() != nullptr);
    const ImVec2 grip = square.point(start);
    {
        ui::Type small(ui::Face::regular, 12);
        ui::PlacedNames names;
        names.write(grip, model.state.start ? "start" : "q");
        for (const Index j : model.path() ? model.heaviest_keys(most_named) : std::vector<Index>{})
            names.write(square.point(model.plane()->places[static_cast<std::size_t>(j)]),
                        label_at(subject.attention()->key_names(),
                                 model.patterns()->keys[static_cast<std::size_t>(j)]));
    }
    ImGui::GetWindowDrawList()->PopClipRect();
    ui::landmark("memory/start", {grip.x - 8, grip.y - 8}, {grip.x + 8, grip.y + 8});
    if (hovered && !held && square.holds(ImGui::GetMousePos()))
        tell_place(model, drawing, subject, square, over);

    ImGui::SetCursorScreenPos(corner);
    ImGui::Dummy({width, 20 + side + axis_height});
    if (model.basins()) draw_legend(model, subject, width);
    std::string told;
    if (count > drawn) told = with_commas(drawn) + " of " + with_commas(count) + " keys are drawn. ";
    const double off =
        model.path() ? model.plane()->plane.distance_to(model.path()->points().front().state) : 0;
    if (!model.state.start && off > least_off * model.patterns()->largest)
        told += "q itself lies " + fixed(off, 2) + " from this plane. ";
    if (model.basins() && !model.basins()->done())
        told += "The basins are being followed, " + std::to_string(model.basins()->side()) + " × " +
                std::to_string(model.basins()->side()) + " places so far.";
    if (!told.empty()) ui::caption(told.c_str());
}

}  // namespace attn::app::memory
