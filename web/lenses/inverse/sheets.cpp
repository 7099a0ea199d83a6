// Makes the matrices that lens Make it so shows.
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/inverse/inverse.hpp"

namespace attn::app {

// The weights with the targets marked, or under the change.
Sheet InverseLens::weights_sheet(Subject& subject, const HeadChange& change, bool after) const {
    const Attention& attention = *subject.attention();
    const Record& record = change.record();
    const ShownTokens queries(record.queries(), queries_shown(record)), keys = keys_shown(change);
    const Matrix now = weights_shown(change, false),
                 then = change.found() ? weights_shown(change, true) : Matrix();
    Matrix wished = now;
    for (const auto& [query, key, weight] : change.wishes())
        if (queries.holds(query) && keys.holds(key))
            wished.at(queries.place(query), keys.place(key)) = weight;
    // Both have the same colours.
    double most = 0;
    for (const Matrix* each : {&now, &then})
        for (const double weight : each->values) most = std::max(most, std::isfinite(weight) ? weight : 0);
    return {.key = after ? "inverse/weight" : "inverse/now",
            .title = after ? "Weights with the change" : "Weights",
            .notation = after                     ? "outlined: moved"
                        : change.wishes().empty() ? "drag one, or type"
                                                  : "outlined: wished",
            .rows = {"query", queries.labels(attention.query_names())},
            .columns = {"key", keys.labels(attention.key_names())},
            .value = numbers_of(after ? then : now),
            .cell =
                [after, queries, keys](Index r, Index c) {
                    return after ? inverse_cells::weight(queries[r], keys[c])
                                 : CellRef{Stage::weight, queries[r], keys[c]};
                },
            .allowed =
                [&change, queries, keys](Index r, Index c) {
                    return change.record().spec().mask.allows(change.head(), queries[r], keys[c]);
                },
            .decimals = 3,
            .most = static_cast<float>(most),
            .is_whole = true,
            .before = numbers_of(after ? now : std::move(wished)),
            .lit_row = queries.place(chosen_query(record))};
}

// The changed matrix: before, the change, and after.
std::vector<Sheet> InverseLens::matrix_sheets(Subject& subject, const HeadChange& change) const {
    const MovedMatrix moved = moved_matrix(subject, change);
    const bool of_w = moved.stage != Stage::q && moved.stage != Stage::k;
    const std::string of(symbol(moved.stage));
    const auto sheet = [&](const char* key, std::string title, Matrix values, auto cell) {
        return Sheet{.key = key,
                     .title = std::move(title),
                     .rows = {of_w                      ? "in"
                              : moved.stage == Stage::q ? "query"
                                                        : "key",
                              moved.row_names},
                     .columns = counted(of_w ? "out" : "component", values.cols),
                     .value = numbers_of(std::move(values)),
                     .cell = [cell, rows = moved.rows](Index r, Index c) { return cell(rows[r], c); },
                     .decimals = 3,
                     .is_signed = true,
                     .is_whole = true};
    };
    std::vector<Sheet> all{sheet("inverse/before", of, matrix_before(subject, change, moved),
                                 [stage = moved.stage](Index r, Index c) { return CellRef{stage, r, c}; })};
    if (const auto by = change_matrix(subject, change))
        all.push_back(sheet("inverse/change", "Change of " + of, by->values,
                            [](Index r, Index c) { return inverse_cells::change(r, c); }));
    all.push_back(sheet("inverse/moved", of + " with the change", moved.values,
                        [kind = moved.kind](Index r, Index c) { return (*kind)(r, c); }));
    return all;
}

// The pattern, and the fit as far as it is found.
std::vector<Sheet> InverseLens::pattern_sheets() {
    const Index n = fit().n();
    const auto sheet = [](const char* key, const char* title, std::string notation, Matrix values,
                          const CellKind& kind) {
        const bool of_keys = &kind == &inverse_cells::fitted_key,
                   of_pairs = !of_keys && &kind != &inverse_cells::fitted_query;
        return Sheet{.key = key,
                     .title = title,
                     .about = std::move(notation),
                     .rows = counted(of_keys ? "key" : "query", values.rows),
                     .columns = counted(of_pairs ? "key" : "component", values.cols),
                     .value = numbers_of(std::move(values)),
                     .cell = [&kind](Index r, Index c) { return kind(r, c); },
                     .is_signed = !of_pairs,
                     .is_whole = true};
    };
    std::vector<Sheet> all{
        sheet("inverse/target", "Pattern", "", Matrix(n, n, fit().target()), inverse_cells::target)};
    all.front().notation = "click to paint";
    const FittedPattern* shown = fitted();
    if (!shown) return all;
    const std::string at = "d_k = " + std::to_string(shown->d_k);
    all.push_back(sheet("inverse/fitted", "Fitted weights", at, Matrix(n, n, shown->weights),
                        inverse_cells::fitted_weight));
    all.push_back(
        sheet("inverse/fit_q", "Fitted Q", at, Matrix(n, shown->d_k, shown->q), inverse_cells::fitted_query));
    all.push_back(
        sheet("inverse/fit_k", "Fitted K", at, Matrix(n, shown->d_k, shown->k), inverse_cells::fitted_key));
    return all;
}

std::vector<Table> InverseLens::tables(Subject& subject) {
    std::vector<Table> tables;
    const HeadChange* now = change(subject);
    if (!now) return tables;
    const auto add = [&](const std::vector<Sheet>& sheets) {
        for (const Sheet& each : sheets) tables.push_back(table_of(each));
    };
    add({weights_sheet(subject, *now, false)});
    if (now->found()) {
        add({weights_sheet(subject, *now, true)});
        bring_forward(tables, 1);
        add(matrix_sheets(subject, *now));
    }
    add(pattern_sheets());
    return tables;
}

}  // namespace attn::app
