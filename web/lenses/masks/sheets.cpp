// Makes the matrices that lens Masks shows.
#include "app/format.hpp"
#include "lenses/masks/masks.hpp"
#include "subjects/tables.hpp"

namespace attn::app::masks {

Table map_table(const Model& model) {
    constexpr std::size_t most_letters = 60;
    return table_of("Mask " + model.looked.mask.text().substr(0, most_letters), *model.map, model.query_names,
                    model.key_names, Stage::weight);
}

Sheet empty_sheet(Model& model) {
    const EmptyRowExample& example = model.empty_example();
    const Index sink = model.looked.keys, query = example.query;
    Sheet sheet{.key = "masks/empty",
                .title = model.has_empty_row() ? "A query without a key" : "No query is without a key",
                .notation = "weights of " + model.query_name(query) + ", by four conventions",
                .rows = {"convention", {"zeros", "uniform", "NaN", "sink"}},
                .columns = {"key", model.key_names, {sink}},
                .value =
                    [&example, sink](Index convention, Index key) {
                        const RowWeights<double>& row = example.rows[static_cast<std::size_t>(convention)];
                        return key == sink ? row.sink : row.weights[static_cast<std::size_t>(key)];
                    },
                .cell =
                    [query, sink](Index convention, Index key) {
                        return key == sink ? cells::sink(convention, query)
                                           : cells::empty_row(convention, query, key);
                    },
                .decimals = sink <= 100 ? 2 : 5,  // enough digits for an equal share of all keys
                .is_tall = true};
    sheet.columns.labels.emplace_back("sink");
    sheet.columns.wanted.insert(sheet.columns.wanted.end(), example.wanted.begin(), example.wanted.end());
    return sheet;
}

std::vector<Table> Model::tables(Subject&) {
    std::vector<Table> tables{map_table(*this)};
    if (counting->done() && looked.queries > 0 && looked.keys > 0)
        tables.push_back(table_of(empty_sheet(*this)));
    return tables;
}

}  // namespace attn::app::masks
