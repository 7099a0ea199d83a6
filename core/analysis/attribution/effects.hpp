// What parts of a run do to a logit, or to the difference of two: it is run without them (ablation: Michel,
// Levy & Neubig 2019, arXiv 1905.10650) or with them as they are in another run (activation patching: Vig et
// al. 2020, arXiv 2004.12265; Meng et al. 2022, arXiv 2202.05262).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/attribution/logit_gradient.hpp"
#include "analysis/attribution/variant_runs.hpp"
#include "attention/head_index.hpp"
#include "model/token_rows.hpp"

namespace attn {

// Variants of a run, one after the other, each under the run's own interventions and some more. To cancel it,
// drop it.
class AblationEffects {
  public:
    using Variant = VariantRuns::Variant;
    // Fails if the vocabulary has no such token, the text no such row, or if a variant is refused
    // (`resolved`).
    static Result<AblationEffects> start(std::shared_ptr<const Trace> trace, const LogitLoss& target,
                                         std::vector<Variant> variants,
                                         double slice_operations = operations_of_a_frame);

    bool step();  // a slice of a variant; true while there is more to do
    float progress() const { return runs_.progress(); }
    double value() const { return value_; }  // the target in the run as it is
    // How far the target is above that in each variant, of those that are done.
    std::span<const double> effects() const { return effects_; }

  private:
    AblationEffects(const LogitLoss& target, double value, VariantRuns runs)
        : target_(target), value_(value), runs_(std::move(runs)) {}

    LogitLoss target_;
    double value_;
    VariantRuns runs_;
    std::vector<double> effects_;
};

// One for each head, attention by attention: the head's output is set to zero, to its mean over the tokens or
// over those of other runs, or to another run's.
std::vector<AblationEffects::Variant> without_heads(
    const Trace& trace, Operation operation, const std::vector<std::shared_ptr<const Trace>>& from = {});
// The query sees this key no more.
AblationEffects::Variant without_edge(const HeadIndex& head, Index query, Index key);
// One for each key that the query sees.
std::vector<AblationEffects::Variant> without_edges(const Trace& trace, const HeadIndex& head, Index query);
// One for each of these attentions and of these tokens, attention by attention: at this site of vectors, of
// the attention or of its block, the token has the other run's.
std::vector<AblationEffects::Variant> with_patches(Range attentions, Range tokens, Site site,
                                                   const std::shared_ptr<const Trace>& from);
// One for each token: no query of any attention sees its key. The text's tokens come first (in a causal text
// up to that row, which no later one reaches), then the tokens of the text that an encoder read.
std::vector<AblationEffects::Variant> without_tokens(const Trace& trace, Index row);
// The keys that a query sees, in that order.
std::vector<Index> seen_keys(const Trace& trace, const HeadIndex& head, Index query);

// The effects of all edges into the last token of a causal text, in one head: all variants are rows of that
// token, which share the keys and values of those before it.
class LastEdgeEffects {
  public:
    // Fails as AblationEffects does, and if the run is changed, if it is not of a causal text that attends to
    // itself, or if the target is not that of its last token.
    static Result<LastEdgeEffects> start(std::shared_ptr<const Trace> trace, const LogitLoss& target,
                                         const HeadIndex& head,
                                         double slice_operations = operations_of_a_frame);

    bool step();  // a layer of some variants; true while there is more to do
    float progress() const;
    double value() const { return value_; }
    std::span<const Index> keys() const { return keys_; }  // the keys that the token sees
    // How far the target is above its value without each of them, of those that are done.
    std::span<const double> effects() const { return effects_; }

  private:
    LastEdgeEffects(std::shared_ptr<const Trace> trace, const LogitLoss& target, const HeadIndex& head,
                    double slice_operations);
    const LayerTrace& layer(std::size_t l) const { return trace_->layers()[l]; }
    Tensor heads_without_edges(Range variants) const;  // [heads, variants, head_dim]
    void run_layer();
    void read_logits();

    std::shared_ptr<const Trace> trace_;
    LogitLoss target_;
    HeadIndex head_;
    std::size_t first_layer_, next_layer_;
    double value_;
    std::vector<Index> keys_;
    Index at_once_;   // variants
    TokenRows rows_;  // the next variants
    std::vector<double> effects_;
};

}  // namespace attn
