#include "widgets/map_view.hpp"

#include <algorithm>
#include <cmath>

#include "widgets/axis_labels.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/map_cells.hpp"
#include "widgets/map_plot.hpp"

namespace attn::ui {

namespace {

constexpr float least_side = 120, axis_height = 20, most_name_width = 96;
constexpr float margins_from = 420;  // points; a narrower map has no room for margins

// Returns the cell size at which this many cells fit; large cells are whole pixels, so that all are equal.
float cell_for(float room, Index count) {
    const float density = ImGui::GetIO().DisplayFramebufferScale.x;
    const float fit = std::min(room / static_cast<float>(count), most_cell);
    return fit >= 3 ? std::floor(fit * density) / density : fit;
}

void set_landmarks(const std::string& name, Range queries, Range keys, auto corner, ImVec2 low, ImVec2 high) {
    if (!can_be_told(queries, keys)) return;
    for (Index q = queries.begin; q < queries.end; ++q)
        for (Index k = keys.begin; k < keys.end; ++k) {
            const ImVec2 a = corner(q, k), b = corner(q + 1, k + 1);
            landmark(name + "/" + std::to_string(q) + "/" + std::to_string(k),
                     {std::max(a.x, low.x), std::max(a.y, low.y)},
                     {std::min(b.x, high.x), std::min(b.y, high.y)});
        }
}

void draw_labels(AxisLabels rows, AxisLabels columns, const MapPicture& picture, ImVec2 min, ImVec2 max) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    rows.strong = picture.query;
    columns.lit = picture.key;
    list->PushClipRect({min.x - 200, min.y - 8}, {min.x, max.y + 8}, true);
    draw_row_labels(list, rows, min.x);
    list->PopClipRect();
    draw_column_labels(list, columns, min.y);
}

// Draws the names of both axes below the map.
void draw_axis_titles(const MapPicture& picture, float left, float right, float y, bool margins) {
    const Type small(Face::regular, size_small);
    const std::string down = std::string(picture.rows) + " ↓", across = std::string(picture.columns) + " →";
    ImDrawList* list = ImGui::GetWindowDrawList();
    draw_text(list, {left, y}, theme().dim, down);
    draw_text(list, {right - (margins ? -8 : text_size(across).x), y}, theme().dim, across);
}

}  // namespace

MarginTouch MapView::draw_margins(const Plot& plot, const MapPicture& picture) {
    Margins margins;
    margins.name = picture.name;
    margins.pinned = picture.pinned_margin;
    margins.queries = {plot.min.y, plot.cell.y, plot.first.y, plot.queries()};
    margins.keys = {plot.min.x, plot.cell.x, plot.first.x, plot.keys()};
    margins.right = plot.max().x;
    margins.bottom = plot.max().y;
    margins.pointed_query = picture.pointed ? std::optional(picture.pointed->query) : picture.query;
    margins.pointed_key = picture.pointed ? std::optional(picture.pointed->key) : picture.key;
    margins.weights = picture.choice.stage == Stage::weight;
    margins.query_names = picture.query_names;
    margins.key_names = picture.key_names;
    return ui::draw_margins(tiles_.sums(), margins);
}

// ---- The rectangle ----------------------------------------------------------------------------------------

void MapView::brush(const MapWindow& window) {
    if (brushed_ && brushed_->queries.begin == window.queries.begin &&
        brushed_->queries.end == window.queries.end && brushed_->keys.begin == window.keys.begin &&
        brushed_->keys.end == window.keys.end)
        return;
    brushed_ = window;
    sums_ = {};
    brush_of_.reset();
}

void MapView::forget_brush() {
    brushed_.reset();
    brush_job_.reset();
    brush_of_.reset();
}

void MapView::forget_map() {
    forget_brush();
    tiles_.show(nullptr, Pooling::strongest);
}

void MapView::start_sums() {
    if (!brushed_ || brush_of_ == tiles_.map()) return;
    brush_of_ = tiles_.map();
    sums_ = {};
    brush_job_.emplace(brush_of_, *brushed_, tile_side, tile_side);
}

