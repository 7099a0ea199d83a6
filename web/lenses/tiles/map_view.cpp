// Draws the tiles of a head: done, still to come, or skipped.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/theory/tile_blocks.hpp"
#include "app/format.hpp"
#include "lenses/tiles/tiles.hpp"
#include "present/card.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/map_cells.hpp"
#include "widgets/semantics.hpp"

namespace attn::app::tiles {

namespace {

constexpr Index most_blocks = 64;  // per side; each is a tile, or several of a larger grid
constexpr float least_height = 40, most_height = 264, axis_height = 20;
constexpr float least_apart = 4, least_hatched = 7, least_numbered = 14;  // points

// Indexed by TileFate.
constexpr std::array<const char*, 4> fate_names{"skipped", "to come", "now", "done"};
ImU32 fill_of(TileFate fate) {
    const ui::Theme& t = ui::theme();
    return std::array{t.masked, t.raised, t.accent, t.accent_soft}[static_cast<std::size_t>(fate)];
}
const char* name_of(TileFate fate) { return fate_names[static_cast<std::size_t>(fate)]; }

std::string span_text(const char* one, const char* some, Range range) {
    const std::string first = with_commas(range.begin), last = with_commas(range.end - 1);
    return range.size() == 1 ? std::string(one) + " " + first : std::string(some) + " " + first + "–" + last;
}

// The blocks in a rectangle.
struct Picture {
    const TileCover& cover;
    TileBlocks blocks;
    ImVec2 at, size;

