// Makes the matrices that lens Tiles shows.
#include <cmath>

#include "analysis/theory/tile_blocks.hpp"
#include "app/format.hpp"
#include "lenses/tiles/tiles.hpp"
#include "subjects/explain.hpp"

namespace attn::app::tiles {

namespace {

constexpr Index most_components = 64;  // up to this many, all are shown

// The power of ten of the largest difference, if differences are too small to be written out; otherwise 1.
double unit_of(double largest) {
    if (!std::isfinite(largest) || largest == 0 || largest >= 0.01) return 1;
    return std::pow(10.0, std::floor(std::log10(largest)));
}

double in(const std::vector<float>& row, Index i) {
    return static_cast<double>(row[static_cast<std::size_t>(i)]);
}

SheetAxis query_axis(const Model& model, Subject& subject) {
    return {.name = "query",
            .labels = labels_in(subject.attention()->query_names(), model.shown.rows),
            .first = model.shown.rows.begin};
}

}  // namespace

std::vector<Sheet> tile_sheets(Model& model, Subject& subject) {
    const Shown& now = model.shown;
    OnlineWalk& walk = model.walk();
    const auto step = [&walk, &now](Index r) -> const RowStep<float>& {
        return walk.row(now.rows.begin + r).step(now.col());
    };
    Sheet scores{
        .key = "tiles/scores",
        .title = "Scores S",
        .notation = "of this tile",
        .rows = query_axis(model, subject),
        .columns = {.name = "key",
                    .labels = labels_in(subject.attention()->key_names(), now.keys),
                    .first = now.keys.begin},
        .value = [step](Index r, Index c) { return in(step(r).scores, c); },
        .cell = [&now, stage = before_softmax(now.record->spec())](
                    Index r, Index c) { return RunCell{stage, now.rows.begin + r, now.keys.begin + c}; },
        .allowed =
            [&now](Index r, Index c) {
                return now.record->spec().mask.allows(now.head, now.rows.begin + r, now.keys.begin + c);
            },
        .is_signed = true,
        .is_whole = true};
    Sheet weights = scores;
    weights.key = "tiles/weights";
    weights.title = "Weights P";
    weights.notation = "P = exp(S − m), not yet divided";
    weights.value = [step](Index r, Index c) { return in(step(r).weights, c); };
    weights.cell = [&now](Index r, Index c) { return cells::weight(now.rows.begin + r, c); };
    weights.is_signed = false;
    weights.decimals = 3;
    Sheet running{.key = "tiles/running",
                  .title = "Running numbers",
                  .notation = "m = max(m before, max S) · f = exp(m before − m) · l = f · l before + Σ P",
                  .about = "after tile " + with_commas(now.tile + 1),
                  .rows = scores.rows,
                  .columns = {"number", {"m before", "m", "f", "l before", "Σ P", "l"}, {1, 2, 5, 4, 0, 3}},
                  .decimals = 3};
    running.value = [&walk, &now](Index r, Index c) {
        return static_cast<double>(
            walk.row(now.rows.begin + r).number(now.col(), static_cast<RunningNumber>(c)));
    };
    running.text = [value = running.value](Index r, Index c) { return rounded(value(r, c), 3); };
    running.cell = [&now](Index r, Index c) { return cells::running(c, now.rows.begin + r); };
    return {std::move(scores), std::move(weights), std::move(running)};
}

std::vector<Sheet> output_sheets(Model& model, Subject& subject) {
    const Shown& now = model.shown;
    const Index d_v = now.record->d_v();
    if (d_v == 0) return {};
    OnlineWalk& walk = model.walk();
    std::vector<std::vector<float>> results;
    for (Index query = now.rows.begin; query < now.rows.end; ++query)
        results.push_back(walk.row(query).result(now.col()));
    const auto result = [results = std::move(results)](Index r, Index b) {
        return in(results[static_cast<std::size_t>(r)], b);
    };
    const auto in_naive_order = [&walk, &now](Index r, Index b) {
        return in(walk.naive(now.rows.begin + r).output, b);
    };
    const std::string about = "after tile " + with_commas(now.tile + 1);
    std::vector<Sheet> all;
    const auto add = [&](const char* key, const std::string& title, const char* notation, TileOutput of,
                         auto value) {
        all.push_back(
            {.key = key,
             .title = title,
             .notation = notation,
             .about = of == TileOutput::naive ? "" : about,
             .rows = query_axis(model, subject),
             .columns = counted("component", d_v),
             .value = std::move(value),
             .cell = [&now, of](Index r, Index b) { return cells::output(of, now.rows.begin + r, b); },
             .decimals = 3,
             .is_signed = true,
             .is_whole = d_v <= most_components});
    };
    add("tiles/output", "Output O", "f · O before + P V", TileOutput::after, [&walk, &now](Index r, Index b) {
        return in(walk.row(now.rows.begin + r).step(now.col()).after.output, b);
    });
    add("tiles/result", "O / l", now.ends_row() ? "all keys seen: the attention output" : "so far",
        TileOutput::result, result);
    add("tiles/naive", "Output in the naive order", "softmax(whole row) V", TileOutput::naive,
        in_naive_order);
    const double unit = unit_of(walk.difference(now.col()).largest);
    add("tiles/difference", unit == 1 ? "Difference" : "Difference, in " + power_text(unit),
        "O / l − the naive order’s", TileOutput::difference,
        [result, in_naive_order, unit](Index r, Index b) {
            return static_cast<double>(static_cast<float>(result(r, b)) -
                                       static_cast<float>(in_naive_order(r, b))) /
                   unit;
        });
    if (unit != 1) all.back().decimals = 1;
    return all;
}

Table map_table(Model& model) {
    const TileGrid& grid = model.shown.grid;
    const TileBlocks blocks(model.cover(), model.shown.tile, grid.count());
    Table table{"Tiles: 0 skipped, 1 to come, 2 now, 3 done", {}, {}, Matrix()};
    table.values = Matrix(std::min(grid.rows(), table_row_limit), std::min(grid.cols(), table_row_limit));
    for (Index col = 0; col < table.values.cols; ++col)
        table.columns.push_back("keys from " + with_commas(grid.keys_of(col).begin));
    for (Index row = 0; row < table.values.rows; ++row) {
        table.row_labels.push_back("queries from " + with_commas(grid.queries_of(row).begin));
        for (Index col = 0; col < table.values.cols; ++col)
            table.values.at(row, col) = static_cast<double>(blocks.fate(row, col));
    }
    return table;
}

std::vector<Table> Model::tables(Subject& subject) {
    while (!walk().done()) walk().step();
    std::vector<Table> all;
    for (const auto& sheets : {tile_sheets(*this, subject), output_sheets(*this, subject)})
        for (const Sheet& sheet : sheets) all.push_back(table_of(sheet));
    all.push_back(map_table(*this));
    return all;
}

}  // namespace attn::app::tiles
