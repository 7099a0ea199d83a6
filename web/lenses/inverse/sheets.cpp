// Makes the matrices that lens Make it so shows.
#include <algorithm>
#include <cmath>
#include <utility>

#include "lenses/inverse/inverse.hpp"

namespace attn::app::inverse {

namespace {

Matrix weights_of(const Model& model, const ShownTokens& queries, const ShownTokens& keys, bool after) {
    const HeadChange& change = *model.change.kept();
    Matrix matrix(queries.size(), keys.size());
    for (Index r = 0; r < queries.size(); ++r) {
        const std::vector<double>* moved = after ? change.after(queries[r]) : nullptr;
        const std::vector<float>& row =
            (*model.weights.kept())[static_cast<std::size_t>(queries[r] - model.asked->page.begin)];
        for (Index c = 0; c < keys.size(); ++c) {
            const auto key = static_cast<std::size_t>(keys[c]);
            matrix.at(r, c) = moved ? (*moved)[key] : static_cast<double>(row[key]);
        }
    }
    return matrix;
}

}  // namespace

// The weights with the targets marked, or under the change.
Sheet weights_sheet(const Model& model, Subject& subject, bool after) {
    const Attention& attention = *subject.attention();
    const HeadChange& change = *model.change.kept();
    const ShownTokens queries(model.row.record->queries(), model.queries_shown()), keys = model.keys_shown();
    const Matrix now = weights_of(model, queries, keys, false),
                 then = change.found() ? weights_of(model, queries, keys, true) : Matrix();
    Matrix wished = now;
    for (const auto& [query, key, weight] : change.wishes())
        if (queries.holds(query) && keys.holds(key))
            wished.at(queries.place(query), keys.place(key)) = weight;
    // Both have the same colours.
    double most = 0;
    for (const Matrix* each : {&now, &then})
        for (const double weight : each->values) most = std::max(most, std::isfinite(weight) ? weight : 0);
    return {
        .key = after ? "inverse/weight" : "inverse/now",
        .title = after ? "Weights with the change" : "Weights",
        .notation = after                     ? "outlined: moved"
                    : change.wishes().empty() ? "drag one, or type"
                                              : "outlined: wished",
        .rows = {"query", queries.labels(attention.query_names())},
        .columns = {"key", keys.labels(attention.key_names())},
        .value = numbers_of(after ? then : now),
        .cell =
            [after, queries, keys](Index r, Index c) {
                return after ? cells::weight(queries[r], keys[c])
                             : RunCell{Stage::weight, queries[r], keys[c]};
            },
        .allowed = [record = model.row.record, head = model.row.head.head, queries, keys](
                       Index r, Index c) { return record->spec().mask.allows(head, queries[r], keys[c]); },
        .decimals = 3,
        .most = static_cast<float>(most),
        .is_whole = true,
        .before = numbers_of(after ? now : wished),
        .lit_row = queries.place(model.row.query)};
}

// The changed matrix: before, the change, and after. It is the projection or, if that is large or
// unavailable, Q or K.
std::vector<Sheet> matrix_sheets(const Model& model, Subject& subject) {
    const Attention& attention = *subject.attention();
    const HeadChange& change = *model.change.kept();
    const Record& record = change.record();
    const std::vector<Index>& wished = change.wished_rows();
    const Projections* edited =
        change.of_projection() && change.x()->width <= inputs_shown ? model.edited() : nullptr;
    const bool of_q = change.of() == ChangeOf::q || change.of() == ChangeOf::w_q;
    const Stage stage = edited ? info(change.of()).stage : of_q ? Stage::q : Stage::k;
    const bool of_change = stage == info(change.of()).stage;
    const ShownTokens rows =
        edited  ? ShownTokens(change.x()->width, Range{0, change.x()->width})
        : !of_q ? model.keys_shown()
                : ShownTokens(record.queries(), wished.size() == 1 ? Range{wished.front(), wished.front() + 1}
                                                                   : model.queries_shown());
    const Matrix before = edited ? (of_q ? edited->w_q : edited->w_k)
                          : of_q ? rows_of(record.q(), change.head(), rows.tokens())
                                 : rows_of(record.k(), record.kv_head(change.head()), rows.tokens());
    Matrix by(before.rows, before.cols), after = by;
    std::vector<std::string> names;
    for (Index r = 0; r < rows.size(); ++r) {
        const Index row = rows[r];
        names.push_back(edited ? std::to_string(row)
                               : label_at(of_q ? attention.query_names() : attention.key_names(), row));
        for (Index c = 0; c < before.cols; ++c) {
            if (of_change) by.at(r, c) = change.change(row, c);
            after.at(r, c) = edited ? before.at(r, c) + by.at(r, c)
                             : of_q ? change.q(row, c)
                                    : change.k(row, c);
        }
    }
    const auto sheet = [&](const char* key, const std::string& title, const Matrix& values, auto cell) {
        return Sheet{.key = key,
                     .title = title,
                     .rows = {edited ? "in"
                              : of_q ? "query"
                                     : "key",
                              names},
                     .columns = counted(edited ? "out" : "component", values.cols),
                     .value = numbers_of(values),
                     .cell = [cell, rows](Index r, Index c) { return cell(rows[r], c); },
                     .decimals = 3,
                     .is_signed = true,
                     .is_whole = true};
    };
    const std::string of(symbol(stage));
    const CellKind& kind = edited ? cells::projection : of_q ? cells::query : cells::key;
    std::vector<Sheet> all{
        sheet("inverse/before", of, before, [stage](Index r, Index c) { return RunCell{stage, r, c}; })};
    if (of_change)
        all.push_back(sheet("inverse/change", "Change of " + of, by,
                            [](Index r, Index c) { return cells::change(r, c); }));
    all.push_back(sheet("inverse/moved", of + " with the change", after,
                        [&kind](Index r, Index c) { return kind(r, c); }));
    return all;
}

// The pattern, and the fit as far as it is found.
std::vector<Sheet> pattern_sheets(const Model& model) {
    const Index n = model.state.pattern.tokens;
    const auto sheet = [](const char* key, const char* title, std::string about, Matrix values,
                          const CellKind& kind) {
        const bool of_keys = &kind == &cells::fitted_key,
                   of_pairs = !of_keys && &kind != &cells::fitted_query;
        return Sheet{.key = key,
                     .title = title,
                     .about = std::move(about),
                     .rows = counted(of_keys ? "key" : "query", values.rows),
                     .columns = counted(of_pairs ? "key" : "component", values.cols),
                     .value = numbers_of(std::move(values)),
                     .cell = [&kind](Index r, Index c) { return kind(r, c); },
                     .is_signed = !of_pairs,
                     .is_whole = true};
    };
    std::vector<Sheet> all{
        sheet("inverse/target", "Pattern", "", Matrix(n, n, model.fit.kept()->target()), cells::target)};
    all.front().notation = "click to paint";
    const FittedPattern* shown = model.fitted();
    if (!shown) return all;
    const Index d = shown->d_k;
    const std::string at = "d_k = " + std::to_string(d);
    all.push_back(
        sheet("inverse/fitted", "Fitted weights", at, Matrix(n, n, shown->weights), cells::fitted_weight));
    all.push_back(sheet("inverse/fit_q", "Fitted Q", at, Matrix(n, d, shown->q), cells::fitted_query));
    all.push_back(sheet("inverse/fit_k", "Fitted K", at, Matrix(n, d, shown->k), cells::fitted_key));
    return all;
}

std::vector<Table> Model::tables(Subject& subject) {
    std::vector<Table> tables;
    const HeadChange* now = change.kept();
    if (!now) return tables;
    const auto add = [&](const std::vector<Sheet>& sheets) {
        for (const Sheet& each : sheets) tables.push_back(table_of(each));
    };
    add({weights_sheet(*this, subject, false)});
    if (now->found()) {
        add({weights_sheet(*this, subject, true)});
        bring_forward(tables, 1);
        add(matrix_sheets(*this, subject));
    }
    add(pattern_sheets(*this));
    return tables;
}

}  // namespace attn::app::inverse