    const TileGrid& grid() const { return cover.grid(); }
    float x(Index key) const {
        return at.x + size.x * static_cast<float>(key) / static_cast<float>(grid().keys);
    }
    float y(Index query) const {
        return at.y + size.y * static_cast<float>(query) / static_cast<float>(grid().queries);
    }
    struct Box {
        ImVec2 min, max;
    };
    Box box(Range rows, Range cols) const {
        return {{x(grid().keys_of(cols.begin).begin), y(grid().queries_of(rows.begin).begin)},
                {x(grid().keys_of(cols.end - 1).end), y(grid().queries_of(rows.end - 1).end)}};
    }
    Box block(Index row, Index col) const { return box(blocks.tile_rows(row), blocks.tile_cols(col)); }
    Box tile(Index of) const {
        const Index row = grid().row(of), col = grid().col(of);
        return box({row, row + 1}, {col, col + 1});
    }
    std::optional<Index> tile_under(ImVec2 point) const {
        const float across = (point.x - at.x) / size.x, down = (point.y - at.y) / size.y;
        if (!(across >= 0 && across < 1 && down >= 0 && down < 1)) return std::nullopt;
        const auto place = [](float share, Index count) {
            return std::min(static_cast<Index>(share * static_cast<float>(count)), count - 1);
        };
        return grid().tile_of(place(down, grid().queries), place(across, grid().keys));
    }
};

void hatch(ImDrawList* list, ImVec2 min, ImVec2 max) {
    list->AddLine({min.x + 2, max.y - 2}, {max.x - 2, min.y + 2}, ui::with_alpha(ui::theme().dim, 0.6f), 1);
}

void draw_blocks(const Picture& picture) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const TileBlocks& blocks = picture.blocks;
    const float block = blocks.of_tiles() ? picture.size.x / static_cast<float>(blocks.cols()) : 0;
    const float gap = block >= least_apart ? 1.0f : 0.0f;
    for (Index row = 0; row < blocks.rows(); ++row)
        for (Index col = 0; col < blocks.cols();) {
            // Without gaps, equal neighbours form one rectangle.
            const TileFate fate = blocks.fate(row, col);
            const Index first = col++;
            while (gap == 0 && col < blocks.cols() && blocks.fate(row, col) == fate) ++col;
            const auto [min, low] = picture.block(row, first);
            const ImVec2 max = picture.block(row, col - 1).max;
            list->AddRectFilled(min, {max.x - gap, low.y - gap}, fill_of(fate), gap * 2);
            if (fate == TileFate::skipped && gap > 0 && max.x - min.x >= least_hatched)
                hatch(list, min, {max.x - gap, low.y - gap});
            if (block < least_numbered || fate == TileFate::skipped) continue;
            ui::Type mono(ui::Face::mono, 12);
            const std::string text = std::to_string(blocks.first_tile(row, first) + 1);
            const ImVec2 room = ui::text_size(text);
            const ImU32 ink = fate == TileFate::now ? ui::ink_on(ui::theme().accent) : ui::theme().text;
            if (max.x - min.x > room.x + 6 && low.y - min.y > room.y + 4)
                ui::draw_text(list, {min.x + 4, low.y - room.y - 3}, ink, text);
        }
}

// For a small head, draws the masked cells in tiles that are computed.
void draw_masked_cells(const Picture& picture, const Mask& mask, Index head) {
    const TileGrid& grid = picture.grid();
    const float side = std::min(picture.size.x / static_cast<float>(grid.keys),
                                picture.size.y / static_cast<float>(grid.queries));
    if (side < least_hatched || mask.is_everything()) return;
    for (Index query = 0; query < grid.queries; ++query)
        for (Index key = 0; key < grid.keys; ++key) {
            if (mask.allows(head, query, key) || picture.cover.skipped(grid.tile_of(query, key))) continue;
            hatch(ImGui::GetWindowDrawList(), {picture.x(key), picture.y(query)},
                  {picture.x(key + 1) - 1, picture.y(query + 1) - 1});
        }
}

void draw_legend() {
    ui::Type small(ui::Face::regular, ui::size_small);
    ImDrawList* list = ImGui::GetWindowDrawList();
    constexpr float box = 11, gap = 5, apart = 12;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    float x = at.x;
    for (const TileFate fate : {TileFate::done, TileFate::now, TileFate::ahead, TileFate::skipped}) {
        const char* name = name_of(fate);
        list->AddRectFilled({x, at.y + 3}, {x + box, at.y + 3 + box}, fill_of(fate), 2);
        list->AddRect({x, at.y + 3}, {x + box, at.y + 3 + box}, ui::theme().border, 2);
        if (fate == TileFate::skipped) hatch(list, {x, at.y + 3}, {x + box, at.y + 3 + box});
        ui::draw_text(list, {x + box + gap, at.y}, ui::theme().dim, name);
        x += box + gap + ui::text_size(name).x + apart;
    }
    ImGui::Dummy({x - at.x, ImGui::GetTextLineHeight() + 4});
}

std::string told(const Picture& picture, Index tile) {
    const TileGrid& grid = picture.grid();
    return "Tile " + with_commas(tile + 1) + ": " +
           span_text("query", "queries", grid.queries_of(grid.row(tile))) + " × " +
           span_text("key", "keys", grid.keys_of(grid.col(tile))) +
           (picture.cover.skipped(tile) ? ", skipped: the mask hides every cell" : "");
}

// Describes the tiles to screen readers and lets them be chosen there; returns the tile that has the focus.
std::optional<Index> semantics_of(const Picture& picture, const Model& model, const Drawing& drawing) {
    constexpr const char* key = "tiles/map";
    const TileBlocks& blocks = picture.blocks;
    const Index rows = blocks.rows(), cols = blocks.cols();
    std::optional<Index> focused;
    std::pair place = blocks.now();
    auto cells = std::make_shared<ui::CellGrid>();
    cells->chosen = place;
    if (const auto asked = ui::asked_cell(key);
        asked && asked->row >= 0 && asked->row < rows && asked->col >= 0 && asked->col < cols) {
        place = {asked->row, asked->col};
        focused = blocks.first_tile(asked->row, asked->col);
        if (asked->pressed) go_to(model, drawing, *focused, 0);
    }
    const bool all = ui::can_be_told({0, rows}, {0, cols});
    const Range told_rows = all ? Range{0, rows} : Range{place.first, place.first + 1},
                told_cols = all ? Range{0, cols} : Range{place.second, place.second + 1};
    cells->rows = rows;
    cells->cols = cols;
    cells->first_row = told_rows.begin;
    cells->first_col = told_cols.begin;
    const TileGrid& grid = picture.grid();
    for (Index row = told_rows.begin; row < told_rows.end; ++row) {
        cells->row_names.push_back("queries from " +
                                   with_commas(grid.queries_of(blocks.tile_rows(row).begin).begin));
        for (Index col = told_cols.begin; col < told_cols.end; ++col) {
            cells->words.emplace_back(name_of(blocks.fate(row, col)));
            const auto [min, max] = picture.block(row, col);
            ui::landmark(std::string(key) + "/" + std::to_string(row) + "/" + std::to_string(col), min, max);
        }
    }
    for (Index col = told_cols.begin; col < told_cols.end; ++col)
        cells->column_names.push_back("keys from " +
                                      with_commas(grid.keys_of(blocks.tile_cols(col).begin).begin));
    const auto [min, max] = picture.block(told_rows.begin, told_cols.begin);
    cells->at = min;
    cells->cell = {max.x - min.x, max.y - min.y};
    ui::semantic_place(ui::Role::grid, key, "Tiles", picture.at,
                       {picture.at.x + picture.size.x, picture.at.y + picture.size.y})
        .grid = std::move(cells);
    return focused;
}

// A tile too small to be seen has a frame.
void draw_frame(const Picture& picture, Index tile) {
    const auto [min, max] = picture.tile(tile);
    constexpr float least_seen = 5;
    const float grow = std::max((least_seen - std::min(max.x - min.x, max.y - min.y)) / 2, 0.0f) - 1;
    ImGui::GetWindowDrawList()->AddRect({min.x - grow, min.y - grow}, {max.x + grow, max.y + grow},
                                        ui::theme().text, 2, 0, 1.5f);
}

void draw_axes(const Picture& picture) {
    const TileGrid& grid = picture.grid();
    ui::Type small(ui::Face::regular, 12);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float y = picture.at.y + picture.size.y + 3;
    const std::string queries = with_commas(grid.queries) + (grid.queries == 1 ? " query ↓" : " queries ↓"),
                      keys = with_commas(grid.keys) + (grid.keys == 1 ? " key →" : " keys →");
    ui::draw_text(list, {picture.at.x, y}, ui::theme().dim, queries);
    ui::draw_text(list, {picture.at.x + picture.size.x - ui::text_size(keys).x, y}, ui::theme().dim, keys);
    ImGui::Dummy({picture.size.x, axis_height});
}

}  // namespace

