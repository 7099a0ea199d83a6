// Makes the matrices that lens Masks shows.
#include "app/format.hpp"
#include "lenses/masks/masks.hpp"
#include "subjects/tables.hpp"

namespace attn::app {

Table MasksLens::map_table() const {
    constexpr std::size_t most_letters = 60;
    return table_of("Mask " + looked_->mask.text().substr(0, most_letters), *map_, query_names_, key_names_,
                    Stage::weight);
}

Sheet MasksLens::empty_sheet() {
    const EmptyExample& example = empty_example();
    const Index sink = looked_->keys, query = example.query;
    Sheet sheet{.key = "masks/empty",
                .title = example.without_key ? "A query without a key" : "No query is without a key",
                .notation = "weights of " + query_name(query) + ", by four conventions",
                .rows = {"convention", {"zeros", "uniform", "NaN", "sink"}},
                .columns = {"key", key_names_, {sink}},
                .decimals = sink <= 100 ? 2 : 5,  // enough digits for an equal share of all keys
                .is_tall = true};
    sheet.columns.labels.emplace_back("sink");
    sheet.columns.wanted.insert(sheet.columns.wanted.end(), example.wanted.begin(), example.wanted.end());
    sheet.value = [&example, sink](Index convention, Index key) {
        const RowWeights<double>& row = example.rows[static_cast<std::size_t>(convention)];
        return key == sink ? row.sink : row.weights[static_cast<std::size_t>(key)];
    };
    sheet.cell = [query, sink](Index convention, Index key) {
        return key == sink ? masks_cells::sink(convention, query)
                           : masks_cells::empty_row(convention, query, key);
    };
    return sheet;
}

std::vector<Table> MasksLens::tables(Subject& subject) {
    look(subject);
    std::vector<Table> tables{map_table()};
    if (counting_->done() && looked_->queries > 0 && looked_->keys > 0)
        tables.push_back(table_of(empty_sheet()));
    return tables;
}

}  // namespace attn::app
