#include "widgets/map_cells.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn::ui {

std::shared_ptr<CellGrid> told_cells(const MapPicture& picture, MapTiles& tiles, Range queries, Range keys,
                                     std::optional<MapCell> heard) {
    auto cells = std::make_shared<CellGrid>();
    cells->rows = picture.map->queries();
    cells->cols = picture.map->keys();
    const bool all = can_be_told(queries, keys);
    if (!all) {
        const MapCell one = heard            ? *heard
                            : picture.pinned ? *picture.pinned
                                             : MapCell{picture.query.value_or(queries.begin),
                                                       picture.key.value_or(keys.begin)};
        queries = {one.query, one.query + 1};
        keys = {one.key, one.key + 1};
    }
    cells->first_row = queries.begin;
    cells->first_col = keys.begin;
    const auto names = [](std::span<const std::string> from, Range range) {
        const auto some =
            from.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
        return std::vector<std::string>(some.begin(), some.end());
    };
    cells->row_names = names(picture.query_names, queries);
    cells->column_names = names(picture.key_names, keys);
    for (Index q = queries.begin; q < queries.end; ++q)
        for (Index k = keys.begin; k < keys.end; ++k) {
            const std::optional<float> value = all ? tiles.cell(q, k) : picture.map->cell(q, k);
            cells->values.push_back(!value                  ? std::numeric_limits<double>::quiet_NaN()
                                    : *value == masked_cell ? -std::numeric_limits<double>::infinity()
                                                            : static_cast<double>(*value));
        }
    double largest = static_cast<double>(picture.high);
    for (const double value : cells->values)
        if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    cells->digits = app::digits_for(largest, picture.decimals);
    if (picture.pinned) cells->chosen = std::pair(picture.pinned->query, picture.pinned->key);
    return cells;
}

}  // namespace attn::ui
