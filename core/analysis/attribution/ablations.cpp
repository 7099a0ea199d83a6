#include "analysis/attribution/ablations.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/linalg/rank_correlation.hpp"

namespace attn {

namespace {

constexpr double operations_a_slice = 60e6;  // about 2 ms at 30 GFLOP/s

}  // namespace

Status check_twin(const Trace& trace, const Trace* twin) {
    if (!twin)
        return Error{
            "There is no second text. Compare with one of as many tokens that differs in what matters."};
    if (twin->model() != trace.model())
        return Error{"The second run is of another network; compare with another text through the same one."};
    const auto as_many = [](const Trace& one, const Trace& other) -> Status {
        if (one.tokens() == other.tokens()) return ok();
        return Error{"The second text has " + std::to_string(other.tokens()) +
                     (other.tokens() == 1 ? " token" : " tokens") + " and this one " +
                     std::to_string(one.tokens()) +
                     ". To take numbers from one to the other, both need as many: change one of them."};
    };
    if (trace.encoder())
        if (Status fits = as_many(*trace.encoder(), *twin->encoder()); !fits) return fits;
    return as_many(trace, *twin);
}

// ---- Heads ------------------------------------------------------------------------------------------------

HeadRemovals::HeadRemovals(const Trace& trace, AblationEffects runs, DirectAttribution raise,
                           std::optional<DirectAttribution> over)
    : attentions_(trace.attentions()), heads_(trace.model()->config().heads), runs_(std::move(runs)) {
    attributions_.push_back(std::move(raise));
    if (over) attributions_.push_back(*std::move(over));
    direct_.resize(static_cast<std::size_t>(attentions_ * (heads_ + 1)));
}

Result<HeadRemovals> HeadRemovals::start(const LogitTarget& target, Operation operation,
                                         const std::vector<std::shared_ptr<const Trace>>& from) {
    if (operation == Operation::patch) {
        const Trace* twin = from.empty() ? nullptr : from.front().get();
        if (Status fits = check_twin(*target.trace, twin); !fits) return fits.error();
    }
    auto runs = AblationEffects::start(target.trace, target.loss,
                                       without_heads(*target.trace, operation, from), operations_a_slice);
    if (!runs) return runs.error();
    auto raise = DirectAttribution::start(target.trace, *target.loss.row, target.loss.raise);
    if (!raise) return raise.error();
    std::optional<DirectAttribution> over;
    if (target.loss.over) {
        auto begun = DirectAttribution::start(target.trace, *target.loss.row, *target.loss.over);
        if (!begun) return begun.error();
        over = *std::move(begun);
    }
    return HeadRemovals(*target.trace, *std::move(runs), *std::move(raise), std::move(over));
}

std::optional<double>& HeadRemovals::direct_at(Index attention, Index column) {
    return direct_[static_cast<std::size_t>(attention * (heads_ + 1) + column)];
}

void HeadRemovals::add(const DirectAttribution& attribution, double sign) {
    for (const LogitShare& share : attribution.shares()) {
        if (share.part != LogitPart::head && share.part != LogitPart::mlp) continue;
        auto& to = direct_at(share.number, share.part == LogitPart::mlp ? heads_ : share.head);
        to = to.value_or(0) + sign * share.value;
    }
}

bool HeadRemovals::step() {
    for (DirectAttribution& each : attributions_)
        if (!each.done()) {
            each.step();
            if (!attributions_.back().done()) return true;
            for (std::size_t i = 0; i < attributions_.size(); ++i) add(attributions_[i], i == 0 ? 1 : -1);
            return true;
        }
    return runs_.step();
}

std::optional<double> HeadRemovals::logit_drop(const HeadIndex& head) const {
    const auto at = static_cast<std::size_t>(head.layer * heads_ + head.head);
    return at < runs_.effects().size() ? std::optional(-runs_.effects()[at]) : std::nullopt;
}

std::optional<double> HeadRemovals::direct(const HeadIndex& head) const {
    return direct_[static_cast<std::size_t>(head.layer * (heads_ + 1) + head.head)];
}

std::optional<Agreement> agreement(const HeadRemovals& removals, const StrongestWeights& weights) {
    if (!removals.done() || !weights.done()) return std::nullopt;
    std::vector<double> falls, direct, moved, looked;
    for (Index layer = 0; layer < removals.attentions(); ++layer)
        for (Index head = 0; head < removals.heads(); ++head) {
            const double fall = *removals.logit_drop({layer, head});
            if (!std::isfinite(fall)) continue;
            if (const auto adds = removals.direct({layer, head})) {
                falls.push_back(fall);
                direct.push_back(*adds);
            }
            if (const auto look = weights.of({layer, head})) {
                moved.push_back(std::abs(fall));
                looked.push_back(-look->rest);
            }
        }
    return Agreement{rank_correlation(falls, direct), rank_correlation(moved, looked)};
}

// ---- Edges ------------------------------------------------------------------------------------------------

Result<QueryCuts> QueryCuts::start(const LogitTarget& target, const HeadIndex& head, Index query) {
    QueryCuts made(seen_keys(*target.trace, head, query));
    if (query == target.trace->tokens() - 1)
        if (auto rows = LastEdgeEffects::start(target.trace, target.loss, head, operations_a_slice)) {
            made.rows_ = *std::move(rows);
            return made;
        }
    auto runs = AblationEffects::start(target.trace, target.loss, without_edges(*target.trace, head, query),
                                       operations_a_slice);
    if (!runs) return runs.error();
    made.runs_ = *std::move(runs);
    return made;
}

bool QueryCuts::step() { return rows_ ? rows_->step() : runs_->step(); }

std::optional<double> QueryCuts::logit_drop(Index key) const {
    const std::span<const double> effects = rows_ ? rows_->effects() : runs_->effects();
    const auto found = std::ranges::lower_bound(keys_, key);
    const auto at = static_cast<std::size_t>(found - keys_.begin());
    return at < effects.size() && *found == key ? std::optional(-effects[at]) : std::nullopt;
}

Result<HeadCuts> HeadCuts::start(const LogitTarget& target, const HeadIndex& head) {
    auto estimates = EdgeEstimates::start(target.trace, target.loss, head, operations_a_slice);
    if (!estimates) return estimates.error();
    return HeadCuts(target, *std::move(estimates));
}

const std::vector<EdgeTerms>* HeadCuts::row(Index query) const {
    const auto found = rows_.find(query);
    return found == rows_.end() ? nullptr : &found->second;
}

// Estimates one of the shown rows; false if all of them are there.
bool HeadCuts::estimate_shown() {
    for (const Index query : shown_)
        if (const auto [at, is_new] = rows_.try_emplace(query); is_new) {
            at->second = estimates_.row(query);
            return true;
        }
    return false;
}

std::span<const double> HeadCuts::exact() const {
    return exact_ ? exact_->effects() : std::span<const double>();
}

bool HeadCuts::step() {
    if (estimates_.at_head() && estimate_shown()) return true;
    if (!estimates_.done()) {
        estimates_.step();
        return true;
    }
    const auto& strongest = estimates_.strongest();
    if (off_ || strongest.empty()) return false;
    if (!exact_) {
        std::vector<AblationEffects::Variant> cuts;
        for (const EdgeEstimates::Edge& edge : strongest)
            cuts.push_back(without_edge(estimates_.head(), edge.query, edge.key));
        auto begun = AblationEffects::start(target_.trace, target_.loss, std::move(cuts), operations_a_slice);
        if (!begun) return false;
        exact_ = *std::move(begun);
        return true;
    }
    if (exact_->step()) return true;
    off_ = measure();
    return false;
}

std::optional<HeadCuts::Off> HeadCuts::measure() const {
    const auto& strongest = estimates_.strongest();
    std::vector<double> estimated, cut, apart;
    Off off;
    for (std::size_t i = 0; i < strongest.size(); ++i) {
        const double difference = std::abs(strongest[i].effect - exact()[i]);
        if (!std::isfinite(difference)) continue;
        if (apart.empty() || difference > off.worst) {
            off.worst = difference;
            off.worst_at = i;
        }
        estimated.push_back(strongest[i].effect);
        cut.push_back(exact()[i]);
        apart.push_back(difference);
    }
    if (apart.empty()) return std::nullopt;
    off.rank_correlation = rank_correlation(estimated, cut);
    std::ranges::sort(apart);
    off.median = (apart[(apart.size() - 1) / 2] + apart[apart.size() / 2]) / 2;
    return off;
}

float HeadCuts::progress() const {
    if (estimates_.done() && estimates_.strongest().empty()) return 1;
    return (estimates_.progress() + (exact_ ? exact_->progress() : 0)) / 2;
}

// ---- Tokens of two texts ----------------------------------------------------------------------------------

Result<Patches> Patches::start(const LogitTarget& target, Range attentions, Range tokens, Site site,
                               const std::shared_ptr<const Trace>& twin) {
    auto runs = AblationEffects::start(target.trace, target.loss,
                                       with_patches(attentions, tokens, site, twin), operations_a_slice);
    if (!runs) return runs.error();
    return Patches(*std::move(runs), attentions, tokens, loss_in(*twin, target.loss));
}

std::optional<double> Patches::moved(Index attention, Index token) const {
    const Index at = (attention - attentions_.begin) * tokens_.size() + token - tokens_.begin;
    const std::span<const double> effects = runs_.effects();
    return at < std::ssize(effects) ? std::optional(effects[static_cast<std::size_t>(at)]) : std::nullopt;
}

}  // namespace attn
