// Explains the running numbers of a tile from the previous ones, its scores and its values.
#include <cmath>

#include "app/format.hpp"
#include "lenses/tiles/tiles.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

template <class Real>
double value_of(const OnlineRow<Real>& row, const NaiveRow<Real>& naive, Index tile, const LensCell& cell) {
    const RunningRow<Real>& before = row.before(tile);
    const RowStep<Real>& step = row.step(tile);
    const auto at = [&](std::size_t axis) { return static_cast<std::size_t>(cell.at[axis]); };
    const auto running = [&]() -> Real {
        switch (static_cast<RunningNumber>(cell.at[0])) {
            case RunningNumber::max_before: return before.max;
            case RunningNumber::max: return step.after.max;
            case RunningNumber::factor: return step.factor;
            case RunningNumber::sum_before: return before.sum;
            case RunningNumber::weight_sum: return step.weight_sum;
            case RunningNumber::sum: return step.after.sum;
        }
        return 0;
    };
    const auto output = [&]() -> Real {
        switch (static_cast<TileOutput>(cell.at[0])) {
            case TileOutput::before: return before.output[at(2)];
            case TileOutput::after: return step.after.output[at(2)];
            case TileOutput::result: return row.result(tile)[at(2)];
            case TileOutput::naive: return naive.output[at(2)];
            case TileOutput::difference: return row.result(tile)[at(2)] - naive.output[at(2)];
        }
        return 0;
    };
    return static_cast<double>(cell.kind == &tiles_cells::running  ? running()
                               : cell.kind == &tiles_cells::weight ? step.weights[at(1)]
                                                                   : output());
}

// A weight of 0 ignores its value, even an infinite one.
double present(double weight, double value) { return weight == 0 && !std::isfinite(value) ? 0 : value; }

// One number of a tile, with everything that it is computed from in double.
struct Number {
    Explained& out;
    const TilesLens::Shown& shown;
    const OnlineRow<double>& row;
    const NaiveRow<double>& naive;
    const Places& places;
    Index query, index;
    std::string name;  // the query's name
    std::span<const std::string> key_names;

    CellRef of(RunningNumber number) const { return tiles_cells::running(number, query); }
    CellRef of(TileOutput output) const { return tiles_cells::output(output, query, index); }
    CellRef weight(Index key) const { return tiles_cells::weight(query, key); }
    double value(const CellRef& cell) const { return value_of(row, naive, shown.col(), cell.own); }
    CellPlace at(const CellRef& cell) const { return {places.head, cell}; }
    std::string key(Index i) const { return label_at(key_names, shown.keys.begin + i); }
    std::string component() const { return "[" + name + ", " + std::to_string(index) + "]"; }
    CellPlace score_at(Index key) const { return places(score_stage(shown.record->spec()), query, key); }
    double stored(Index key) const {
        const Record& record = *shown.record;
        return static_cast<double>(record.v().heads().head(record.kv_head(places.head.head))(key, index));
    }

    void step(const char* what, std::string arithmetic, double number,
              std::optional<CellPlace> place = {}) const {
        out.steps.push_back({what, std::move(arithmetic), four(number), !place, place});
    }
    Expression line(const char* what, double number) const { return out.line(what, number); }
    void operand(std::string what, double left, double right, std::optional<CellPlace> left_at,
                 std::optional<CellPlace> right_at = {}) const {
        out.operands.push_back({std::move(what), left, right, left * right, left_at, right_at});
    }
    // The key with the largest of these scores; NaN is not compared.
    Index largest(Index begin, Index end) const {
        const std::vector<double> scores = row.scores();
        Index found = begin;
        double most = -HUGE_VAL;
        for (Index key = begin; key < end; ++key)
            if (const double score = scores[static_cast<std::size_t>(key)]; score > most) {
                most = score;
                found = key;
            }
        return found;
    }

    void explain(RunningNumber number) const;
    void explain(TileOutput output) const;
    void explain_weight() const;
    void explain_max() const;
    void explain_sum(RunningNumber number) const;
    void explain_output() const;
    void explain_naive() const;
};

void Number::explain_max() const {
    const double before = value(of(RunningNumber::max_before));
    const Index at_key = largest(shown.keys.begin, shown.keys.end);
    const double found = row.step(shown.col()).scores[static_cast<std::size_t>(at_key - shown.keys.begin)];
    out.title = "m[" + name + "], the largest score so far";
    out.formula = "max(m before, max_j S[" + name + ", j])";
    step("m before", "", before, at(of(RunningNumber::max_before)));
    step("of the tile", "S[" + name + ", " + label_at(key_names, at_key) + "]", found, score_at(at_key));
    step("m", "max(" + four(before) + ", " + four(found) + ")", out.f64);
    const Expression first = line("before", before), second = line("largest", found);
    out.line("maximum", max(first, second));
}

