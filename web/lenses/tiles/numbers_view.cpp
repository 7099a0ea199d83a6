// Draws the numbers of the last finished tile, for some of its queries.
#include <imgui.h>

#include <algorithm>

#include "app/format.hpp"
#include "lenses/tiles/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr Index most_beside = 8;  // keys per tile up to which its matrices stand side by side
constexpr float least_beside = 150;

// The query of one of the shown numbers.
Index query_of(const CellRef& cell) {
    return cell.is(tiles_cells::weight)                                    ? cell.own.at[0]
           : cell.is(tiles_cells::running) || cell.is(tiles_cells::output) ? cell.own.at[1]
                                                                           : cell.row;
}

}  // namespace

// Chooses which of the tile's queries are shown, if there are too many.
void TilesLens::draw_rows(const View& view) const {
    const auto& [record, head, grid, tile, queries, rows, keys] = view.shown;
    if (queries.size() <= tile_rows_shown) return;
    const Index before = rows.begin - tile_rows_shown, after = rows.end;
    const std::string shown = std::to_string(rows.begin) + "–" + std::to_string(rows.end - 1);
    ImGui::BeginGroup();
    if (const auto first =
            ui::stepper("tiles/rows", "queries shown", shown,
                        {before, before < queries.begin ? "These are the tile’s first queries." : ""},
                        {after, after >= queries.end ? "These are the tile’s last queries." : ""}))
        parts::choose_tokens(view.drawing, *first, std::nullopt);
    ImGui::EndGroup();
}

void TilesLens::draw_numbers(const View& view, float width) {
    const Shown& now = view.shown;
    draw_rows(view);
    if (!walk_->done()) return ui::caption("Computing these queries …");
    const auto lit =
        view.drawing.pointed.query ? view.drawing.pointed.query : selection_of(view.drawing).query;
    const auto draw = [&](Sheet& sheet) {
        return [&](float wide) {
            if (lit && now.rows.holds(*lit)) sheet.lit_row = *lit - now.rows.begin;
            present::sheet(view.drawing, sheet, wide, {}, {}, [&](Index row) {
                parts::choose_tokens(view.drawing, now.rows.begin + row, std::nullopt);
            });
        };
    };
    std::vector<Sheet> of_tile = tile_sheets(view.subject, now), outputs = output_sheets(view.subject, now);
    ui::columns("tiles/tile", now.keys.size() <= most_beside ? least_beside : width, present::card_gap,
                draw(of_tile[0]), draw(of_tile[1]));
    draw(of_tile[2])(width);
    for (Sheet& sheet : outputs) draw(sheet)(width);
    if (const auto& cell = view.drawing.now.cell) view.drawing.point(query_of(*cell), std::nullopt);
    if (outputs.empty()) return ui::caption("There are no values here, so there is no output.");
    if (now.ends_row()) {
        const Difference off = largest_difference(now);
        const std::string text =
            std::string(off.finite ? "All keys seen. These outputs, "
                                   : "All keys seen. Those outputs that are finite, ") +
            "by tiles and in the naive order, differ by " +
            (off.largest == 0 ? "nothing." : fixed(off.largest, 2) + " at most, which is rounding.");
        ui::caption(text.c_str());
        ui::landmark_item("tiles/equal");
    }
}

}  // namespace attn::app