bool MapView::step_sums() {
    if (!brush_job_) return false;
    if (brush_job_->step()) return true;
    const Blocks& blocks = brush_job_->blocks();
    for (const double sum : brush_job_->sums().queries) sums_.sum += sum;
    for (const float count : blocks.count) sums_.cells += static_cast<double>(count);
    for (const float value : blocks.strongest)
        if (sums_.strongest == masked_cell || std::isnan(value) ||
            (value != masked_cell && (brush_of_->is_signed() ? std::abs(value) > std::abs(sums_.strongest)
                                                             : value > sums_.strongest)))
            sums_.strongest = value;
    sums_.complete = true;
    brush_job_.reset();
    return false;
}

// ---- The whole map ------------------------------------------------------------------------------------

// Returns whether this map is another than that of the last frame.
bool MapView::take(const MapPicture& picture, MapTouch& touch) {
    const Index n_q = picture.map->queries(), n_k = picture.map->keys();
    // A new text is shown whole; one more token means that the same text continues.
    if (std::abs(n_q - queries_) > 1 || std::abs(n_k - keys_) > 1) {
        touch.reset = zoom_ > 1;
        zoom_ = 1;
        first_query_ = first_key_ = 0;
    }
    if (brushed_ && (brushed_->queries.end > n_q || brushed_->keys.end > n_k)) forget_brush();
    queries_ = n_q;
    keys_ = n_k;
    const bool is_new = picture.map != tiles_.map();
    if (is_new) {
        longest_query_ = longest_name(picture.query_names, most_name_width);
        longest_key_ = picture.key_names.data() == picture.query_names.data()
                           ? longest_query_
                           : longest_name(picture.key_names, most_name_width);
    }
    tiles_.show(picture.map, picture.choice.pooling, picture.being_measured, picture.kept);
    return is_new;
}

struct MapView::Layout {
    ImVec2 corner;
    AxisLabels rows, columns;
    bool margins;
    float top = 0, axes = 0, below = 0;  // heights around the cells
    float fit = 0;                       // the larger side of a cell while the whole map is in view
    Plot plot{};
};

MapView::Layout MapView::lay_out(const MapPicture& picture, float width, float most_height) const {
    const Index n_q = queries_, n_k = keys_;
    const float most = std::min(most_name_width, width * 0.2f);
    Layout at{
        .corner = ImGui::GetCursorScreenPos(),
        .rows = {.names = picture.query_names, .shown = {0, n_q}, .most = std::min(longest_query_, most)},
        .columns = {.names = picture.key_names, .shown = {0, n_k}, .most = std::min(longest_key_, most)},
        .margins = width >= margins_from && !picture.map->is_signed()};
    const float left = std::max(row_labels_width(at.rows), at.margins ? 56.0f : 24.0f);  // room for "query"
    const ImVec2 beside = at.margins ? margins_size(std::max(n_q, n_k)) : ImVec2{0, 0};
    at.axes = at.margins ? beside.y : axis_height;  // beside a ruler, the axis title shares its line
    at.below = at.axes + 10 + colour_bar_height;
    const float wide = width - left - beside.x;
    at.columns.cell = cell_for(wide, n_k);
    at.top = column_labels_height(at.columns);
    const float high = std::max(most_height - at.top - at.below - ImGui::GetFrameHeight(), least_side);
    const float fit = std::min(at.columns.cell, cell_for(high, n_q));
    // Cells are square, unless that would turn one side into a line.
    const auto side = [&](Index n, float room) {
        return std::max(fit, cell_for(std::min(least_side, room), n));
    };
    const ImVec2 cell{side(n_k, wide), side(n_q, high)};
    at.fit = std::max(cell.x, cell.y);
    at.plot = {.min = {std::floor(at.corner.x + left), std::floor(at.corner.y + at.top)},
               .size = {cell.x * static_cast<float>(n_k), cell.y * static_cast<float>(n_q)},
               .cell = {cell.x * zoom_, cell.y * zoom_},
               .first = {},
               .n_q = n_q,
               .n_k = n_k};
    return at;
}

// Scrolls to a cell that has just been pinned elsewhere.
void MapView::follow_pin(const Plot& plot, const MapPicture& picture) {
    if (!followed_pin_.follows(picture.pinned) || !picture.pinned) return;
    const float y = plot.y(picture.pinned->query), window = ImGui::GetWindowPos().y;
    if (y < window || y + plot.cell.y > window + ImGui::GetWindowHeight())
        ImGui::SetScrollFromPosY(y - window);
}