void Number::explain_sum(RunningNumber number) const {
    const bool all = number == RunningNumber::sum;
    out.title = all ? "l[" + name + "], the sum so far" : "Σ P[" + name + ", j] of the tile";
    out.formula = all ? "f · l before + Σ_j P[" + name + ", j]" : "Σ_j P[" + name + ", j]";
    out.operands_title = all ? "What was there, rescaled, and the tile’s weights" : "The tile’s weights";
    if (all)
        operand("before", value(of(RunningNumber::sum_before)), value(of(RunningNumber::factor)),
                at(of(RunningNumber::sum_before)), at(of(RunningNumber::factor)));
    for (Index j = 0; j < shown.keys.size(); ++j) operand(key(j), value(weight(j)), 1, at(weight(j)));
    out.left_name = "terms";
    out.right_name = "factors";
    out.line("total", out.dot());
}

void Number::explain_output() const {
    out.title = "O" + component() + " so far";
    out.formula = "f · O before + Σ_j P[" + name + ", j] · V[j, " + std::to_string(index) + "]";
    out.operands_title = "What was there, rescaled, and the tile’s weights × V";
    operand("before", value(of(TileOutput::before)), value(of(RunningNumber::factor)),
            at(of(TileOutput::before)), at(of(RunningNumber::factor)));
    for (Index j = 0; j < shown.keys.size(); ++j) {
        const double of_key = value(weight(j));
        operand(key(j), of_key, present(of_key, stored(shown.keys.begin + j)), at(weight(j)),
                places(Stage::v, shown.keys.begin + j, index));
    }
    out.left_name = "weights";
    out.right_name = "values";
    out.line("output", out.dot());
}

void Number::explain_naive() const {
    out.title = "O" + component() + " in the naive order";
    out.formula = formula_of(Stage::output, {name, ""}, index);
    out.operands_title = operands_title_of(Stage::output, {name, ""}, index);
    for (Index j = 0; j < std::ssize(naive.weights); ++j) {
        const double of_key = naive.weights[static_cast<std::size_t>(j)];
        operand(label_at(key_names, j), of_key, present(of_key, stored(j)), places(Stage::weight, query, j),
                places(Stage::v, j, index));
    }
    out.left_name = "weights";
    out.right_name = "values";
    out.line("output", out.dot());
}

void Number::explain(RunningNumber number) const {
    const bool first = shown.col() == 0;
    const std::string tile = "tile " + with_commas(shown.tile + 1);
    switch (number) {
        case RunningNumber::max_before: {
            out.title = "m[" + name + "] before " + tile;
            out.note = first ? "No key has been seen yet: the maximum begins at −∞." : "";
            if (first) return;
            const Index at_key = largest(0, shown.keys.begin);
            step("largest", "S[" + name + ", " + label_at(key_names, at_key) + "]", out.f64,
                 score_at(at_key));
            return;
        }
        case RunningNumber::max: return explain_max();
        case RunningNumber::factor: {
            const double before = value(of(RunningNumber::max_before)), max = value(of(RunningNumber::max));
            out.title = "f[" + name + "], the rescaling factor";
            out.formula = "exp(m before − m)";
            step("m before", "", before, at(of(RunningNumber::max_before)));
            step("m", "", max, at(of(RunningNumber::max)));
            step("f", "exp(" + four(before) + " − " + four(max) + ")", out.f64);
            if (before == max) {
                out.note = "The tile brings no larger score, so nothing is rescaled.";
                line("factor", out.f64);
                return;
            }
            if (std::isinf(before)) out.note = "There is nothing to rescale yet.";
            const Expression then = line("before", before), maximum = line("maximum", max);
            out.line("factor", std::isinf(max) ? Expression(0) : exp(then - maximum));
            return;
        }
        case RunningNumber::sum_before:
            out.title = "l[" + name + "] before " + tile;
            out.note =
                first
                    ? "No key has been seen yet: the sum begins at 0."
                    : "It belongs to the maximum before the tile. Go back a tile to see what it is made of.";
            return;
        case RunningNumber::weight_sum:
        case RunningNumber::sum: return explain_sum(number);
    }
}

void Number::explain_weight() const {
    const Index at_key = shown.keys.begin + index;
    const double score = row.step(shown.col()).scores[static_cast<std::size_t>(index)],
                 max = value(of(RunningNumber::max));
    const std::string pair = "[" + name + ", " + key(index) + "]";
    out.title = "P" + pair;
    out.formula = "exp(S" + pair + " − m)";
    out.masked = !shown.record->spec().mask.allows(places.head.head, query, at_key);
    step("S", "S" + pair, score, score_at(at_key));
    step("m", "", max, at(of(RunningNumber::max)));
    step("P", out.masked ? "0: the mask forbids it" : "exp(" + four(score - max) + ")", out.f64);
    if (!std::isfinite(score) || !std::isfinite(max)) {
        line("weight", out.f64);
        return;
    }
    const Expression above = line("score", score) - line("maximum", max);
    out.line("weight", exp(above));
}

