// The chosen head large: a street map of its cells that zooms and pans.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "app/format.hpp"
#include "app/map_source.hpp"
#include "app/map_tiles.hpp"
#include "lenses/sentence_view.hpp"
#include "widgets/axis_labels.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::lenses {

namespace {

using app::MapStage;
using app::MapTiles;

constexpr float most_cell = 64, number_cell = 34, gap_cell = 7, axis_height = 20;
constexpr Index most_landmarks = 32 * 32;
// By MapStage.
constexpr std::array<const char*, 7> stage_names{"raw",     "scores",       "capped",   "biased",
                                                 "weights", "contribution", "projected"};
constexpr std::array<const char*, 7> stage_titles{"score",  "scaled score", "capped score",    "masked score",
                                                  "weight", "weight × ‖V‖", "weight × ‖V W_O‖"};
constexpr std::array<const char*, 2> pooling_names{"strongest", "mean"};

// Where on the map a person is: not State, as the scroll position of a page is not.
struct Place {
    Index tokens = 0;
    float zoom = 1;            // 1: the whole map
    float query = 0, key = 0;  // the cell in the upper left corner
};
Place place;
MapTiles tiles;
bool pooled = false;  // in the last frame cells shared texels

// The map of the present choice, which is the same object as long as the choice is the same.
struct Source {
    std::shared_ptr<const Trace> trace;
    Index layer = 0, head = 0;
    MapStage stage = MapStage::weight;
    MapPointer map;
};
Source source;

const MapPointer& map_of(const SentenceView& view, MapStage stage) {
    const app::Selection& s = view.selection();
    if (!source.map || source.trace != view.run.trace || source.layer != s.layer || source.head != s.head ||
        source.stage != stage)
        source = {view.run.trace, s.layer, s.head, stage,
                  app::map_of(view.run.trace, s.layer, s.head, stage)};
    return source.map;
}

// Those that say something else than the one before.
std::vector<MapStage> stages_of(const AttentionSpec& spec) {
    std::vector<MapStage> stages{MapStage::raw, MapStage::scaled};
    if (spec.softcap > 0) stages.push_back(MapStage::capped);
    if (!spec.bias.empty()) stages.push_back(MapStage::masked);
    stages.insert(stages.end(), {MapStage::weight, MapStage::contribution, MapStage::projected});
    return stages;
}

struct Plot {
    ImVec2 min;
    float side;  // points
    float cell;  // points, at this zoom
    Index n;

    ImVec2 max() const { return {min.x + side, min.y + side}; }
    float x(float key) const { return min.x + (key - place.key) * cell; }
    float y(float query) const { return min.y + (query - place.query) * cell; }
    Range queries() const { return shown(place.query); }
    Range keys() const { return shown(place.key); }

    // Of these the cells whose centre is in view.
    Range centred_queries() const { return centred(place.query); }
    Range centred_keys() const { return centred(place.key); }