void MapView::draw_bar(const Plot& plot, const MapPicture& picture, float y, float right) {
    std::optional<float> marked;
    const auto looked_at = picture.pointed ? picture.pointed
                           : picture.query && picture.key
                               ? std::optional(MapCell{*picture.query, *picture.key})
                               : std::nullopt;
    if (looked_at && looked_at->query < plot.n_q && looked_at->key < plot.n_k && !picture.being_measured)
        marked = picture.map->cell(looked_at->query, looked_at->key);
    const ImVec2 bar{plot.min.x, y};
    const float bar_width = std::max(std::min(plot.size.x, 240.0f), 160.0f);
    colour_bar(bar, bar_width, scale_, picture.title, picture.decimals, marked);
    landmark(picture.name + "/bar", {bar.x, bar.y + 5}, {bar.x + bar_width, bar.y + 15});
    if (const SampledRows* sample = tiles_.sample()) {
        const Type small(Face::regular, size_small);
        const std::string note = "first picture: one query in " + std::to_string(sample->step);
        draw_text_within(ImGui::GetWindowDrawList(), {bar.x + bar_width + 16, bar.y + 3},
                         right - bar.x - bar_width - 16, theme().dim, note);
    }
}

MapTouch MapView::draw(const MapPicture& picture, float width, float most_height,
                       const app::Deadline& deadline) {
    MapTouch touch;
    const bool is_new = take(picture, touch);
    Layout at = lay_out(picture, width, most_height);
    Plot& plot = at.plot;
    place(plot, at.fit);
    act(plot, picture, at.fit, touch);
    touch.moved = moved_;
    view_.queries.begin = static_cast<double>(plot.first.y);
    view_.queries.end = static_cast<double>(plot.first.y + plot.size.y / plot.cell.y);
    view_.keys.begin = static_cast<double>(plot.first.x);
    view_.keys.end = static_cast<double>(plot.first.x + plot.size.x / plot.cell.x);

    scale_ = scale_of(picture);
    in_view_ = {plot.queries(), plot.keys()};
    const Index level = look_at(plot);
    if (!picture.being_measured) start_sums();
    // The parts of a large map are computed between frames, because its first frame has enough to do with
    // everything else that is new.
    const bool is_large = tiles_.coarsest() > 0;
    while (!is_large && step() && !deadline.passed()) continue;
    touch.more = working();
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->PushClipRect({plot.min.x - 2, plot.min.y - 2}, {plot.max().x + 2, plot.max().y + 2}, true);
    if (!is_large || !is_new) draw_cells(plot, picture, level);
    draw_numbers(plot, picture);
    draw_marks(plot, picture);
    list->PopClipRect();

    at.rows.shown = plot.centred_queries();
    at.rows.first = plot.y(at.rows.shown.begin);
    at.rows.cell = plot.cell.y;
    at.columns.shown = plot.centred_keys();
    at.columns.first = plot.x(at.columns.shown.begin);
    at.columns.cell = plot.cell.x;
    draw_labels(at.rows, at.columns, picture, plot.min, plot.max());
    if (at.margins) touch.margin = draw_margins(plot, picture);
    if (!picture.being_measured) {
        const auto cells = told_cells(picture, tiles_, plot.queries(), plot.keys(), heard_);
        cells->at = {plot.x(cells->first_col), plot.y(cells->first_row)};
        cells->cell = plot.cell;
        semantic_place(Role::grid, picture.name, std::string("Map, ") + picture.title, plot.min, plot.max())
            .grid = cells;
    }
    set_landmarks(
        picture.name, plot.queries(), plot.keys(),
        [&](Index q, Index k) { return ImVec2{plot.x(k), plot.y(q)}; }, plot.min, plot.max());
    draw_axis_titles(picture, at.corner.x, plot.max().x, plot.max().y + at.axes - axis_height + 3,
                     at.margins);
    follow_pin(plot, picture);
    draw_bar(plot, picture, plot.max().y + at.axes + 8, at.corner.x + width);
    ImGui::SetCursorScreenPos(at.corner);
    ImGui::Dummy({width, at.top + plot.size.y + at.below});
    landmark_item(picture.name + "/picture");
    if (tiles_.sample()) landmark_item(picture.name + "/sampled");
    if (tiles_.pyramid() && tiles_.pyramid()->done()) landmark_item(picture.name + "/complete");
    if (!render::heatmap_fault().empty())
        caption(("The map cannot be drawn here: " + render::heatmap_fault()).c_str());
    return touch;
}

}  // namespace attn::ui
