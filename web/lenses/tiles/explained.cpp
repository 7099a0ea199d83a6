// Explains the running numbers of a tile from the previous ones, its scores and its values.
#include <cmath>

#include "app/format.hpp"
#include "lenses/tiles/tiles.hpp"
#include "subjects/explain.hpp"

namespace attn::app::tiles {

namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// A query's row after the last finished tile.
struct Row {
    const Shown& shown;
    const RowBothWays& rows;
    Places places;
    Index query;
    std::string name;  // the query's
    std::span<const std::string> key_names;
    std::string provenance;

    CellPlace place(const CellRef& cell) const { return {places.head, cell}; }
    CellPlace place(RunningNumber number) const { return place(cells::running(number, query)); }
    CellPlace place(TileOutput output, Index b) const { return place(cells::output(output, query, b)); }
    CellPlace weight_at(Index key) const { return place(cells::weight(query, key)); }
    CellPlace score_at(Index key) const { return places(before_softmax(shown.record->spec()), query, key); }
    const RowStep<double>& tile() const { return rows.f64.step(shown.col()); }
    double value(RunningNumber number) const { return rows.f64.number(shown.col(), number); }
    double value(TileOutput output, Index b) const {
        return rows.f64.output(shown.col(), output, rows.naive64, b);
    }
    Expression step(Explained& out, const char* called, RunningNumber number) const {
        return out.step(called, value(number), place(number));
    }
    std::string key(Index i) const { return label_at(key_names, shown.keys.begin + i); }
    std::string score_name(Index key) const { return "S[" + name + ", " + label_at(key_names, key) + "]"; }
    std::string before_tile() const { return " before tile " + with_commas(shown.tile + 1); }
    // A weight of 0 ignores its value, even an infinite one.
    double stored(double weight, Index key, Index b) const {
        const Record& record = *shown.record;
        const auto value = static_cast<double>(record.v().heads().head(record.kv_head(shown.head))(key, b));
        return weight == 0 && !std::isfinite(value) ? 0 : value;
    }
};

std::optional<Row> row_of(Model& model, Subject& subject, Index query) {
    const Shown& now = model.shown;
    if (query >= now.record->queries()) return std::nullopt;
    const RowBothWays& rows = model.explained_row.of({now.cut(), {query, query + 1}}, [&] {
        return row_both_ways(now.record, now.head, query, now.grid.size.keys);
    });
    const Attention& attention = *subject.attention();
    return Row{
        now,
        rows,
        {subject.chosen_head()},
        query,
        label_at(attention.query_names(), query),
        attention.key_names(),
        "computed by tiles · tile " + with_commas(now.tile + 1) + " of " + with_commas(now.grid.count())};
}

// ---- Running numbers --------------------------------------------------------------------------------------

constexpr const char* previous_note =
    "It belongs to the maximum before the tile. Go back a tile to see what it is made of.";

void explain_max_before(Explained& out, const Row& row) {
    out.title = "m[" + row.name + "]" + row.before_tile();
    if (row.shown.col() == 0) {
        out.note = "No key has been seen yet: the maximum begins at −∞.";
        return;
    }
    const auto [key, score] = row.rows.f64.largest_score({0, row.shown.keys.begin});
    out.beside("largest", score, row.score_name(key), row.score_at(key));
}

void explain_max(Explained& out, const Row& row) {
    const auto [key, score] = row.rows.f64.largest_score(row.shown.keys);
    out.title = "m[" + row.name + "], the largest score so far";
    out.formula = "max(m before, max_j S[" + row.name + ", j])";
    const Expression before = row.step(out, "m before", RunningNumber::max_before),
                     found = out.step("of the tile", score, row.score_name(key), row.score_at(key));
    out.step("m", max(before, found));
}

void explain_factor(Explained& out, const Row& row) {
    const double f = out.f64;
    out.title = "f[" + row.name + "], the rescaling factor";
    out.formula = "exp(m before − m)";
    const Expression before = row.step(out, "m before", RunningNumber::max_before),
                     max = row.step(out, "m", RunningNumber::max);
    out.step("f", std::isinf(max.value()) ? Expression(f) : exp(before - max));
    if (before.value() == max.value())
        out.note = "The tile brings no larger score, so nothing is rescaled.";
    else if (std::isinf(before.value()))
        out.note = "There is nothing to rescale yet.";
}

void explain_sum_before(Explained& out, const Row& row) {
    out.title = "l[" + row.name + "]" + row.before_tile();
    out.note = row.shown.col() == 0 ? "No key has been seen yet: the sum begins at 0." : previous_note;
}

void explain_sum(Explained& out, const Row& row, bool all) {
    out.title = all ? "l[" + row.name + "], the sum so far" : "Σ P[" + row.name + ", j] of the tile";
    out.formula = (all ? "f · l before + Σ_j P[" : "Σ_j P[") + row.name + ", j]";
    out.operands_title = all ? "What was there, rescaled, and the tile’s weights" : "The tile’s weights";
    if (all)
        out.term("before", row.value(RunningNumber::sum_before), row.value(RunningNumber::factor),
                 row.place(RunningNumber::sum_before), row.place(RunningNumber::factor));
    for (Index j = 0; j < row.shown.keys.size(); ++j)
        out.summand(row.key(j), row.tile().weights[at(j)], row.weight_at(j));
    out.line("total", all ? out.dot("terms", "factors") : out.sum("weights"));
}

std::optional<Explained> explain_running(Model& model, Subject& subject, const LensCell& cell) {
    const auto number = static_cast<RunningNumber>(cell.at[0]);
    const auto found = row_of(model, subject, cell.at[1]);
    if (!found) return std::nullopt;
    const Row& row = *found;
    Explained out{.provenance = row.provenance,
                  .f32 = static_cast<double>(row.rows.f32.number(row.shown.col(), number)),
                  .f64 = row.value(number)};
    switch (number) {
        case RunningNumber::max_before: explain_max_before(out, row); break;
        case RunningNumber::max: explain_max(out, row); break;
        case RunningNumber::factor: explain_factor(out, row); break;
        case RunningNumber::sum_before: explain_sum_before(out, row); break;
        case RunningNumber::weight_sum: explain_sum(out, row, false); break;
        case RunningNumber::sum: explain_sum(out, row, true); break;
    }
    return out;
}

std::optional<Explained> explain_weight(Model& model, Subject& subject, const LensCell& cell) {
    const Index j = cell.at[1], key = model.shown.keys.begin + j;
    const auto found = row_of(model, subject, cell.at[0]);
    if (!found || j >= model.shown.keys.size()) return std::nullopt;
    const Row& row = *found;
    const double weight = row.tile().weights[at(j)];
    const std::string pair = "[" + row.name + ", " + row.key(j) + "]";
    Explained out{.title = "P" + pair,
                  .provenance = row.provenance,
                  .masked = !row.shown.record->spec().mask.allows(row.shown.head, row.query, key),
                  .f32 = static_cast<double>(row.rows.f32.step(row.shown.col()).weights[at(j)]),
                  .formula = "exp(S" + pair + " − m)"};
    const Expression score = out.step("S", row.tile().scores[at(j)], row.score_name(key), row.score_at(key)),
                     max = row.step(out, "m", RunningNumber::max);
    if (out.masked)
        out.step("P", weight, "0: the mask forbids it");
    else
        out.step("P", std::isfinite(score.value()) && std::isfinite(max.value()) ? exp(score - max)
                                                                                 : Expression(weight));
    return out;
}

// ---- Outputs ----------------------------------------------------------------------------------------------

void explain_after(Explained& out, const Row& row, Index b) {
    out.title += " so far";
    out.formula = "f · O before + Σ_j P[" + row.name + ", j] · V[j, " + std::to_string(b) + "]";
    out.operands_title = "What was there, rescaled, and the tile’s weights × V";
    out.term("before", row.value(TileOutput::before, b), row.value(RunningNumber::factor),
             row.place(TileOutput::before, b), row.place(RunningNumber::factor));
    for (Index j = 0; j < row.shown.keys.size(); ++j) {
        const Index key = row.shown.keys.begin + j;
        const double weight = row.tile().weights[at(j)];
        out.term(row.key(j), weight, row.stored(weight, key, b), row.weight_at(j),
                 row.places(Stage::v, key, b));
    }
    out.line("output", out.dot("weights", "values"));
}

void explain_result(Explained& out, const Row& row, Index b) {
    out.title += " / l[" + row.name + "]";
    out.formula = out.title;
    const Expression output = out.step("O", row.value(TileOutput::after, b), row.place(TileOutput::after, b)),
                     sum = row.step(out, "l", RunningNumber::sum);
    if (sum.value() == 0)
        out.step("O / l", 0, "0: no key was seen");
    else
        out.step("O / l", output / sum);
    if (!row.shown.ends_row()) out.note = "Not the attention output yet: further tiles of keys follow.";
}

void explain_naive(Explained& out, const Row& row, Index b) {
    out.title += " in the naive order";
    out.formula = formula_of(Stage::output, {row.name, ""}, b);
    out.operands_title = operands_title_of(Stage::output, {row.name, ""}, b);
    for (Index key = 0; key < row.shown.record->keys(); ++key) {
        const double weight = row.rows.naive64.weights[at(key)];
        out.term(label_at(row.key_names, key), weight, row.stored(weight, key, b),
                 row.places(Stage::weight, row.query, key), row.places(Stage::v, key, b));
    }
    out.line("output", out.dot("weights", "values"));
}

std::optional<Explained> explain_output(Model& model, Subject& subject, const LensCell& cell) {
    const auto output = static_cast<TileOutput>(cell.at[0]);
    const Index b = cell.at[2];
    const auto found = row_of(model, subject, cell.at[1]);
    if (!found || b >= model.shown.record->d_v()) return std::nullopt;
    const Row& row = *found;
    Explained out{
        .title = "O[" + row.name + ", " + std::to_string(b) + "]",
        .provenance = row.provenance,
        .f32 = static_cast<double>(row.rows.f32.output(row.shown.col(), output, row.rows.naive32, b)),
        .f64 = row.value(output, b)};
    switch (output) {
        case TileOutput::before:
            out.title += row.before_tile();
            out.note =
                row.shown.col() == 0 ? "No key has been seen yet: the output begins at 0." : previous_note;
            break;
        case TileOutput::after: explain_after(out, row, b); break;
        case TileOutput::result: explain_result(out, row, b); break;
        case TileOutput::naive: explain_naive(out, row, b); break;
        case TileOutput::difference:
            out.title = "Difference of " + out.title;
            out.formula = "O / l − naive";
            out.operands_title = "By tiles, and in the naive order";
            out.summand("tiles", row.value(TileOutput::result, b), row.place(TileOutput::result, b));
            out.term("naive", row.value(TileOutput::naive, b), -1, row.place(TileOutput::naive, b));
            out.line("difference", out.dot("outputs", "signs"));
            if (!row.shown.ends_row())
                out.note = "It vanishes, but for rounding, with the last tile of the row.";
    }
    return out;
}

constexpr std::array<ModelNumber<Model>, 3> declared{{
    {&cells::running, explain_running},
    {&cells::weight, explain_weight},
    {&cells::output, explain_output},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    return explain_by(declared, *this, subject, cell);
}

}  // namespace attn::app::tiles