  private:
    Range centred(float first) const {
        return {static_cast<Index>(std::ceil(first - 0.5f)),
                std::min(n, static_cast<Index>(std::floor(first + side / cell - 0.5f + 1e-3f)) + 1)};
    }
    Range shown(float first) const {
        return {static_cast<Index>(first),
                std::min(n, static_cast<Index>(std::ceil(first + side / cell - 1e-3f)))};
    }
};

bool is_signed(MapStage stage) { return stage < MapStage::weight; }

// Whose explanation a cell of the map opens.
app::MatrixId matrix_of(MapStage stage) {
    switch (stage) {
        case MapStage::raw: return app::MatrixId::raw;
        case MapStage::scaled: return app::MatrixId::scaled;
        case MapStage::capped: return app::MatrixId::capped;
        case MapStage::masked: return app::MatrixId::masked;
        case MapStage::weight:
        case MapStage::contribution:
        case MapStage::projected: break;
    }
    return app::MatrixId::weight;
}

ui::ColourScale scale_of(MapStage stage) {
    if (stage == MapStage::weight) return ui::sequential_scale(1);
    return is_signed(stage) ? ui::diverging_scale(tiles.extent()) : ui::sequential_scale(tiles.extent());
}

void keep_inside(const Plot& plot) {
    const float last = std::max(static_cast<float>(plot.n) - plot.side / plot.cell, 0.0f);
    place.query = std::clamp(place.query, 0.0f, last);
    place.key = std::clamp(place.key, 0.0f, last);
}

// ---- Cells -------------------------------------------------------------------------------------------------------

render::Heatmap heatmap_of(const Plot& plot, const MapTiles::Texels& texels, TileAt at) {
    const float block = static_cast<float>(Index{1} << at.level),
                span = static_cast<float>(tile_side) * block;
    render::Heatmap map;
    map.key = {&tiles, texels.serial};
    map.values = texels.values.data();
    map.rows = texels.rows;
    map.cols = texels.cols;
    map.origin = {plot.x(static_cast<float>(at.col) * span), plot.y(static_cast<float>(at.row) * span)};
    map.cell = {plot.cell * block, plot.cell * block};
    map.min = {std::max(map.origin.x, plot.min.x), std::max(map.origin.y, plot.min.y)};
    const auto n = static_cast<float>(plot.n);
    map.max = {std::min({map.origin.x + span * plot.cell, plot.x(n), plot.max().x}),
               std::min({map.origin.y + span * plot.cell, plot.y(n), plot.max().y})};
    map.gaps = plot.cell >= gap_cell;
    return map;
}

void add(std::vector<render::Heatmap>& maps, const Plot& plot, TileAt at) {
    if (const MapTiles::Texels* texels = tiles.find(at)) maps.push_back(heatmap_of(plot, *texels, at));
}

// What lies under a tile that is not complete: the coarser ones, the coarsest first.
void add_coarser(std::vector<render::Heatmap>& maps, const Plot& plot, TileAt at) {
    if (at.level >= tiles.coarsest()) return;
    const TileAt above{at.level + 1, at.row / 2, at.col / 2};
    const MapTiles::Texels* texels = tiles.find(above);
    if (!texels || !texels->complete) add_coarser(maps, plot, above);
    if (!texels) return;
    render::Heatmap map = heatmap_of(plot, *texels, above);
    const float span = static_cast<float>(tile_side << at.level);
    const ImVec2 min{plot.x(static_cast<float>(at.col) * span), plot.y(static_cast<float>(at.row) * span)};
    map.min = {std::max(map.min.x, min.x), std::max(map.min.y, min.y)};
    map.max = {std::min(map.max.x, min.x + span * plot.cell), std::min(map.max.y, min.y + span * plot.cell)};
    map.gaps = false;
    maps.push_back(map);
}

void draw_cells(SentenceView& view, const Plot& plot, const ui::ColourScale& scale) {
    const float density = ImGui::GetIO().DisplayFramebufferScale.x;
    Index level = 0;
    while (level < tiles.coarsest() && plot.cell * density * static_cast<float>(Index{1} << level) < 1)
        ++level;
    pooled = level > 0;
    const Range queries = plot.queries(), keys = plot.keys();
    tiles.look_at(level, queries, keys);
    bool more = true;
    do more = tiles.step();
    while (more && !view.deadline.passed());
    view.more |= more;

    const Index span = tile_side << level;
    std::vector<render::Heatmap> maps;
    for (Index row = queries.begin / span; row * span < queries.end; ++row)
        for (Index col = keys.begin / span; col * span < keys.end; ++col) {
            const TileAt at{level, row, col};
            const MapTiles::Texels* texels = tiles.find(at);
            if (!texels || !texels->complete) add_coarser(maps, plot, at);
            add(maps, plot, at);
        }
    for (render::Heatmap& map : maps) ui::use_scale(map, scale);
    render::draw(ImGui::GetWindowDrawList(), maps);
}

void draw_numbers(const SentenceView& view, const Plot& plot, const ui::ColourScale& scale) {
    if (plot.cell < number_cell) return;
    ui::Type mono(ui::Face::mono, ui::size_small);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const bool weights = view.session.state().sentence.map.stage == MapStage::weight;
    for (Index q = plot.queries().begin; q < plot.queries().end; ++q)
        for (Index k = plot.keys().begin; k < plot.keys().end; ++k) {
            const auto value = tiles.cell(q, k);
            if (!value || (std::isinf(*value) && *value < 0)) continue;
            for (int decimals = weights ? 3 : 2; decimals >= 0; --decimals) {
                const std::string text = app::fixed(static_cast<double>(*value), decimals);
                const ImVec2 size = ui::text_size(text);
                if (size.x > plot.cell - 4 && decimals > 0) continue;
                const ImVec2 at{plot.x(static_cast<float>(k)) + (plot.cell - size.x) / 2,
                                plot.y(static_cast<float>(q)) + (plot.cell - size.y) / 2};
                // No number is cut: a cell at the edge that cannot show it whole shows none.
                if (at.x >= plot.min.x && at.y >= plot.min.y && at.x + size.x <= plot.max().x &&
                    at.y + size.y <= plot.max().y)
                    ui::draw_text(list, at, ui::ink_on(scale.colour(*value)), text);
                break;
            }
        }
}

// ---- What is pointed at, chosen, pinned --------------------------------------------------------------------------

void outline(const Plot& plot, Range queries, Range keys, ImU32 colour, float thick) {
    ImVec2 a{plot.x(static_cast<float>(keys.begin)), plot.y(static_cast<float>(queries.begin))};
    ImVec2 b{plot.x(static_cast<float>(keys.end)), plot.y(static_cast<float>(queries.end))};
    const auto widen = [](float& low, float& high) {  // cells of less than a point still show
        if (high - low < 4) low -= (4 - (high - low)) / 2, high = low + 4;
    };
    widen(a.x, b.x);
    widen(a.y, b.y);
    ImGui::GetWindowDrawList()->AddRect({a.x - 1, a.y - 1}, {b.x, b.y}, colour,
                                        plot.cell >= gap_cell ? 3.0f : 0, 0, thick);
}

void draw_marks(const SentenceView& view, const Plot& plot) {
    const ui::Theme& t = ui::theme();
    const Range all{0, plot.n};
    if (const auto key = view.key()) outline(plot, all, {*key, *key + 1}, ui::with_alpha(t.dim, 0.8f), 1);
    outline(plot, {view.query(), view.query() + 1}, all, t.accent, 2);
    if (const auto& pin = view.session.state().pin; pin && app::is_stage(pin->matrix))
        outline(plot, {pin->row, pin->row + 1}, {pin->col, pin->col + 1}, t.accent, 3);
    if (view.pointed.query && view.pointed.key)
        outline(plot, {*view.pointed.query, *view.pointed.query + 1},
                {*view.pointed.key, *view.pointed.key + 1}, t.text, 2);
}

// On a phone the inspector comes up over what was tapped: the lens scrolls until the cell is in view again.
void keep_pin_in_view(const SentenceView& view, const Plot& plot) {
    static std::optional<app::CellRef> kept;
    static int frames = 0;  // that the layout still moves
    const auto& pin = view.session.state().pin;
    if (pin != kept) frames = 4;
    kept = pin;
    if (frames == 0) return;
    --frames;
    if (!pin || !app::is_stage(pin->matrix)) return;
    const float y = plot.y(static_cast<float>(pin->row)), window = ImGui::GetWindowPos().y;
    if (y < window || y + plot.cell > window + ImGui::GetWindowHeight()) ImGui::SetScrollFromPosY(y - window);
}

void set_landmarks(const Plot& plot) {
    const Range queries = plot.queries(), keys = plot.keys();
    if (queries.size() * keys.size() > most_landmarks) return;
    const ImVec2 low = plot.min, high = plot.max();
    for (Index q = queries.begin; q < queries.end; ++q)
        for (Index k = keys.begin; k < keys.end; ++k) {
            const float x = plot.x(static_cast<float>(k)), y = plot.y(static_cast<float>(q));
            ui::landmark("map/" + std::to_string(q) + "/" + std::to_string(k),
                         {std::max(x, low.x), std::max(y, low.y)},
                         {std::min(x + plot.cell, high.x), std::min(y + plot.cell, high.y)});
        }
}

void draw_labels(const SentenceView& view, const Plot& plot, ui::AxisLabels rows, ui::AxisLabels columns,
                 float left) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    rows.shown = plot.centred_queries();
    rows.first = plot.y(static_cast<float>(rows.shown.begin));
    columns.shown = plot.centred_keys();
    columns.first = plot.x(static_cast<float>(columns.shown.begin));
    rows.cell = columns.cell = plot.cell;
    rows.strong = view.query();
    columns.lit = view.key();
    list->PushClipRect({plot.min.x - 200, plot.min.y - 8}, {plot.min.x, plot.max().y + 8}, true);
    ui::draw_row_labels(list, rows, plot.min.x);
    list->PopClipRect();
    ui::draw_column_labels(list, columns, plot.min.y);
    ui::Type small(ui::Face::regular, ui::size_small);
    ui::draw_text(list, {left, plot.max().y + 3}, ui::theme().dim, "query ↓");
    ui::draw_text(list, {plot.max().x - ui::text_size("key →").x, plot.max().y + 3}, ui::theme().dim,
                  "key →");
}