void Number::explain(TileOutput output) const {
    const bool first = shown.col() == 0;
    const std::string tile = "tile " + with_commas(shown.tile + 1);
    switch (output) {
        case TileOutput::before:
            out.title = "O" + component() + " before " + tile;
            out.note =
                first
                    ? "No key has been seen yet: the output begins at 0."
                    : "It belongs to the maximum before the tile. Go back a tile to see what it is made of.";
            return;
        case TileOutput::after: return explain_output();
        case TileOutput::result: {
            const double numerator = value(of(TileOutput::after)), sum = value(of(RunningNumber::sum));
            out.title = "O" + component() + " / l[" + name + "]";
            out.formula = "O" + component() + " / l[" + name + "]";
            step("O", "", numerator, at(of(TileOutput::after)));
            step("l", "", sum, at(of(RunningNumber::sum)));
            step("O / l", sum == 0 ? "0: no key was seen" : four(numerator) + " / " + four(sum), out.f64);
            const Expression whole = line("output", numerator), total = line("total", sum);
            out.line("result", sum == 0 ? Expression(0) : whole / total);
            if (!shown.ends_row()) out.note = "Not the attention output yet: further tiles of keys follow.";
            return;
        }
        case TileOutput::naive: return explain_naive();
        case TileOutput::difference:
            out.title = "Difference of O" + component();
            out.formula = "O / l − naive";
            out.operands_title = "By tiles, and in the naive order";
            operand("tiles", value(of(TileOutput::result)), 1, at(of(TileOutput::result)));
            operand("naive", value(of(TileOutput::naive)), -1, at(of(TileOutput::naive)));
            out.left_name = "outputs";
            out.right_name = "signs";
            out.line("difference", out.dot());
            if (!shown.ends_row()) out.note = "It vanishes, but for rounding, with the last tile of the row.";
    }
}

}  // namespace

const TilesLens::TwoRows& TilesLens::rows_of(const Shown& shown, Index query) {
    const Index keys_a_tile = shown.grid.size.keys;
    if (two_rows_ && two_rows_->record == shown.record && two_rows_->head == shown.head &&
        two_rows_->query == query && two_rows_->keys_a_tile == keys_a_tile)
        return *two_rows_;
    OnlineWalk walk(shown.record, shown.head, {query, query + 1}, keys_a_tile);
    while (walk.step()) continue;
    const OnlineRow<float>& f32 = walk.row(query);
    const OnlineRow<double> f64 = exact_walk(*shown.record, shown.head, query, keys_a_tile);
    const std::vector<float> scores32 = f32.scores();
    const std::vector<double> scores64 = f64.scores();
    return two_rows_.emplace(TwoRows{shown.record, shown.head, query, keys_a_tile, f32, f64,
                                     NaiveRow<float>(scores32, walk.values()),
                                     NaiveRow<double>(scores64, walk.values())});
}

std::optional<Explained> TilesLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (place.head != subject.chosen_head()) return std::nullopt;
    return explain_by(declared, *this, subject, place.cell.own);
}

const std::array<LensNumber<TilesLens>, 3> TilesLens::declared{{
    {&tiles_cells::running, &TilesLens::explain_number},
    {&tiles_cells::weight, &TilesLens::explain_number},
    {&tiles_cells::output, &TilesLens::explain_number},
}};

CellKinds tiles_numbers() { return kinds_of(TilesLens::declared); }

std::optional<CellRef> packed_tiles_cell(Index row, Index col) {
    using namespace tiles_cells;
    const Index part = col / 65'536, index = col % 65'536;
    if (part < 6) return index == 0 ? std::optional(running(part, row)) : std::nullopt;
    if (part == 6) return weight(row, index);
    return part < 12 ? std::optional(output(part - 7, row, index)) : std::nullopt;
}

std::optional<Explained> TilesLens::explain_number(Subject& subject, const LensCell& cell) {
    const auto now = shown(subject);
    if (!now) return std::nullopt;
    const bool of_weight = cell.kind == &tiles_cells::weight, of_output = cell.kind == &tiles_cells::output;
    const Index query = cell.at[of_weight ? 0 : 1], index = cell.at[of_weight ? 1 : 2],
                most = of_weight   ? now->keys.size()
                       : of_output ? now->record->d_v()
                                   : 1;
    if (query >= now->record->queries() || index >= most) return std::nullopt;
    const TwoRows& rows = rows_of(*now, query);
    const Attention& attention = *subject.attention();
    Explained out;
    out.f32 = value_of(rows.f32, rows.naive32, now->col(), cell);
    out.f64 = value_of(rows.f64, rows.naive64, now->col(), cell);
    out.provenance =
        "computed by tiles · tile " + with_commas(now->tile + 1) + " of " + with_commas(now->grid.count());
    const Places places{subject.chosen_head()};
    const Number number{out,
                        *now,
                        rows.f64,
                        rows.naive64,
                        places,
                        query,
                        index,
                        label_at(attention.query_names(), query),
                        attention.key_names()};
    if (of_weight)
        number.explain_weight();
    else if (of_output)
        number.explain(static_cast<TileOutput>(cell.at[0]));
    else
        number.explain(static_cast<RunningNumber>(cell.at[0]));
    return out;
}

}  // namespace attn::app
