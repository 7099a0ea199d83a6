#include "subjects/tables.hpp"

#include <algorithm>
#include <limits>

#include "app/format.hpp"
#include "subjects/explain.hpp"
#include "subjects/head_copy.hpp"

namespace attn::app {

namespace {

std::vector<std::string> first_of(std::span<const std::string> names, Index count) {
    std::vector<std::string> labels;
    for (Index i = 0; i < count; ++i) labels.push_back(label_at(names, i));
    return labels;
}

std::string cut(Index rows, Index cols) {
    if (std::max(rows, cols) <= table_row_limit) return "";
    return ", the first " + std::to_string(table_row_limit) + " of " +
           with_commas(static_cast<std::ptrdiff_t>(std::max(rows, cols)));
}

// Returns " of attention.npy, layer 1, head 2".
std::string of_head(const Attention& attention, HeadIndex head) {
    std::string text = " of " + attention.title();
    if (attention.layers() * attention.heads() > 1)
        text += ", " + attention.numbering().name(head.layer) + ", head " + std::to_string(head.head);
    return text;
}

std::string sink_told(Sink sink) {
    return sink == Sink::hidden         ? ", without the first key"
           : sink == Sink::renormalised ? ", without the first key, the rest made to add up to 1"
                                        : "";
}

Table map_table(const Attention& attention, const State& state, HeadIndex head) {
    MapChoice choice = looks_of(state).map;
    choice.stage = attention.stage_for(choice.stage);
    const HeadMaps maps = attention.shown_maps(choice);
    const MapPointer map = maps ? maps(head.layer, head.head) : nullptr;
    if (!map) return {};
    const Unit unit = attention.unit_of(choice);
    const HeadMean mean = attention.mean_of(choice);
    std::string title =
        std::string(symbol(choice.stage)) +
        (unit == Unit::tokens ? "" : " between " + std::string(unit_key(unit))) +
        (mean == HeadMean::one ? of_head(attention, head)
                               : " of " + attention.title() + ", " + mean_text(attention, mean, head));
    if (!is_signed(choice.stage)) title += sink_told(choice.sink);
    return table_of(std::move(title), *map, attention.query_axis(choice).names,
                    attention.key_axis(choice).names, choice.stage);
}

// Adds Q, K, V and the output of the chosen head.
void add_vectors(std::vector<Table>& to, const Attention& attention, const State& state, HeadIndex head) {
    const auto record = attention.record(head.layer);
    if (!record) return;
    const auto add = [&](Stage stage, const Tensor& tensor, Index of, Index count,
                         std::span<const std::string> names) {
        if (tensor.dim(2) == 0) return;
        const Index rows = std::min(count, table_row_limit);
        Table table{std::string(symbol(stage)) + of_head(attention, head) + cut(count, 0),
                    first_of({}, tensor.dim(2)), first_of(names, rows), rows_of(tensor, of, {0, rows})};
        const bool pinned = state.pin && state.pin->is(stage) && !state.pin->second();
        to.insert(pinned ? to.begin() : to.end(), std::move(table));
    };
    const Index kv_head = record->kv_head(head.head);
    add(Stage::q, record->q(), head.head, attention.queries(), attention.query_names());
    add(Stage::k, record->k(), kv_head, attention.keys(), attention.key_names());
    add(Stage::v, record->v(), kv_head, attention.keys(), attention.key_names());
    add(Stage::output, record->output(), head.head, attention.queries(), attention.query_names());
}

}  // namespace

Table scores_table(Attention& attention, const MapChoice& choice) {
    const HeadOverview* heads = attention.overview_by(choice);
    const Unit unit = attention.unit_of(weights_of(choice));
    Table table{"Scores of the heads of " + attention.title() + ", measured " + attention.measured_on() +
                    (unit == Unit::tokens ? "" : ", by " + std::string(unit_key(unit))),
                {},
                {},
                {}};
    for (const HeadScoreInfo& score : head_scores) table.columns.push_back(score.name);
    const Index count = std::min(heads->layers() * heads->heads(), table_row_limit);
    table.values = Matrix(count, std::ssize(head_scores));
    for (Index i = 0; i < count; ++i) {
        const HeadIndex head{i / heads->heads(), i % heads->heads()};
        const Layers layers = attention.numbering();
        table.row_labels.push_back(layers.count > 1
                                       ? layers.short_head(head)
                                       : std::to_string(head.layer) + "." + std::to_string(head.head));
        for (Index c = 0; c < table.values.cols; ++c)
            table.values.at(i, c) = number_of(heads->scores(head), static_cast<HeadScore>(c))
                                        .value_or(std::numeric_limits<double>::quiet_NaN());
    }
    return table;
}

Table table_of(std::string title, const Map& map, std::span<const std::string> query_names,
               std::span<const std::string> key_names, Stage stage) {
    const Index rows = std::min(map.queries(), table_row_limit), cols = std::min(map.keys(), table_row_limit);
    Table table{std::move(title) + cut(map.queries(), map.keys()), first_of(key_names, cols),
                first_of(query_names, rows), Matrix(rows, cols)};
    const std::vector<float> cells = cells_of(map, {{0, rows}, {0, cols}});
    std::ranges::transform(cells, table.values.values.begin(), [&](float cell) {
        return cell == masked_cell && !is_signed(stage) ? 0.0 : static_cast<double>(cell);
    });
    return table;
}

Table table_of(const Rung& rung) {
    const auto labels = [](const std::vector<std::string>& names, Index count, Index first) {
        std::vector<std::string> all;
        for (Index i = 0; i < count; ++i)
            all.push_back(i < std::ssize(names) ? names[static_cast<std::size_t>(i)]
                                                : std::to_string(first + i));
        return all;
    };
    return {rung.title, labels(rung.column_labels, rung.values.cols, rung.first_col),
            labels(rung.row_labels, rung.values.rows, rung.first_row), rung.values};
}

std::vector<Table> tables_of(Attention& attention, const State& state, HeadIndex head) {
    std::vector<Table> tables;
    if (!attention.finished() && !attention.record(head.layer)) return tables;
    if (Table map = map_table(attention, state, head); map.values.rows > 0) tables.push_back(std::move(map));
    add_vectors(tables, attention, state, head);
    const MapChoice& map = looks_of(state).map;
    if (const HeadOverview* heads = attention.overview_by(map); heads && heads->done())
        tables.push_back(scores_table(attention, map));
    return tables;
}

void bring_forward(std::vector<Table>& tables, std::size_t place) {
    const auto at = tables.begin() + static_cast<std::ptrdiff_t>(place);
    std::rotate(tables.begin(), at, at + 1);
}

}  // namespace attn::app