// ---- Mouse -------------------------------------------------------------------------------------------------------

void zoom_by(Plot& plot, float fit, float factor, ImVec2 around) {
    const float most = std::max(most_cell / fit, 1.0f);
    const float key = place.key + (around.x - plot.min.x) / plot.cell,
                query = place.query + (around.y - plot.min.y) / plot.cell;
    place.zoom = std::clamp(place.zoom * factor, 1.0f, most);
    plot.cell = fit * place.zoom;
    place.key = key - (around.x - plot.min.x) / plot.cell;
    place.query = query - (around.y - plot.min.y) / plot.cell;
}

void act(SentenceView& view, Plot& plot, float fit) {
    const ImGuiIO& io = ImGui::GetIO();
    ImGui::SetCursorScreenPos(plot.min);
    ImGui::InvisibleButton("plot", {plot.side, plot.side});
    ui::landmark_item("map");
    ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
    const bool hovered = ImGui::IsItemHovered();
    if (hovered && io.MouseWheel != 0) zoom_by(plot, fit, std::exp(io.MouseWheel * 0.2f), io.MousePos);
    if (ImGui::IsItemActive() && ImGui::IsMouseDragging(0)) {
        if (place.zoom > 1) {
            place.key -= io.MouseDelta.x / plot.cell;
            place.query -= io.MouseDelta.y / plot.cell;
            ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeAll);
        } else {
            ImGui::SetScrollY(ImGui::GetScrollY() - io.MouseDelta.y);
        }
    }
    if (hovered && ImGui::IsMouseDoubleClicked(0)) {
        place.zoom = 1;
        plot.cell = fit;
    }
    keep_inside(plot);
    if (!hovered) return;

    const auto at = [&](float mouse, float low, float first) {
        return std::clamp(static_cast<Index>(first + (mouse - low) / plot.cell), Index{0}, plot.n - 1);
    };
    const Index query = at(io.MousePos.y, plot.min.y, place.query),
                key = at(io.MousePos.x, plot.min.x, place.key);
    const app::CellRef cell{matrix_of(view.session.state().sentence.map.stage), query, key};
    view.point(query, key);
    view.hover.cell = cell;
    if (ImGui::IsItemDeactivated() && !dragged() && !ImGui::IsMouseDoubleClicked(0)) {
        view.session.perform(app::Pin{cell}, ui::gesture());
        view.select(query, key);
    }
}

