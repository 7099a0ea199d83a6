// Makes the matrices that lens Circuits shows, and the tables of its other pictures.
#include <algorithm>

#include "app/format.hpp"
#include "lenses/circuits/circuits.hpp"

namespace attn::app::circuits {

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

std::string map_title(Part part) {
    return part == Part::qk   ? "QK circuit: which token looks for which"
           : part == Part::ov ? "OV circuit: which token raises which"
                              : "QK circuit of positions";
}

// The visible part of the map, up to the size limit of tables.
Table map_table(Model& model, Subject& subject) {
    const Circuit of = model.shown_circuit();
    const Map& map = *model.circuit()->map(model.distance());
    const auto shown = [](Range range) {
        return Range{range.begin, std::min(range.end, range.begin + most_of_map)};
    };
    const MapWindow& view = model.in_view[static_cast<std::size_t>(of)];
    const Range rows = shown(view.queries), columns = shown(view.keys);
    const auto name = [&](Index i) {
        return of == Circuit::positions ? std::to_string(i) : token_name(model, subject, i);
    };
    Table table{map_title(model.state.part), {}, {}, Matrix(rows.size(), columns.size())};
    for (Index c = columns.begin; c < columns.end; ++c) table.columns.push_back(name(c));
    for (Index r = rows.begin; r < rows.end; ++r) {
        table.row_labels.push_back(name(r));
        for (Index c = columns.begin; c < columns.end; ++c)
            table.values.at(r - rows.begin, c - columns.begin) = static_cast<double>(map.cell(r, c));
    }
    return table;
}

std::string list_title(const Model& model, Subject& subject, bool of_row) {
    const std::string name = token_name(model, subject, model.list_token(of_row));
    return model.state.part == Part::ov
               ? (of_row ? "Attending to " + name + " raises" : "What raises " + name)
           : of_row ? name + " looks for"
                    : "Looks for " + name;
}

Table list_table(Model& model, Subject& subject, bool of_row) {
    HeadCircuit& shown = *model.circuit();
    const Index token = model.list_token(of_row);
    const TokenDirections& found = *shown.list(of_row, token, model.distance());
    Table table{list_title(model, subject, of_row),
                {model.state.part == Part::ov ? "adds" : "score"},
                {},
                Matrix(0, 1)};
    const auto add = [&](const TokenAlong& each) {
        table.row_labels.push_back(token_name(model, subject, each.id));
        table.values.values.push_back(static_cast<double>(
            shown.map(model.distance())->cell(of_row ? token : each.id, of_row ? each.id : token)));
    };
    for (const TokenAlong& each : found.highest()) add(each);
    for (auto each = found.lowest().rbegin(); each != found.lowest().rend(); ++each) add(*each);
    table.values.rows = std::ssize(table.row_labels);
    return table;
}

Sheet copying_sheet(const Model& model, Subject& subject) {
    return {.key = "circuits/copying",
            .title = "Copying score of every head",
            .notation = "Σ λ / Σ |λ|, from −1 to 1",
            .rows = counted("layer", subject.attention()->layers()),
            .columns = {"head", numbered_labels(subject.attention()->heads(), "h")},
            .value = [&model](Index layer, Index head) { return model.copying()->of({layer, head}).score; },
            .cell = [](Index layer, Index head) { return cells::copying(layer, head); },
            .is_signed = true,
            .most = 1,
            .is_whole = true,
            .lit_row = model.head.layer,
            .lit_column = model.head.head};
}

Table wires_table(const Model& model, Subject& subject) {
    const std::vector<Wires::One>& wires = model.wires.kept()->listed;
    Table table{"Wires", {"composition"}, {}, Matrix(std::ssize(wires), 1)};
    for (const Wires::One& each : wires) {
        table.values.at(std::ssize(table.row_labels), 0) = each.value;
        table.row_labels.push_back(wire_name(subject, each.wire));
    }
    return table;
}

Table plane_table(const Model& model, Subject& subject) {
    if (!model.state.corpus)
        return table_of_plane("Queries and keys in the plane", *model.plane(),
                              labels_in(subject.attention()->query_names(), model.placed->tokens));
    std::vector<std::string> names;
    const Index count = std::min(std::ssize(model.corpus->points()), table_row_limit);
    for (Index i = 0; i < count; ++i) names.push_back(corpus_word(model, subject, {false, i}));
    return table_of_plane("Queries and keys of many texts in the plane", model.corpus->plane(),
                          std::move(names));
}

std::vector<Table> Model::tables(Subject& subject) {
    std::vector<Table> all;
    if (!refused.empty()) return all;
    switch (state.part) {
        case Part::qk:
        case Part::ov:
            for (const bool of_row : {true, false})
                if (const auto* found = circuit()->list(of_row, list_token(of_row), distance());
                    found && found->done())
                    all.push_back(list_table(*this, subject, of_row));
            if (circuit()->done()) all.push_back(map_table(*this, subject));
            if (state.part == Part::ov && copying()) all.push_back(table_of(copying_sheet(*this, subject)));
            break;
        case Part::positions:
            if (!uses_rope() && circuit()->done()) all.push_back(map_table(*this, subject));
            break;
        case Part::wiring:
            if (composition->done()) all.push_back(wires_table(*this, subject));
            break;
        case Part::plane:
            if (state.corpus ? corpus_plane() != nullptr : placed.has_value())
                all.push_back(plane_table(*this, subject));
            break;
    }
    return all;
}

}  // namespace attn::app::circuits
