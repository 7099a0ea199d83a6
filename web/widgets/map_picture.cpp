// Draws the cells of a map, their numbers, and what is marked on it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "app/format.hpp"
#include "widgets/map_plot.hpp"

namespace attn::ui {

namespace {

constexpr float number_cell = 34, gap_cell = 7;
constexpr Index most_tiles = 40;

}  // namespace

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

void MapView::draw_cells(const Plot& plot, const MapPicture& picture, Index level) {
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
    for (render::Heatmap& map : maps) use_scale(map, scale_);
    draw_heatmaps(ImGui::GetWindowDrawList(), maps);
    if (picture.painted.empty()) return;
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->PushClipRect(plot.min, plot.max(), true);
    for (const MapWindow& window : picture.painted)
        list->AddRectFilled({plot.x(window.keys.begin), plot.y(window.queries.begin)},
                            {plot.x(window.keys.end), plot.y(window.queries.end)},
                            scale_.colour(picture.painted_as));
    list->PopClipRect();
}

void MapView::draw_numbers(const Plot& plot, const MapPicture& picture) {
    if (std::min(plot.cell.x, plot.cell.y * 2) < number_cell) return;
    Type mono(Face::mono, size_small);
    const app::Digits digits = digits_of(scale_, picture.decimals);
    const ImVec2 digit = text_size("0");
    ImDrawList* list = ImGui::GetWindowDrawList();
    for (Index q = plot.queries().begin; q < plot.queries().end; ++q)
        for (Index k = plot.keys().begin; k < plot.keys().end; ++k) {
            const auto value = tiles_.cell(q, k);
            if (!value || *value == masked_cell) continue;
            for (int decimals = digits.decimals; decimals >= 0; --decimals) {
                const auto number = static_cast<double>(*value);
                const std::string text = digits.scientific ? app::with_digits(number, {decimals, true})
                                                           : app::fixed(number, decimals);
                const ImVec2 size = std::isfinite(*value)
                                        ? ImVec2{digit.x * static_cast<float>(text.size()), digit.y}
                                        : text_size(text);
                if (size.x > plot.cell.x - 4 && decimals > 0) continue;
                const ImVec2 at{plot.x(k) + (plot.cell.x - size.x) / 2,
                                plot.y(q) + (plot.cell.y - size.y) / 2};
                // No number is cut off: a cell at the edge without room for its whole number shows none.
                if (at.x >= plot.min.x && at.y >= plot.min.y && at.x + size.x <= plot.max().x &&
                    at.y + size.y <= plot.max().y)
                    draw_text(list, at, ink_on(scale_.colour(*value)), text);
                break;
            }
        }
}

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

}  // namespace attn::ui
