// Names the nodes of lens Paths, and writes its sentence and its guide.
#include <algorithm>

#include "app/format.hpp"
#include "lenses/paths/paths.hpp"
#include "subjects/reading.hpp"

namespace attn::app::paths {

std::string word_of(Subject& subject, const PathNode& node) {
    return query_in_words(*subject.attention_of(node.number), node.token);
}

std::string brief_name(Subject& subject, const PathNode& node, PathMerge merge) {
    const std::string head = subject.attention()->numbering().short_head({node.number, node.head}),
                      layer = head.substr(0, head.find('.'));
    switch (node.kind) {
        case PathNode::Kind::embedding: return word_of(subject, node);
        case PathNode::Kind::head: return merge == PathMerge::heads ? "heads " + layer : head;
        case PathNode::Kind::mlp: return "MLP " + layer;
        case PathNode::Kind::target: break;
    }
    return "logit";
}

std::string node_name(const Model& model, Subject& subject, Index number, PathMerge merge) {
    const PathNode node = model.layout().node(number);
    std::string brief = brief_name(subject, node, merge);
    if (node.kind == PathNode::Kind::embedding) return brief;
    if (node.kind == PathNode::Kind::target) return "the logit of " + model.target_name(subject);
    const bool is_head = node.kind == PathNode::Kind::head && merge != PathMerge::heads;
    return (is_head ? "head " : "") + brief +
           (merge == PathMerge::tokens ? "" : " at " + word_of(subject, node));
}

std::string edge_name(const Model& model, Subject& subject, const PathEdge& edge, PathMerge merge) {
    return node_name(model, subject, edge.from, merge) + " → " + node_name(model, subject, edge.to, merge);
}

std::string Model::target_name(Subject& subject) const {
    const std::string raise = vocabulary.name(subject, of.loss->raise);
    return of.loss->over ? raise + " over " + vocabulary.name(subject, *of.loss->over) : raise;
}

namespace {

std::string chain_told(const Model& model, Subject& subject) {
    std::string text = "Strongest chain: ";
    const std::vector<PathEdge> chain = strongest_chain(model.layout(), model.shown);
    for (const PathEdge& edge : chain)
        text += node_name(model, subject, edge.from, model.of.state.merge) + " → ";
    return text + "the logit, whose last edge adds " + signed_number(chain.back().effect) + ".";
}

}  // namespace

std::string Model::headline(Subject& subject) {
    if (!refused.empty()) return refused;
    const std::string target = target_name(subject);
    if (!has_graph())
        return "Tracing the logit of " + target + " to its paths, " +
               percent(static_cast<double>(graph ? graph->progress() : 0)) + ".";
    if (taken == 0)
        return "Looking for the fewest edges that carry " + percent(of.state.share) + " of " + target + ".";
    if (kept.edges.empty()) return "No edges kept here form a path to " + target + ".";
    const PathCurve::Point *flow = kept_at(PathMeasure::flow, taken),
                           *live = kept_at(PathMeasure::proof, taken),
                           *random = kept_at(PathMeasure::random, taken);
    const Index count = std::ssize(kept.edges);
    const std::string these = count == 1 ? "This edge keeps " : "These " + many(count, "edge") + " keep ",
                      of_all = " of " + fixed(graph->value(), 2) + " for " + target,
                      chain = chain_told(*this, subject);
    if (live && random) {
        const auto [least, most] = std::ranges::minmax(random->random);
        return these + fixed(live->value, 2) + of_all + "; random ones " + rounded(random->value, 1) +
               " on average (" + rounded(least, 1) + " to " + rounded(most, 1) + ").\n" + chain;
    }
    if (flow && !lacking.empty())
        return "With all else held, " + fixed(flow->value, 2) + of_all + " flows through " +
               many(count, "edge") + ".\n" + chain + " " + lacking;
    return "Running the model with " + many(count, "edge") + " alone.\n" + chain;
}

Guide Model::guide(Subject&) {
    return {
        "The answer as a graph",
        "A logit is a sum over paths: from the words’ embeddings, through heads and MLPs at their tokens, up "
        "to the token’s row of the unembedding. With attention patterns and norms held at what they are in "
        "this text, and each MLP activation as the ratio act(x) / x, every edge adds a definite amount "
        "(Elhage et al. 2021; Syed, Rager & "
        "Conmy 2023; Ameisen et al. 2025), and a node’s effect is the sum of the edges into it plus its "
        "biases.\n\n"
        "The graph keeps the fewest of the strongest edges found through which the wanted share of the logit "
        "flows with all else held; biases that reach the logit directly are no part of that share. The proof "
        "runs the model again: each node reads only what its edges bring, and what all other nodes write is "
        "replaced by zero, by its mean over the text, or by what it is in a second text; biases and "
        "attention "
        "patterns stay, norms and activations are live. Random graphs of as many edges stand beside it.\n\n"
        "A head at all tokens, or all heads of a layer at a token, can be merged into one node."};
}

}  // namespace attn::app::paths
