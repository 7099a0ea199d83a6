// Measures what parts of a run do to its logit by running the model again: heads ablated, edges cut, tokens
// patched from a counterfactual text, which differs only in the point of interest. Each is a job in slices.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/attribution/direct_attribution.hpp"
#include "analysis/attribution/edge_estimates.hpp"
#include "analysis/attribution/effects.hpp"
#include "analysis/heads/strongest_weights.hpp"

namespace attn {

// A logit of a run, alone or minus another one, with its row.
struct LogitTarget {
    std::shared_ptr<const Trace> trace;
    LogitLoss loss;
    bool operator==(const LogitTarget&) const = default;
};

// Fails if the second run cannot be the counterfactual of the first: another text with as many tokens,
// through the same model.
Status check_twin(const Trace& trace, const Trace* twin);

// Ablates each head of the run, and attributes the target to its direct contributions.
class HeadRemovals {
  public:
    // `from` is the counterfactual run for a patch, or the runs for a mean over texts.
    static Result<HeadRemovals> start(const LogitTarget& target, Operation operation,
                                      const std::vector<std::shared_ptr<const Trace>>& from);

    bool step();  // direct contributions first, then head by head; true while there is more to do
    bool done() const { return removed() == attentions_ * heads_; }
    Index removed() const { return std::ssize(runs_.effects()); }
    float progress() const {
        return static_cast<float>(removed()) / static_cast<float>(attentions_ * heads_);
    }
    Index attentions() const { return attentions_; }
    Index heads() const { return heads_; }
    double value() const { return runs_.value(); }
    // Returns how far the target falls without the head; nothing until its run is done.
    std::optional<double> logit_drop(const HeadIndex& head) const;
    // Returns a head's direct contribution (analysis/attribution/direct_attribution.hpp); nothing until that
    // is known, and for parts of an encoder, which reach the logit only through others. The MLP of a block
    // follows the heads of the block's first attention.
    std::optional<double> direct(const HeadIndex& head) const;

  private:
    HeadRemovals(const Trace& trace, AblationEffects runs, DirectAttribution raise,
                 std::optional<DirectAttribution> over);
    std::optional<double>& direct_at(Index attention, Index column);
    void add(const DirectAttribution& attribution, double sign);

    Index attentions_, heads_;
    AblationEffects runs_;
    std::vector<DirectAttribution> attributions_;  // for the logit, and for the one it is compared with
    std::vector<std::optional<double>> direct_;    // [attentions, heads + 1]; the last of a row is the MLP's
};

// Rank correlations over the heads that have both numbers: ablation effect against direct contribution, and
// size of the effect against largest weight. Nothing until all heads are measured.
struct Agreement {
    double direct = 0, look = 0;
};
std::optional<Agreement> agreement(const HeadRemovals& removals, const StrongestWeights& weights);

// Cuts each edge of a query in one head.
class QueryCuts {
  public:
    static Result<QueryCuts> start(const LogitTarget& target, const HeadIndex& head, Index query);

    bool step();
    float progress() const { return rows_ ? rows_->progress() : runs_->progress(); }
    const std::vector<Index>& keys() const { return keys_; }  // keys that the query sees
    double value() const { return rows_ ? rows_->value() : runs_->value(); }
    // Returns how far the target falls if the query does not see this key; nothing until that is known.
    std::optional<double> logit_drop(Index key) const;

  private:
    explicit QueryCuts(std::vector<Index> keys) : keys_(std::move(keys)) {}
    std::vector<Index> keys_;
    std::optional<LastEdgeEffects> rows_;  // used if it applies, otherwise the next
    std::optional<AblationEffects> runs_;
};

// Estimates the effects of all edges of a head to first order, and cuts the strongest of them.
class HeadCuts {
  public:
    static Result<HeadCuts> start(const LogitTarget& target, const HeadIndex& head);

    bool step();  // true while there is more to do
    float progress() const;
    const EdgeEstimates& estimates() const { return estimates_; }
    // Requests the estimates of these queries first.
    void show(std::vector<Index> queries) { shown_ = std::move(queries); }
    const std::vector<EdgeTerms>* row(Index query) const;  // null until it is estimated
    std::span<const double> exact() const;                 // finished effects of estimates().strongest()
    // Compares the estimates of the strongest edges with their effects, once all are known; nothing if there
    // are none.
    struct Off {
        double median = 0, worst = 0;
        std::size_t worst_at = 0;  // index among the strongest
        double rank_correlation = 0;
    };
    const std::optional<Off>& off() const { return off_; }

  private:
    HeadCuts(LogitTarget target, EdgeEstimates estimates)
        : target_(std::move(target)), estimates_(std::move(estimates)) {}
    bool estimate_shown();
    std::optional<Off> measure() const;

    LogitTarget target_;
    EdgeEstimates estimates_;
    std::optional<AblationEffects> exact_;  // once the estimates are complete
    std::optional<Off> off_;
    std::vector<Index> shown_;
    std::map<Index, std::vector<EdgeTerms>> rows_;  // rows shown so far
};

// Patches a site of some attentions, or of their blocks, token by token from a matching counterfactual run
// (check_twin).
class Patches {
  public:
    static Result<Patches> start(const LogitTarget& target, Range attentions, Range tokens, Site site,
                                 const std::shared_ptr<const Trace>& twin);

    bool step() { return runs_.step(); }
    float progress() const { return runs_.progress(); }
    Range attentions() const { return attentions_; }
    Range tokens() const { return tokens_; }
    double value() const { return runs_.value(); }  // the target in the run
    double other() const { return other_; }         // the target in the counterfactual run
    // Returns how far the target rises with this number patched; nothing until its run is done.
    std::optional<double> moved(Index attention, Index token) const;

  private:
    Patches(AblationEffects runs, Range attentions, Range tokens, double other)
        : runs_(std::move(runs)), attentions_(attentions), tokens_(tokens), other_(other) {}
    AblationEffects runs_;
    Range attentions_, tokens_;
    double other_;
};

}  // namespace attn
