// Explains the numbers of lens Paths.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/paths/paths.hpp"
#include "subjects/explain.hpp"

namespace attn::app::paths {

namespace {

constexpr std::size_t parts_listed = 12;

CellPlace own_place(Subject& subject, const CellRef& cell) { return {subject.chosen_head(), cell}; }
CellPlace node_place(Subject& subject, Index node) {
    return own_place(subject, cells::node(node, PathMerge::none));
}
std::string name_of(const Model& model, Subject& subject, Index node) {
    return node_name(model, subject, node, PathMerge::none);
}

Explained::Operand part_of(Subject& subject, const PathEdge& edge, std::string name) {
    return {.name = std::move(name),
            .left = edge.effect,
            .left_at = own_place(subject, cells::edge(edge.from, edge.to, PathMerge::none))};
}

// Lists the strongest parts of a sum, and what all others add, those too that are not among the parts.
Expression add_parts(Explained& out, std::vector<Explained::Operand> parts, std::optional<double> sum = {}) {
    double whole = sum.value_or(0);
    for (const Explained::Operand& part : parts) whole += sum ? 0 : part.left;
    std::ranges::sort(parts, std::ranges::greater(), [](const auto& part) { return std::abs(part.left); });
    parts.resize(std::min(parts.size(), parts_listed));
    for (const Explained::Operand& part : parts) {
        whole -= part.left;
        out.summand(part.name, part.left, part.left_at);
    }
    const Expression listed = out.step("these", out.sum("parts"));
    return listed + out.step("all others", whole);
}

Explained explain_merged_node(const Model& model, Subject& subject, const LensCell& cell) {
    const auto merge = static_cast<PathMerge>(cell.at[1]);
    Explained out{.title = "What " + node_name(model, subject, cell.at[0], merge) + " adds in all ways",
                  .formula = "Σ effects of its nodes",
                  .operands_title = "Its nodes, the strongest first"};
    std::vector<Explained::Operand> parts;
    for (const Index each : merged_nodes(model.layout(), cell.at[0], merge))
        parts.push_back({.name = name_of(model, subject, each),
                         .left = model.graph->effect(each),
                         .left_at = node_place(subject, each)});
    out.step("effect", add_parts(out, std::move(parts)));
    return out;
}

std::optional<Explained> explain_node(Model& model, Subject& subject, const LensCell& cell) {
    const Index node = cell.at[0];
    if (!model.has_graph() || node >= model.layout().nodes()) return std::nullopt;
    if (static_cast<PathMerge>(cell.at[1]) != PathMerge::none)
        return explain_merged_node(model, subject, cell);
    const PathGraph& graph = *model.graph;
    const PathNode at = graph.layout().node(node);
    const std::string name = name_of(model, subject, node);
    const bool is_target = at.kind == PathNode::Kind::target;
    Explained out{
        .title = is_target ? capitalised(name) : "What " + name + " adds in all ways",
        .formula = at.kind == PathNode::Kind::embedding ? "out · ∂logit/∂out" : "Σ_edges effect + constant"};
    if (at.kind == PathNode::Kind::embedding) {
        out.step("effect", graph.effect(node));
        out.note =
            "The embedding of the token with its position, times the gradient of the logit, with "
            "patterns, norms and activations held.";
        return out;
    }
    out.operands_title = "Edges into it, the strongest first";
    std::vector<Explained::Operand> parts;
    for (const PathEdge& edge : graph.edges()) {
        if (edge.to == node) parts.push_back(part_of(subject, edge, name_of(model, subject, edge.from)));
        if (parts.size() == parts_listed) break;
    }
    const Expression edges = add_parts(out, std::move(parts), graph.incoming(node)),
                     constant = out.step("constant", graph.constant(node), "from biases");
    out.step(is_target ? "logit" : "effect", edges + constant);
    if (at.kind == PathNode::Kind::head)
        if (const NamedHeads* named = subject.named_heads()) out.note = named->name({at.number, at.head});
    return out;
}

// A merged edge is that of the kept graph.
std::optional<Explained> explain_merged_edge(const Model& model, Subject& subject, const PathEdge& joined,
                                             PathMerge merge) {
    const auto is_in = [&](Index node, Index first) {
        return merged_nodes(model.layout(), node, merge).front() == first;
    };
    Explained out{.title = edge_name(model, subject, joined, merge),
                  .formula = "Σ effects of its edges",
                  .operands_title = "Its kept edges, the strongest first"};
    std::vector<Explained::Operand> parts;
    for (const PathEdge& each : model.kept.edges)
        if (is_in(each.from, joined.from) && is_in(each.to, joined.to))
            parts.push_back(part_of(subject, each, edge_name(model, subject, each, PathMerge::none)));
    if (parts.empty()) return std::nullopt;
    out.step("effect", add_parts(out, std::move(parts)));
    return out;
}

std::optional<Explained> explain_edge(Model& model, Subject& subject, const LensCell& cell) {
    if (!model.has_graph()) return std::nullopt;
    const PathGraph& graph = *model.graph;
    if (const auto merge = static_cast<PathMerge>(cell.at[2]); merge != PathMerge::none)
        return explain_merged_edge(
            model, subject, {static_cast<std::int32_t>(cell.at[0]), static_cast<std::int32_t>(cell.at[1])},
            merge);
    const auto found = std::ranges::find_if(graph.edges(), [&](const PathEdge& each) {
        return each.from == cell.at[0] && each.to == cell.at[1];
    });
    if (found == graph.edges().end()) return std::nullopt;
    const PathEdge& edge = *found;
    const PathPart& part = graph.layout().part_of(edge.to);
    Explained out{.title = edge_name(model, subject, edge, PathMerge::none)};
    if (part.kind == PathNode::Kind::head) {
        const PathNode reader = graph.layout().node(edge.to);
        const Index key = graph.layout().token_of(edge.from);
        const double weight = static_cast<double>(
            graph.frozen().part(part).patterns.heads().head(reader.head)(reader.token, key));
        out.formula = "A[t, s] · out_u · W_V W_O ∂logit/∂(what the head writes)";
        const Expression seen = out.step(
            "weight A[t, s]", weight, Places{{reader.number, reader.head}}(Stage::weight, reader.token, key));
        const Expression moved = out.step("per unit of weight", edge.effect / weight);
        out.step("effect", seen * moved);
    } else {
        out.formula = "out_u · ∂logit/∂(what v reads, through v alone)";
        out.step("effect", edge.effect);
    }
    for (const Index node : {Index{edge.from}, Index{edge.to}})
        out.beside(name_of(model, subject, node), graph.effect(node), "in all ways",
                   node_place(subject, node));
    out.note =
        "What the first node writes goes straight into what the second reads, not through other "
        "nodes, and on to the logit by all ways. The product is added up while the graph is made.";
    return out;
}

std::optional<Explained> explain_kept(Model& model, Subject& subject, const LensCell& cell) {
    const auto measure = static_cast<PathMeasure>(cell.at[0]);
    const PathCurve::Point* point = model.kept_at(measure, cell.at[1]);
    if (!point) return std::nullopt;
    const PathGraph& graph = *model.graph;
    static constexpr std::array<const char*, ablation_count> replaced{
        "zero", "its mean over the tokens of this text", "what it is in the second text"};
    const std::string live = std::string("everything else is replaced by ") +
                             replaced[static_cast<std::size_t>(model.of.state.ablation)] +
                             ". Norms and activations are live; attention patterns are those of the run.";
    const Index target = graph.layout().target();
    const double constant = graph.constant(target);
    Explained out{
        .title = capitalised(name_of(model, subject, target)) + ", kept by " +
                 many(point->edges, measure == PathMeasure::random ? "random edge" : "edge"),
        .formula = measure == PathMeasure::random ? "mean of the random graphs" : "variable part + constant",
        .note = measure == PathMeasure::flow
                    ? "The sum over the paths of the graph, with patterns, norms and activations held."
                    : "Each node reads what its edges bring, and " + live};
    if (measure == PathMeasure::random) {
        for (std::size_t i = 0; i < point->random.size(); ++i)
            out.summand("graph " + std::to_string(i + 1), point->random[i]);
        out.step("kept", out.sum("kept") / static_cast<double>(point->random.size()));
    } else {
        const Expression variable = out.step("variable part", point->value - constant, "through the graph");
        out.step("kept", variable + out.step("constant", constant, "biases that reach the logit directly"));
    }
    out.beside("of the run’s", graph.value(), "", node_place(subject, target));
    if (const double share = kept_share(graph, point->value); std::isfinite(share))
        out.beside("share of the variable part", share, percent(share));
    return out;
}

constexpr std::array<ModelNumber<Model>, 3> declared{{
    {&cells::node, explain_node},
    {&cells::edge, explain_edge},
    {&cells::kept, explain_kept},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    auto out = refused.empty() ? explain_by(declared, *this, subject, cell) : std::nullopt;
    if (!out) return out;
    out->provenance = "computed by " + subject.attention()->title();
    out->f32 = single(out->f64);
    return out;
}

}  // namespace attn::app::paths
