#include "widgets/map_view.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "app/format.hpp"
#include "widgets/axis_labels.hpp"
#include "widgets/controls.hpp"
#include "widgets/fingers.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/map_cells.hpp"

namespace attn::ui {

namespace {

constexpr float most_cell = 64, number_cell = 34, gap_cell = 7, least_side = 120, axis_height = 20;
constexpr Index most_tiles = 40;
constexpr float most_name_width = 96;
constexpr float margins_from = 420;  // points; a narrower map has no room for margins

// Returns the cell size at which this many cells fit; large cells are whole pixels, so that all are equal.
float cell_for(float room, Index count) {
    const float density = ImGui::GetIO().DisplayFramebufferScale.x;
    const float fit = std::min(room / static_cast<float>(count), most_cell);
    return fit >= 3 ? std::floor(fit * density) / density : fit;
}

Range centred(float first, float length, float cell, Index n) {
    return {static_cast<Index>(std::ceil(first - 0.5f)),
            std::min(n, static_cast<Index>(std::floor(first + length / cell - 0.5f + 1e-3f)) + 1)};
}
Range shown(float first, float length, float cell, Index n) {
    return {static_cast<Index>(first),
            std::min(n, static_cast<Index>(std::ceil(first + length / cell - 1e-3f)))};
}

}  // namespace

struct MapView::Plot {
    ImVec2 min, size, cell;  // points, at this zoom
    ImVec2 first;            // key and query in the upper left corner
    Index n_q, n_k;

    ImVec2 max() const { return {min.x + size.x, min.y + size.y}; }
    float x(float key) const { return min.x + (key - first.x) * cell.x; }
    float y(float query) const { return min.y + (query - first.y) * cell.y; }
    float x(Index key) const { return x(static_cast<float>(key)); }
    float y(Index query) const { return y(static_cast<float>(query)); }
    Range queries() const { return shown(first.y, size.y, cell.y, n_q); }
    Range keys() const { return shown(first.x, size.x, cell.x, n_k); }
    // Queries whose centre is in view.
    Range centred_queries() const { return centred(first.y, size.y, cell.y, n_q); }
    Range centred_keys() const { return centred(first.x, size.x, cell.x, n_k); }
    MapCell at(ImVec2 mouse) const {
        const auto index = [](float distance, Index n) {
            return static_cast<Index>(std::clamp(distance, 0.0f, static_cast<float>(n - 1)));
        };
        return {index(first.y + (mouse.y - min.y) / cell.y, n_q),
                index(first.x + (mouse.x - min.x) / cell.x, n_k)};
    }
};

// ---- Where on the map -------------------------------------------------------------------------------------

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

// ---- Without the picture ----------------------------------------------------------------------------------

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

// ---- Cells ------------------------------------------------------------------------------------------------

ColourScale MapView::scale_of(const MapPicture& picture) {
    const float high = picture.high > 0 ? picture.high : tiles_.extent();
    ColourScale scale = picture.map->is_signed() ? diverging_scale(high) : sequential_scale(high);
    scale.scaling = picture.choice.scaling;
    if (scale.scaling == Scaling::rank) scale.quantiles = tiles_.quantiles();
    scale.least = picture.choice.least;
    return scale;
}

namespace {

struct Drawing {
    const void* owner;
    ImVec2 min, max, cell;
    ImVec2 origin;  // position of cell (0, 0)
    ImVec2 end;     // corner of the map

