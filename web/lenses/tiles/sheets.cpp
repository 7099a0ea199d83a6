// Makes the matrices that lens Tiles shows.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "app/format.hpp"
#include "lenses/tiles/tiles.hpp"

namespace attn::app {

namespace {

constexpr Index most_components = 64;  // up to this many, all are shown

// The power of ten of the largest difference, if differences are too small to be written out; otherwise 0.
int exponent_of(double largest) {
    if (!std::isfinite(largest) || largest == 0 || largest >= 0.01) return 0;
    return static_cast<int>(std::floor(std::log10(largest)));
}

// Writes 10⁻⁸.
std::string power_of_ten(int exponent) {
    static constexpr std::array digits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    std::string text = exponent < 0 ? "10⁻" : "10";
    for (const char digit : std::to_string(std::abs(exponent)))
        text += digits[static_cast<std::size_t>(digit - '0')];
    return text;
}

}  // namespace

std::vector<Sheet> TilesLens::tile_sheets(Subject& subject, const Shown& now) const {
    const auto step = [this, &now](Index r) -> const RowStep<float>& {
        return walk_->row(now.rows.begin + r).step(now.col());
    };
    Sheet base;
    base.rows = {.name = "query",
                 .labels = labels_in(subject.attention()->query_names(), now.rows),
                 .first = now.rows.begin};
    base.columns = {.name = "key",
                    .labels = labels_in(subject.attention()->key_names(), now.keys),
                    .first = now.keys.begin};
    base.allowed = [&now](Index r, Index c) {
        return now.record->spec().mask.allows(now.head, now.rows.begin + r, now.keys.begin + c);
    };
    base.is_whole = true;
    base.decimals = 3;
    Sheet scores = base, weights = base, running = base;
    scores.key = "tiles/scores";
    scores.title = "Scores S";
    scores.notation = "of this tile";
    scores.value = [step](Index r, Index c) {
        return static_cast<double>(step(r).scores[static_cast<std::size_t>(c)]);
    };
    scores.cell = [&now, stage = score_stage(now.record->spec())](Index r, Index c) {
        return CellRef{stage, now.rows.begin + r, now.keys.begin + c};
    };
    scores.is_signed = true;
    scores.decimals = 2;
    weights.key = "tiles/weights";
    weights.title = "Weights P";
    weights.notation = "P = exp(S − m), not yet divided";
    weights.value = [step](Index r, Index c) {
        return static_cast<double>(step(r).weights[static_cast<std::size_t>(c)]);
    };
    weights.cell = [&now](Index r, Index c) { return tiles_cells::weight(now.rows.begin + r, c); };
    running.key = "tiles/running";
    running.title = "Running numbers";
    running.about = "after tile " + with_commas(now.tile + 1);
    running.notation = "m = max(m before, max S) · f = exp(m before − m) · l = f · l before + Σ P";
    running.columns = {"number", {"m before", "m", "f", "l before", "Σ P", "l"}, {1, 2, 5, 4, 0, 3}};
    running.is_whole = false;
    running.allowed = {};
    running.value = [this, &now, step](Index r, Index c) {
        const RunningRow<float>& before = walk_->row(now.rows.begin + r).before(now.col());
        const RowStep<float>& s = step(r);
        return static_cast<double>(std::array{before.max, s.after.max, s.factor, before.sum, s.weight_sum,
                                              s.after.sum}[static_cast<std::size_t>(c)]);
    };
    running.text = [value = running.value](Index r, Index c) { return rounded(value(r, c), 3); };
    running.cell = [&now](Index r, Index c) { return tiles_cells::running(c, now.rows.begin + r); };
    return {std::move(scores), std::move(weights), std::move(running)};
}

std::vector<Sheet> TilesLens::output_sheets(Subject& subject, const Shown& now) {
    const Index d_v = now.record->d_v();
    if (d_v == 0) return {};
    Sheet base;
    base.about = "after tile " + with_commas(now.tile + 1);
    base.rows = {.name = "query",
                 .labels = labels_in(subject.attention()->query_names(), now.rows),
                 .first = now.rows.begin};
    base.columns = counted("component", d_v);
    base.is_whole = d_v <= most_components;
    base.is_signed = true;
    base.decimals = 3;
    std::vector<std::vector<float>> results;
    for (Index query = now.rows.begin; query < now.rows.end; ++query)
        results.push_back(walk_->row(query).result(now.col()));
    const auto result = [results = std::move(results)](Index r, Index b) {
        return static_cast<double>(results[static_cast<std::size_t>(r)][static_cast<std::size_t>(b)]);
    };
    const auto in_naive_order = [this, &now](Index r, Index b) {
        return static_cast<double>(naive(now, now.rows.begin + r).output[static_cast<std::size_t>(b)]);
    };
    const int exponent = exponent_of(largest_difference(now).largest);
    std::vector<Sheet> all;
    const auto add = [&](const char* key, std::string title, const char* notation, TileOutput of,
                         auto value) {
        Sheet& sheet = all.emplace_back(base);
        sheet.key = key;
        sheet.title = std::move(title);
        sheet.notation = notation;
        sheet.value = std::move(value);
        sheet.cell = [&now, of](Index r, Index b) { return tiles_cells::output(of, now.rows.begin + r, b); };
    };
    add("tiles/output", "Output O", "f · O before + P V", TileOutput::after, [this, &now](Index r, Index b) {
        const RowStep<float>& step = walk_->row(now.rows.begin + r).step(now.col());
        return static_cast<double>(step.after.output[static_cast<std::size_t>(b)]);
    });
    add("tiles/result", "O / l", now.ends_row() ? "all keys seen: the attention output" : "so far",
        TileOutput::result, result);
    add("tiles/naive", "Output in the naive order", "softmax(whole row) V", TileOutput::naive,
        in_naive_order);
    all.back().about.clear();
    add("tiles/difference", exponent == 0 ? "Difference" : "Difference, in " + power_of_ten(exponent),
        "O / l − the naive order’s", TileOutput::difference,
        [result, in_naive_order, unit = std::pow(10.0, exponent)](Index r, Index b) {
            return static_cast<double>(static_cast<float>(result(r, b)) -
                                       static_cast<float>(in_naive_order(r, b))) /
                   unit;
        });
    if (exponent != 0) all.back().decimals = 1;
    return all;
}

TilesLens::Difference TilesLens::largest_difference(const Shown& now) {
    Difference found;
    for (Index query = now.rows.begin; query < now.rows.end; ++query) {
        const std::vector<float> result = walk_->row(query).result(now.col());
        for (std::size_t b = 0; b < result.size(); ++b) {
            const double off = std::abs(static_cast<double>(result[b] - naive(now, query).output[b]));
            found.finite = found.finite && std::isfinite(off);
            found.largest = std::fmax(found.largest, std::isinf(off) ? 0 : off);
        }
    }
    return found;
}

Table TilesLens::map_table(const Shown& now) {
    const TileGrid& grid = now.grid;
    const TileCover& covered = cover(now);
    Table table{"Tiles: 0 skipped, 1 to come, 2 now, 3 done", {}, {}, Matrix()};
    table.values = Matrix(std::min(grid.rows(), table_row_limit), std::min(grid.cols(), table_row_limit));
    for (Index col = 0; col < table.values.cols; ++col)
        table.columns.push_back("keys from " + with_commas(grid.keys_of(col).begin));
    for (Index row = 0; row < table.values.rows; ++row) {
        table.row_labels.push_back("queries from " + with_commas(grid.queries_of(row).begin));
        for (Index col = 0; col < table.values.cols; ++col) {
            const Index tile = row * grid.cols() + col;
            table.values.at(row, col) = tile == now.tile        ? 2
                                        : covered.skipped(tile) ? 0
                                        : tile > now.tile       ? 1
                                                                : 3;
        }
    }
    return table;
}

std::vector<Table> TilesLens::tables(Subject& subject) {
    const auto now = shown(subject);
    if (!now) return {};
    OnlineWalk& walked = walk(*now);
    while (!walked.done()) walked.step();
    std::vector<Table> tables;
    for (const auto& sheets : {tile_sheets(subject, *now), output_sheets(subject, *now)})
        for (const Sheet& sheet : sheets) tables.push_back(table_of(sheet));
    tables.push_back(map_table(*now));
    return tables;
}

}  // namespace attn::app
