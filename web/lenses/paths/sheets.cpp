// Makes the matrices of lens Paths.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "app/format.hpp"
#include "lenses/paths/paths.hpp"

namespace attn::app::paths {

namespace {

// A row of nodes: those of a head or of another writer, at all tokens of its stack.
struct Row {
    Index first_node, first_column, tokens;
    std::optional<Index> at(Index column) const {
        const Index token = column - first_column;
        return token >= 0 && token < tokens ? std::optional(first_node + token) : std::nullopt;
    }
};

std::vector<Row> rows_of(const PathLayout& layout) {
    std::vector<Row> rows;
    for (const PathPart& part : layout.parts()) {
        // The columns of a decoder follow those of its encoder.
        const Index first_column = part.stack == 0 ? 0 : layout.stack(0).tokens();
        for (Index head = 0; part.kind != PathNode::Kind::target && head < part.heads; ++head)
            rows.push_back({part.node(head, 0), first_column, part.tokens});
    }
    return rows;
}

// Numbers, the one with the largest value first.
std::vector<Index> by_value(const std::vector<double>& values) {
    std::vector<Index> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](Index i) { return std::pair(-values[static_cast<std::size_t>(i)], i); });
    return order;
}

}  // namespace

Sheet nodes_sheet(const Model& model, Subject& subject) {
    const PathGraph& graph = *model.graph;
    const PathLayout& layout = graph.layout();
    Sheet sheet{.key = "paths/node",
                .title = "What each node adds in all ways",
                .notation = "output · ∂logit/∂output",
                .about = model.target_name(subject),
                .rows = {.name = "node"},
                .columns = {.name = "token"},
                .is_signed = true};
    const std::vector<Row> rows = rows_of(layout);
    std::vector<double> of_rows(rows.size()),
        of_columns(static_cast<std::size_t>(rows.back().first_column + rows.back().tokens));
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const PathNode first = layout.node(rows[r].first_node);
        const bool are_words = first.kind == PathNode::Kind::embedding;
        sheet.rows.labels.push_back(are_words ? "embedding" : brief_name(subject, first, PathMerge::none));
        for (Index token = 0; token < rows[r].tokens; ++token) {
            const Index node = rows[r].first_node + token;
            const double effect = std::abs(graph.effect(node));
            double& of_column = of_columns[static_cast<std::size_t>(rows[r].first_column + token)];
            of_rows[r] = std::max(of_rows[r], effect);
            of_column = std::max(of_column, effect);
            if (are_words) sheet.columns.labels.push_back(word_of(subject, layout.node(node)));
        }
    }
    sheet.rows.wanted = by_value(of_rows);
    sheet.columns.wanted = by_value(of_columns);
    const auto at = [rows](Index r, Index c) { return rows[static_cast<std::size_t>(r)].at(c); };
    sheet.value = [at, &graph](Index r, Index c) {
        const auto node = at(r, c);
        return node ? graph.effect(*node) : std::nan("");
    };
    sheet.cell = [at](Index r, Index c) {
        const auto node = at(r, c);
        return node ? std::optional<CellRef>(cells::node(*node, PathMerge::none)) : std::nullopt;
    };
    return sheet;
}

Table edges_table(const Model& model, Subject& subject) {
    Sheet sheet{.key = "paths/edges",
                .title = "Edges of the graph",
                .about = model.target_name(subject),
                .rows = {.name = "edge"},
                .columns = {.name = "number", .labels = {"effect"}},
                .value = [&](Index r, Index) { return model.strongest[static_cast<std::size_t>(r)].effect; }};
    for (const PathEdge& edge : model.strongest)
        sheet.rows.labels.push_back(edge_name(model, subject, edge, model.of.state.merge));
    return table_of(sheet);
}

std::vector<Table> Model::tables(Subject& subject) {
    if (!refused.empty() || !has_graph()) return {};
    std::vector<Table> all;
    if (!shown.edges.empty()) all.push_back(edges_table(*this, subject));
    all.push_back(table_of(nodes_sheet(*this, subject)));
    return all;
}

}  // namespace attn::app::paths