// Zooms asked for by button, done where the plot is known.
float controls(SentenceView& view, float width) {
    const float right = ImGui::GetCursorPosX() + width;
    ui::section("Map", true);
    ImGui::SameLine(0, 14);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {8, 4});
    const app::MapChoice choice = view.session.state().sentence.map;
    const std::vector<MapStage> stages = stages_of(view.record().spec());
    std::vector<const char*> names;
    for (const MapStage stage : stages) names.push_back(stage_names[static_cast<std::size_t>(stage)]);
    const auto taken = std::ranges::find(stages, choice.stage) - stages.begin();
    if (const auto chosen = ui::choice("map/stage", names, static_cast<int>(taken)))
        view.session.perform(app::SetMap{{stages[static_cast<std::size_t>(*chosen)], choice.pooling}});
    if (pooled) {
        ui::next_control(170);
        if (const auto chosen = ui::choice("map/pooling", pooling_names, static_cast<int>(choice.pooling)))
            view.session.perform(app::SetMap{{choice.stage, static_cast<app::Pooling>(*chosen)}});
        ui::tooltip("What a block of cells that share a pixel shows");
    }
    ImGui::SameLine(right - 56, 0);
    float factor = 1;
    if (ui::button("map/out", "−", place.zoom > 1)) factor = 1 / 1.5f;
    ui::tooltip("Smaller");
    ImGui::SameLine(right - 26, 0);
    if (ui::button("map/in", "+")) factor = 1.5f;
    ui::tooltip("Larger: or turn the wheel over the map; a double click shows it whole");
    ImGui::PopStyleVar();
    return factor;
}

}  // namespace