void draw_map(Model& model, const Drawing& drawing, float width) {
    const Shown& now = model.shown;
    const present::Card card(drawing,
                             {.key = "tiles/map",
                              .title = "Tiles",
                              .table = [&model] { return map_table(model); },
                              .is_listed = false},
                             width);
    draw_legend();
    const float shape = static_cast<float>(now.grid.queries) / static_cast<float>(now.grid.keys);
    const Picture picture{model.cover(),
                          {model.cover(), now.tile, most_blocks},
                          ImGui::GetCursorScreenPos(),
                          {card.width(), std::clamp(card.width() * shape, least_height, most_height)}};
    const bool pressed = ImGui::InvisibleButton("tiles", picture.size);
    const bool hovered = ImGui::IsItemHovered();
    ui::landmark_item("tiles/map");
    draw_blocks(picture);
    draw_masked_cells(picture, now.record->spec().mask, now.head);
    draw_frame(picture, now.tile);
    draw_axes(picture);
    const auto focused = semantics_of(picture, model, drawing);
    if (const auto over = picture.tile_under(ImGui::GetMousePos()); over && hovered) {
        ui::tooltip_at_cursor(told(picture, *over).c_str());
        if (!pressed || ui::dragged()) return;
        model.play.reset();
        go_to(model, drawing, *over, ui::gesture());
    } else if (focused) {
        const auto [low, high] = picture.tile(*focused);
        ui::tooltip_at(low, high, told(picture, *focused).c_str());
    }
}

}  // namespace attn::app::tiles
