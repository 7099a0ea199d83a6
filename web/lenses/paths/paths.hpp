// Lens Paths: how a logit comes about. Embeddings, heads and MLPs at their tokens are the nodes of a graph
// (analysis/attribution/path_graph.hpp). The fewest of its strongest edges are kept through which a share of
// the logit flows with all else held, and the model then runs with these edges alone.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/path_proof.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "runs/likeliest.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app::paths {

// What replaces everything outside the graph.
enum class Ablation : std::uint8_t { zero, mean, counterfactual };
inline constexpr Index ablation_count = 3;

struct State {
    std::optional<std::int32_t> raise = {};  // the token of the logit; none: the likeliest
    std::optional<std::int32_t> over = {};   // the one that it is compared with; none: the logit alone
    double share = 0.6;                      // how much of the logit flows through the kept edges
    PathMerge merge = PathMerge::none;       // nodes that are drawn as one
    Ablation ablation = Ablation::zero;
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// The lens's own numbers. Nodes are those of the layout.
namespace cells {
inline constexpr std::array<std::string_view, path_measure_count> measure_words{"flow", "proof", "random"};
inline constexpr std::array<std::string_view, 3> merge_words{"each", "tokens", "heads"};
// Merged nodes are named by the first of them.
inline constexpr CellAxis merge_axis{"merged", merge_words};
inline constexpr CellKind node{"node", {CellAxis{"node"}, merge_axis}};
inline constexpr CellKind edge{"edge", {CellAxis{"from"}, {"to"}, merge_axis}};
inline constexpr CellKind kept{"kept", {CellAxis{"measure", measure_words}, {"edges"}}};
}  // namespace cells
CellKinds numbers();

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static bool suits(Subject& subject) { return subject.runs_model(); }
    static Guide guide(Subject& subject);

    struct Key {
        std::shared_ptr<const Trace> trace, counterfactual = {};
        std::optional<LogitLoss> loss = {};
        State state = {};
        Index taken = 0;
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const { return {of.trace, of.counterfactual, of.loss, of.state, taken}; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool step(Subject& subject);  // true while there is more to do
    bool has_graph() const { return graph && graph->done(); }
    const PathLayout& layout() const { return graph->layout(); }
    std::string target_name(Subject& subject) const;  // "“tired”", "“tired” over “wide”"
    // What a graph of the strongest edges keeps; null: it has not run.
    const PathCurve::Point* kept_at(PathMeasure measure, Index edges) const;
    CellRef cell_of(Index shown_node) const { return cells::node(shown_node, merge_of(shown_node)); }
    CellRef cell_of(const PathEdge& edge) const {
        return cells::edge(edge.from, edge.to, std::max(merge_of(edge.from), merge_of(edge.to)));
    }
    double effect(Index shown_node) const;  // in all ways; of merged nodes, of all of them
    // The head that a node is or, of merged ones, the strongest, with its token.
    std::optional<Selection> head_at(Index shown_node) const;

    Key of;
    std::string refused;         // why there is no graph; empty if there is one
    std::string lacking;         // why nothing can be ablated
    std::optional<Offer> offer;  // the step that helps
    std::shared_ptr<PathGraph> graph;
    std::optional<PathProof> proof;
    Index taken = 0;                  // how many of the strongest edges are kept; 0: that is being looked for
    PathSubgraph kept, shown;         // the edges on paths, and the same with merged nodes
    std::vector<PathEdge> strongest;  // the edges of the shown graph, the strongest first
    Derived<std::array<Index, 3>, PathSubgraph> drawn;  // keyed by what there is room for

    LikeliestTokens row;
    Vocabulary vocabulary;
    TokenSearch search;
    std::vector<std::int32_t> typed;  // tokens found by typing

  private:
    PathMerge merge_of(Index shown_node) const;  // none if the node stands for itself
    void find_loss();
    void find_counterfactual(Subject& subject);
    void show();
};

// "head 1.3 at “It”"; of merged nodes, "head 1.3" or "heads 1 at “It”".
std::string node_name(const Model& model, Subject& subject, Index node, PathMerge merge);
std::string brief_name(Subject& subject, const PathNode& node, PathMerge merge);  // "1.3", "MLP 0"
std::string word_of(Subject& subject, const PathNode& node);                      // the token that it is at
std::string edge_name(const Model& model, Subject& subject, const PathEdge& edge, PathMerge merge);

Sheet nodes_sheet(const Model& model, Subject& subject);
Table edges_table(const Model& model, Subject& subject);
// Returns the lens to open once everything is drawn; empty: none.
std::string_view draw_graph(Model& model, const Drawing& drawing, Subject& subject, float width);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::paths