void sentence_map(SentenceView& view, float width, float most_height) {
    const Index n = view.tokens();
    if (std::abs(n - place.tokens) > 1) place = {};  // another text; one more token is the same, going on
    place.tokens = n;
    const auto [stage, pooling] = view.session.state().sentence.map;
    const MapPointer& map = map_of(view, stage);
    tiles.show(map, pooling);
    const float factor = controls(view, width);

    ui::AxisLabels rows;
    rows.names = view.run.pieces;
    rows.shown = {0, n};
    rows.most = std::min(96.0f, width * 0.2f);
    ui::AxisLabels columns = rows;
    const float left = std::max(ui::row_labels_width(rows), 24.0f);
    const float below = axis_height + 10 + ui::colour_bar_height;
    const float density = ImGui::GetIO().DisplayFramebufferScale.x;
    // Whole pixels a cell where cells are that large, so that all are alike.
    const auto cell_for = [&](float room) {
        const float fit = std::min(room / static_cast<float>(n), most_cell);
        return fit >= 3 ? std::floor(fit * density) / density : fit;
    };
    columns.cell = cell_for(width - left);
    const float top = ui::column_labels_height(columns);
    const float fit = cell_for(
        std::max(std::min(width - left, most_height - top - below - ImGui::GetFrameHeight()), 120.0f));
    const float side = fit * static_cast<float>(n);

    const ImVec2 corner = ImGui::GetCursorScreenPos();
    Plot plot{{std::floor(corner.x + left), std::floor(corner.y + top)}, side, fit * place.zoom, n};
    if (factor != 1) zoom_by(plot, fit, factor, {plot.min.x + side / 2, plot.min.y + side / 2});
    act(view, plot, fit);

    const ui::ColourScale scale = scale_of(stage);
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->PushClipRect({plot.min.x - 2, plot.min.y - 2}, {plot.max().x + 2, plot.max().y + 2}, true);
    draw_cells(view, plot, scale);
    draw_numbers(view, plot, scale);
    draw_marks(view, plot);
    list->PopClipRect();
    draw_labels(view, plot, rows, columns, corner.x);
    set_landmarks(plot);
    keep_pin_in_view(view, plot);

    std::optional<float> marked;
    if (view.query() < n && view.key() && *view.key() < n) marked = map->cell(view.query(), *view.key());
    const float bar_width = std::min(side, 240.0f);
    ui::colour_bar({plot.min.x, plot.max().y + axis_height + 8}, std::max(bar_width, 160.0f), scale,
                   stage_titles[static_cast<std::size_t>(stage)], marked);
    ImGui::SetCursorScreenPos(corner);
    ImGui::Dummy({width, top + side + below});
    if (!render::heatmap_fault().empty())
        ui::caption(("The map cannot be drawn here: " + render::heatmap_fault()).c_str());
}

}  // namespace attn::lenses