    render::Heatmap heatmap(const MapTiles::Texels& texels, TileAt at) const {
        const auto block = static_cast<float>(Index{1} << at.level),
                   span = static_cast<float>(tile_side) * block;
        render::Heatmap map;
        map.key = {owner, texels.serial};
        map.values = texels.values.data();
        map.rows = texels.rows;
        map.cols = texels.cols;
        map.origin = corner(at.level, at.row, at.col);
        map.cell = {cell.x * block, cell.y * block};
        map.min = {std::max(map.origin.x, min.x), std::max(map.origin.y, min.y)};
        map.max = {std::min({map.origin.x + span * cell.x, end.x, max.x}),
                   std::min({map.origin.y + span * cell.y, end.y, max.y})};
        map.gaps = std::min(cell.x, cell.y) >= gap_cell;
        return map;
    }
    ImVec2 corner(Index level, Index row, Index col) const {
        const auto span = static_cast<float>(tile_side << level);
        return {origin.x + static_cast<float>(col) * span * cell.x,
                origin.y + static_cast<float>(row) * span * cell.y};
    }
};

void add(MapTiles& tiles, std::vector<render::Heatmap>& maps, const Drawing& drawing, TileAt at) {
    if (const MapTiles::Texels* texels = tiles.find(at)) maps.push_back(drawing.heatmap(*texels, at));
}

// Adds the coarser tiles under an incomplete tile, coarsest first.
void add_coarser(MapTiles& tiles, std::vector<render::Heatmap>& maps, const Drawing& drawing, TileAt at) {
    if (at.level >= tiles.coarsest()) return;
    const TileAt above{at.level + 1, at.row / 2, at.col / 2};
    const MapTiles::Texels* texels = tiles.find(above);
    if (!texels || !texels->complete) add_coarser(tiles, maps, drawing, above);
    if (!texels) return;
    render::Heatmap map = drawing.heatmap(*texels, above);
    const ImVec2 min = drawing.corner(at.level, at.row, at.col),
                 max = drawing.corner(at.level, at.row + 1, at.col + 1);
    map.min = {std::max(map.min.x, min.x), std::max(map.min.y, min.y)};
    map.max = {std::min(map.max.x, max.x), std::min(map.max.y, max.y)};
    map.gaps = false;
    maps.push_back(map);
}

}  // namespace

Index MapView::look_at(const Plot& plot) {
    const float density = ImGui::GetIO().DisplayFramebufferScale.x;
    const Range queries = plot.queries(), keys = plot.keys();
    const auto tiles_of = [&](Range range, Index level) { return (range.size() >> level) / tile_side + 2; };
    Index level = 0;
    while (level < tiles_.coarsest() &&
           (std::max(plot.cell.x, plot.cell.y) * density * static_cast<float>(Index{1} << level) < 1 ||
            tiles_of(queries, level) * tiles_of(keys, level) > most_tiles))
        ++level;
    // Stays true while zooming in: without the pooling control, the map would move under the cursor.
    pooled_ = level > 0 || (pooled_ && zoom_ > 1);
    tiles_.look_at(level, queries, keys);
    return level;
}

void MapView::draw_cells(const Plot& plot, const MapPicture& picture, const ColourScale& scale, Index level) {
    const Range queries = plot.queries(), keys = plot.keys();
    const Drawing drawing{&tiles_,
                          plot.min,
                          plot.max(),
                          plot.cell,
                          {plot.x(Index{0}), plot.y(Index{0})},
                          {plot.x(plot.n_k), plot.y(plot.n_q)}};
    const Index span = tile_side << level;
    std::vector<render::Heatmap> maps;
    for (Index row = queries.begin / span; row * span < queries.end; ++row)
        for (Index col = keys.begin / span; col * span < keys.end; ++col) {
            const TileAt at{level, row, col};
            const MapTiles::Texels* texels = tiles_.find(at);
            if (!texels || !texels->complete) add_coarser(tiles_, maps, drawing, at);
            add(tiles_, maps, drawing, at);
        }
    for (render::Heatmap& map : maps) use_scale(map, scale);
    draw_heatmaps(ImGui::GetWindowDrawList(), maps);
    if (picture.painted.empty()) return;
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->PushClipRect(plot.min, plot.max(), true);
    for (const MapWindow& window : picture.painted)
        list->AddRectFilled({plot.x(window.keys.begin), plot.y(window.queries.begin)},
                            {plot.x(window.keys.end), plot.y(window.queries.end)},
                            scale.colour(picture.painted_as));
    list->PopClipRect();
}

void MapView::draw_numbers(const Plot& plot, const MapPicture& picture, const ColourScale& scale) {
    if (std::min(plot.cell.x, plot.cell.y * 2) < number_cell) return;
    Type mono(Face::mono, size_small);
    const ImVec2 digit = text_size("0");
    ImDrawList* list = ImGui::GetWindowDrawList();
    for (Index q = plot.queries().begin; q < plot.queries().end; ++q)
        for (Index k = plot.keys().begin; k < plot.keys().end; ++k) {
            const auto value = tiles_.cell(q, k);
            if (!value || *value == masked_cell) continue;
            for (int decimals = picture.decimals; decimals >= 0; --decimals) {
                const std::string text = app::fixed(static_cast<double>(*value), decimals);
                const ImVec2 size = std::isfinite(*value)
                                        ? ImVec2{digit.x * static_cast<float>(text.size()), digit.y}
                                        : text_size(text);
                if (size.x > plot.cell.x - 4 && decimals > 0) continue;
                const ImVec2 at{plot.x(k) + (plot.cell.x - size.x) / 2,
                                plot.y(q) + (plot.cell.y - size.y) / 2};
                // No number is cut off: a cell at the edge without room for its whole number shows none.
                if (at.x >= plot.min.x && at.y >= plot.min.y && at.x + size.x <= plot.max().x &&
                    at.y + size.y <= plot.max().y)
                    draw_text(list, at, ink_on(scale.colour(*value)), text);
                break;
            }
        }
}

// ---- Hovering, choosing, pinning ----------------------------------------------------------------------

void MapView::draw_marks(const Plot& plot, const MapPicture& picture) {
    const Theme& t = theme();
    const auto outline = [&](Range queries, Range keys, ImU32 colour, float thick) {
        ImVec2 a{plot.x(keys.begin), plot.y(queries.begin)}, b{plot.x(keys.end), plot.y(queries.end)};
        const auto widen = [](float& low, float& high) {  // keeps cells smaller than a point visible
            if (high - low < 4) low -= (4 - (high - low)) / 2, high = low + 4;
        };
        widen(a.x, b.x);
        widen(a.y, b.y);
        ImGui::GetWindowDrawList()->AddRect({a.x - 1, a.y - 1}, {b.x, b.y}, colour,
                                            plot.cell.x >= gap_cell ? 3.0f : 0, 0, thick);
    };
    const auto cell = [&](const std::optional<MapCell>& at, ImU32 colour, float thick) {
        if (at) outline({at->query, at->query + 1}, {at->key, at->key + 1}, colour, thick);
    };
    if (picture.key) outline({0, plot.n_q}, {*picture.key, *picture.key + 1}, with_alpha(t.dim, 0.8f), 1);
    if (picture.query) outline({*picture.query, *picture.query + 1}, {0, plot.n_k}, t.accent, 2);
    cell(picture.pinned, t.accent, 3);
    cell(picture.pointed, t.text, 2);
    if (!brushed_) return;
    const ImVec2 a{plot.x(brushed_->keys.begin), plot.y(brushed_->queries.begin)},
        b{plot.x(brushed_->keys.end), plot.y(brushed_->queries.end)};
    ImGui::GetWindowDrawList()->AddRectFilled(a, b, with_alpha(t.accent, 0.15f));
    outline(brushed_->queries, brushed_->keys, t.accent, 2);
}

namespace {

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

MapTouch MapView::draw(const MapPicture& picture, float width, float most_height,
                       const app::Deadline& deadline) {
    const Index n_q = picture.map->queries(), n_k = picture.map->keys();
    MapTouch touch;
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

    AxisLabels rows, columns;
    rows.names = picture.query_names;
    rows.shown = {0, n_q};
    columns.names = picture.key_names;
    columns.shown = {0, n_k};
    const float most = std::min(most_name_width, width * 0.2f);
    rows.most = std::min(longest_query_, most);
    columns.most = std::min(longest_key_, most);
    const bool margins = width >= margins_from && !picture.map->is_signed();
    const float left = std::max(row_labels_width(rows), margins ? 56.0f : 24.0f);  // leaves room for "query"
    const ImVec2 beside = margins ? margins_size(std::max(n_q, n_k)) : ImVec2{0, 0};
    const float axes = margins ? beside.y : axis_height;  // beside a ruler, the axis title shares its line
    const float below = axes + 10 + colour_bar_height;
    const float wide = width - left - beside.x;
    columns.cell = cell_for(wide, n_k);
    const float top = column_labels_height(columns);
    const float high = std::max(most_height - top - below - ImGui::GetFrameHeight(), least_side);
    const float fit = std::min(columns.cell, cell_for(high, n_q));
    // Cells are square, unless that would turn one side into a line.
    const auto side = [&](Index n, float room) {
        return std::max(fit, cell_for(std::min(least_side, room), n));
    };
    Plot plot{.min = {},
              .size = {},
              .cell = {side(n_k, wide), side(n_q, high)},
              .first = {},
              .n_q = n_q,
              .n_k = n_k};
    plot.size = {plot.cell.x * static_cast<float>(n_k), plot.cell.y * static_cast<float>(n_q)};
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    plot.min = {std::floor(corner.x + left), std::floor(corner.y + top)};
    const float largest = std::max(plot.cell.x, plot.cell.y);
    plot.cell = {plot.cell.x * zoom_, plot.cell.y * zoom_};
    place(plot, largest);
    act(plot, picture, largest, touch);
    touch.moved = moved_;
    view_.queries.begin = static_cast<double>(plot.first.y);
    view_.queries.end = static_cast<double>(plot.first.y + plot.size.y / plot.cell.y);
    view_.keys.begin = static_cast<double>(plot.first.x);
    view_.keys.end = static_cast<double>(plot.first.x + plot.size.x / plot.cell.x);

    const ColourScale& scale = scale_ = scale_of(picture);
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
    if (!is_large || !is_new) draw_cells(plot, picture, scale, level);
    draw_numbers(plot, picture, scale);
    draw_marks(plot, picture);
    list->PopClipRect();

    rows.shown = plot.centred_queries();
    rows.first = plot.y(rows.shown.begin);
    columns.shown = plot.centred_keys();
    columns.first = plot.x(columns.shown.begin);
    rows.cell = plot.cell.y;
    columns.cell = plot.cell.x;
    draw_labels(rows, columns, picture, plot.min, plot.max());
    if (margins) touch.margin = draw_margins(plot, picture);
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
    {
        Type small(Face::regular, size_small);
        const float y = plot.max().y + axes - axis_height + 3;
        const std::string down = std::string(picture.rows) + " ↓",
                          right = std::string(picture.columns) + " →";
        draw_text(list, {corner.x, y}, theme().dim, down);
        draw_text(list, {plot.max().x - (margins ? -8 : text_size(right).x), y}, theme().dim, right);
    }

    if (followed_pin_.follows(picture.pinned)) {
        const float y = picture.pinned ? plot.y(picture.pinned->query) : 0, window = ImGui::GetWindowPos().y;
        if (picture.pinned && (y < window || y + plot.cell.y > window + ImGui::GetWindowHeight()))
            ImGui::SetScrollFromPosY(y - window);
    }

    std::optional<float> marked;
    const auto looked_at = picture.pointed ? picture.pointed
                           : picture.query && picture.key
                               ? std::optional(MapCell{*picture.query, *picture.key})
                               : std::nullopt;
    if (looked_at && looked_at->query < n_q && looked_at->key < n_k && !picture.being_measured)
        marked = picture.map->cell(looked_at->query, looked_at->key);
    const ImVec2 bar{plot.min.x, plot.max().y + axes + 8};
    const float bar_width = std::max(std::min(plot.size.x, 240.0f), 160.0f);
    colour_bar(bar, bar_width, scale, picture.title, picture.decimals, marked);
    landmark(picture.name + "/bar", {bar.x, bar.y + 5}, {bar.x + bar_width, bar.y + 15});
    if (const SampledRows* sample = tiles_.sample()) {
        Type small(Face::regular, size_small);
        const std::string note = "first picture: one query in " + std::to_string(sample->step);
        draw_text_within(list, {bar.x + bar_width + 16, bar.y + 3}, corner.x + width - bar.x - bar_width - 16,
                         theme().dim, note);
    }
    ImGui::SetCursorScreenPos(corner);
    ImGui::Dummy({width, top + plot.size.y + below});
    landmark_item(picture.name + "/picture");
    if (tiles_.sample()) landmark_item(picture.name + "/sampled");
    if (tiles_.pyramid() && tiles_.pyramid()->done()) landmark_item(picture.name + "/complete");
    if (!render::heatmap_fault().empty())
        caption(("The map cannot be drawn here: " + render::heatmap_fault()).c_str());
    return touch;
}

}  // namespace attn::ui
