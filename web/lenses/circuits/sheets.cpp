// Makes the matrices that lens Circuits shows, and the tables of its other pictures.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/circuits/circuits.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

constexpr Index most_of_map = 64;

Table table_of_plane(std::string title, const QueryKeyPlane& plane, std::vector<std::string> names) {
    Table table{std::move(title), {"query x", "query y", "key x", "key y"}, std::move(names), Matrix(0, 4)};
    for (std::size_t i = 0; i < table.row_labels.size(); ++i)
        for (const QueryKeyPlane::Place& place : {plane.queries[i], plane.keys[i]})
            table.values.values.insert(table.values.values.end(), place.begin(), place.end());
    table.values.rows = std::ssize(table.row_labels);
    return table;
}

}  // namespace

std::string CircuitsLens::map_title() const {
    switch (now().part) {
        case CircuitsPart::qk: return "QK circuit: which token looks for which";
        case CircuitsPart::ov: return "OV circuit: which token raises which";
        default: break;
    }
    return "QK circuit of positions";
}

// The visible part of the map, up to the size limit of tables.
Table CircuitsLens::map_table(Subject& subject) {
    const Circuit of = circuit_of(now().part);
    const Map& map = *circuit()->map(distance());
    const auto shown = [](Range range) {
        return Range{range.begin, std::min(range.end, range.begin + most_of_map)};
    };
    const MapWindow& view = views_[static_cast<std::size_t>(of)].in_view();
    const Range rows = shown(view.queries), columns = shown(view.keys);
    const auto name = [&](Index i) {
        return of == Circuit::positions ? std::to_string(i) : token_name(subject, i);
    };
    Table table{map_title(), {}, {}, Matrix(rows.size(), columns.size())};
    for (Index c = columns.begin; c < columns.end; ++c) table.columns.push_back(name(c));
    for (Index r = rows.begin; r < rows.end; ++r) {
        table.row_labels.push_back(name(r));
        for (Index c = columns.begin; c < columns.end; ++c)
            table.values.at(r - rows.begin, c - columns.begin) = static_cast<double>(map.cell(r, c));
    }
    return table;
}

std::string CircuitsLens::list_title(Subject& subject, bool of_row) const {
    const std::string name = token_name(subject, list_token(of_row));
    return now().part == CircuitsPart::ov
               ? (of_row ? "Attending to " + name + " raises" : "What raises " + name)
           : of_row ? name + " looks for"
                    : "Looks for " + name;
}

Table CircuitsLens::list_table(Subject& subject, bool of_row) {
    HeadCircuit& shown = *circuit();
    const Index token = list_token(of_row);
    const TokenDirections& found = *shown.list(of_row, list_token(of_row), distance());
    Table table{
        list_title(subject, of_row), {now().part == CircuitsPart::ov ? "adds" : "score"}, {}, Matrix(0, 1)};
    const auto add = [&](const TokenAlong& each) {
        table.row_labels.push_back(token_name(subject, each.id));
        table.values.values.push_back(static_cast<double>(
            shown.map(distance())->cell(of_row ? token : each.id, of_row ? each.id : token)));
    };
    for (const TokenAlong& each : found.highest()) add(each);
    for (auto each = found.lowest().rbegin(); each != found.lowest().rend(); ++each) add(*each);
    table.values.rows = std::ssize(table.row_labels);
    return table;
}

Sheet CircuitsLens::copying_sheet(Subject& subject) const {
    return {.key = "circuits/copying",
            .title = "Copying score of every head",
            .notation = "Σ λ / Σ |λ|, from −1 to 1",
            .rows = counted("layer", subject.attention()->layers()),
            .columns = {"head", numbered_labels(subject.attention()->heads(), "h")},
            .value = [this](Index layer, Index head) { return copying()->of({layer, head}).score; },
            .cell = [](Index layer, Index head) { return circuits_cells::copying(layer, head); },
            .is_signed = true,
            .most = 1,
            .is_whole = true,
            .lit_row = head_.layer,
            .lit_column = head_.head};
}

Table CircuitsLens::wires_table(Subject& subject) const {
    Table table{"Wires", {"composition"}, {}, Matrix(std::ssize(wires_.drawn), 1)};
    for (const DrawnWire& each : wires_.drawn) {
        table.values.at(std::ssize(table.row_labels), 0) = each.value;
        table.row_labels.push_back(wire_name(subject, each.wire));
    }
    return table;
}

Table CircuitsLens::plane_table(Subject& subject) const {
    if (!now().corpus)
        return table_of_plane("Queries and keys in the plane", *plane(),
                              labels_in(subject.attention()->query_names(), plane_->tokens));
    std::vector<std::string> names;
    const Index count = std::min(std::ssize(corpus_plane_->points()), table_row_limit);
    for (Index i = 0; i < count; ++i) names.push_back(corpus_word(subject, {false, i}));
    return table_of_plane("Queries and keys of many texts in the plane", corpus_plane_->plane(),
                          std::move(names));
}

std::vector<Table> CircuitsLens::tables(Subject& subject) {
    update(subject);
    std::vector<Table> all;
    if (!refused_.empty()) return all;
    switch (now().part) {
        case CircuitsPart::qk:
        case CircuitsPart::ov:
            for (const bool of_row : {true, false})
                if (const TokenDirections* found = circuit()->list(of_row, list_token(of_row), distance());
                    found && found->done())
                    all.push_back(list_table(subject, of_row));
            if (circuit()->done()) all.push_back(map_table(subject));
            if (now().part == CircuitsPart::ov && copying()) all.push_back(table_of(copying_sheet(subject)));
            break;
        case CircuitsPart::positions:
            if (!uses_rope() && circuit()->done()) all.push_back(map_table(subject));
            break;
        case CircuitsPart::wiring:
            if (composition_->done()) all.push_back(wires_table(subject));
            break;
        case CircuitsPart::plane:
            if (now().corpus ? corpus_plane() != nullptr : plane_.has_value())
                all.push_back(plane_table(subject));
            break;
    }
    return all;
}

}  // namespace attn::app
