// Makes the matrices of lens Sources.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/sources/sources.hpp"

namespace attn::app::sources {

namespace {

SheetAxis axis_of(const ScoreTerms& terms, Subject& subject, ScoreSide side,
                  const std::vector<Index>& numbers) {
    SheetAxis axis{.name = side == ScoreSide::query ? "of the query" : "of the key"};
    for (const Index which : numbers)
        axis.labels.push_back(
            which == terms.all(side) ? "all"
            : which == terms.others(side)
                ? "others"
                : source_name(subject, terms.sources(side)[static_cast<std::size_t>(which)]));
    const auto want = [&](Index which) {
        if (const auto at = std::ranges::find(numbers, which); at != numbers.end())
            axis.wanted.push_back(at - numbers.begin());
    };
    want(terms.all(side));
    for (const Index which : terms.strongest(side)) want(which);
    return axis;
}

std::optional<Index> lit_place(const Model& model, ScoreSide side, const std::vector<Index>& numbers) {
    if (side != model.of.state.side) return std::nullopt;
    const auto at = std::ranges::find(numbers, model.taken_out());
    return at == numbers.end() ? std::nullopt : std::optional<Index>(at - numbers.begin());
}

}  // namespace

Sheet terms_sheet(const Model& model, Subject& subject, bool is_whole) {
    const ScoreTerms& terms = *model.terms;
    const std::string query = token_name(model, subject, ScoreSide::query),
                      key = token_name(model, subject, ScoreSide::key);
    const std::vector<Index> rows = terms.numbers(ScoreSide::query, is_whole),
                             columns = terms.numbers(ScoreSide::key, is_whole);
    Sheet sheet{.key = "sources/term",
                .title = (model.contrasts() ? "What the difference of " : "What the scaled score of ") +
                         fixed(terms.total(), 2) + " is made of",
                .notation = model.contrasts() ? "scale · (q_s · k_t − q′_s · k′_t)" : "scale · q_s · k_t",
                .about = query + " × " + key,
                .rows = axis_of(terms, subject, ScoreSide::query, rows),
                .columns = axis_of(terms, subject, ScoreSide::key, columns),
                .is_signed = true,
                .most = static_cast<float>(std::abs(terms.listed().front().value)),
                .lit_row = lit_place(model, ScoreSide::query, rows),
                .lit_column = lit_place(model, ScoreSide::key, columns)};
    sheet.value = [&terms, rows, columns](Index r, Index c) {
        return terms.term(rows[static_cast<std::size_t>(r)], columns[static_cast<std::size_t>(c)]);
    };
    sheet.cell = [rows, columns](Index r, Index c) {
        return cells::term(rows[static_cast<std::size_t>(r)], columns[static_cast<std::size_t>(c)]);
    };
    return sheet;
}

Sheet without_sheet(const Model& model, Subject& subject) {
    const WithoutSource& without = *model.without;
    const Source& source = model.terms->sources(without.side)[static_cast<std::size_t>(without.source)];
    Sheet sheet{.key = "sources/without",
                .title = "Without " + source_at(subject, source, token_name(model, subject, without.side)),
                .rows = {"norms", {"with it", "norms held", "norms live"}},
                .columns = {"number", {"scaled score", "weight"}}};
    sheet.value = [&without, key = model.of.place.key](Index norms, Index number) {
        const auto i = static_cast<std::size_t>(norms);
        return number == 1 ? without.weight(i, key) : without.score(i);
    };
    sheet.text = [value = sheet.value](Index norms, Index number) {
        return number == 1 ? percent(value(norms, 1)) : fixed(value(norms, 0), 4);
    };
    sheet.cell = [](Index norms, Index number) { return cells::without(norms, number); };
    return sheet;
}

Sheet added_sheet(const Model& model, Subject& subject) {
    const RowSources& row = *model.row;
    const Index all = std::ssize(row.deciding()), count = std::min(all, ScoreTerms::most_shown);
    Sheet sheet{.key = "sources/added",
                .title = "What each source adds to the scaled score of each key",
                .notation = "scale · q · k_t",
                .about = token_name(model, subject, ScoreSide::query),
                .rows = {.name = "of the key"},
                .columns = {.name = "key"},
                .value =
                    [&row, all, count](Index r, Index i) {
                        if (r < count) return row.added(r, i);
                        double rest = row.added(all, i);
                        if (r == count && count < all)
                            for (Index shown = 0; shown < count; ++shown) rest -= row.added(shown, i);
                        return rest;
                    },
                .cell = [&row, all, count](Index r, Index i) -> std::optional<CellRef> {
                    if (r == count && count < all) return std::nullopt;  // a rest has no name
                    return cells::added(r < count ? r : all, row.keys()[static_cast<std::size_t>(i)]);
                },
                .is_signed = true,
                .is_tall = true};
    for (const DecidingSource& each : std::span(row.deciding()).first(static_cast<std::size_t>(count)))
        sheet.rows.labels.push_back(source_name(subject, each.source));
    if (count < all) sheet.rows.labels.emplace_back("others");
    sheet.rows.labels.emplace_back("all");
    for (const Index key : row.keys())
        sheet.columns.labels.push_back(key_name(subject, row.place().attention, key));
    return sheet;
}

std::vector<Table> Model::tables(Subject& subject) {
    if (!refused.empty()) return {};
    if (of.state.part == Part::row)
        return row->done() && !row->deciding().empty() ? std::vector{table_of(added_sheet(*this, subject))}
                                                       : std::vector<Table>{};
    if (of.state.part == Part::texts || !is_ready()) return {};
    std::vector<Table> all{table_of(terms_sheet(*this, subject, true))};
    if (without) all.push_back(table_of(without_sheet(*this, subject)));
    return all;
}

}  // namespace attn::app::sources
