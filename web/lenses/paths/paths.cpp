#include "lenses/paths/paths.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/attribution/ablations.hpp"
#include "app/format.hpp"

namespace attn::app::paths {

namespace {

constexpr double least_share = 0.01;
constexpr std::array<std::string_view, ablation_count> ablation_words{"zero", "mean", "counterfactual"};

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"paths.target",
         [](const S& s) {
             return std::string(s.over ? "paths to a difference of logits" : "paths to a logit");
         },
         whole<&S::raise>("token id", 0, token_limit), whole<&S::over>("token id", 0, token_limit)},
        {"paths.share", [](const S& s) { return percent(s.share) + " of the logit kept"; },
         real<&S::share>("share of the logit", least_share, 1)},
        {"paths.merged", {"nodes merged over {}", "nodes not merged"}, named<&S::merge>(cells::merge_words)},
        {"paths.ablation", "everything outside the graph ablated: {}", named<&S::ablation>(ablation_words)},
    };
    static const Fields<S> fields{.all = all, .check = [](const S& s) -> Status {
                                      if (s.over && (!s.raise || *s.raise == *s.over))
                                          return Error{"Choose two different tokens for a logit difference."};
                                      return ok();
                                  }};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 4>()}; }

std::optional<Missing> Model::missing(Subject& subject) {
    if (subject.attention()->trace()) return std::nullopt;
    return Missing{"Paths to a logit need a whole model; here is only a head’s attention."};
}

// ---- Inputs -----------------------------------------------------------------------------------------------

void Model::find_loss() {
    refused.clear();
    if (!of.state.raise && row.tokens.empty())
        return void(refused = "The logits here are not finite, so no path leads to them.");
    const LogitLoss wanted{of.state.raise ? *of.state.raise : row.tokens.front().id, of.state.over, row.row};
    if (Status fits = check_loss(*of.trace, wanted); !fits)
        refused = fits.error().message;
    else if (!std::isfinite(loss_of(row.logits.values(), wanted)))
        refused = "This logit is not finite here. Choose another token.";
    else
        of.loss = wanted;
}

void Model::find_counterfactual(Subject& subject) {
    lacking.clear();
    offer.reset();
    if (of.state.ablation != Ablation::counterfactual) return;
    const Attention* second = second_of(subject);
    of.counterfactual = second ? second->trace() : nullptr;
    if (Status fits = check_twin(*of.trace, of.counterfactual.get()); !fits) {
        lacking = of.counterfactual ? fits.error().message
                                    : "There is no second text whose run could replace the rest.";
        Comparing* comparing = subject.learning() ? nullptr : subject.comparing();
        if (!of.counterfactual && comparing) offer = comparing->offer_second();
    }
}

void Model::update(Visit& visit, Subject& subject) {
    const Attention& attention = *subject.attention();
    const auto trace = attention.trace();
    const Key before = std::exchange(of, {.trace = trace, .state = visit.state().of<State>()});
    if (!row.trace || row.trace->model() != trace->model()) typed.clear();
    vocabulary.follow(trace->model());
    row.read(trace, std::min(attention.logits_row(), trace->tokens() - 1));
    find_loss();
    find_counterfactual(subject);
    if (of.trace != before.trace || of.loss != before.loss) {
        graph.reset();
        proof.reset();
        drawn.forget();
        kept = shown = {};
        taken = 0;
    }
    if (proof && (of.state.ablation != before.state.ablation || of.counterfactual != before.counterfactual))
        proof->forget_proof();
    if (of.state.merge != before.state.merge && graph) show();
    if (graph || !refused.empty()) return;
    auto started = PathGraph::start(trace, *of.loss);
    if (started)
        graph = std::make_shared<PathGraph>(*std::move(started));
    else
        refused = started.error().message;
}

// ---- Computing --------------------------------------------------------------------------------------------

void Model::show() {
    shown = merged(layout(), kept, of.state.merge);
    strongest = shown.edges;
    std::ranges::sort(strongest, is_stronger);
}

bool Model::step(Subject& subject) {
    if (search.on && vocabulary.read(subject)) return true;
    if (!graph || !refused.empty()) return false;
    if (graph->step()) return true;
    if (!proof) proof.emplace(graph);
    static constexpr std::array operations{Operation::zero, Operation::mean, Operation::patch};
    const PathReplacement rest{.operation = operations[static_cast<std::size_t>(of.state.ablation)],
                               .counterfactual = of.counterfactual};
    if (!proof->proves() && lacking.empty() && !proof->replace_rest(rest)) return false;
    const bool goes_on = proof->step(of.state.share);
    if (std::exchange(taken, proof->taken()) != taken) {
        kept = strongest_subgraph(*graph, taken);
        show();
    }
    return goes_on;
}

const PathCurve::Point* Model::kept_at(PathMeasure measure, Index edges) const {
    return proof ? proof->at(measure, edges) : nullptr;
}

PathMerge Model::merge_of(Index shown_node) const {
    return merged_nodes(layout(), shown_node, of.state.merge).size() == 1 ? PathMerge::none : of.state.merge;
}

double Model::effect(Index shown_node) const {
    double sum = 0;
    for (const Index node : merged_nodes(layout(), shown_node, of.state.merge)) sum += graph->effect(node);
    return sum;
}

std::optional<Selection> Model::head_at(Index shown_node) const {
    const std::vector<Index> nodes = merged_nodes(layout(), shown_node, of.state.merge);
    const PathNode at = layout().node(
        *std::ranges::max_element(nodes, {}, [&](Index node) { return std::abs(graph->effect(node)); }));
    if (at.kind != PathNode::Kind::head) return std::nullopt;
    return Selection{.layer = at.number, .head = at.head, .query = at.token, .key = {}};
}

}  // namespace attn::app::paths
