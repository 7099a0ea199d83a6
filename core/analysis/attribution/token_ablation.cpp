#include "analysis/attribution/token_ablation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/linalg/rank_correlation.hpp"
#include "analysis/ordered.hpp"

namespace attn {

std::vector<Index> by_importance(std::span<const TokenShares* const> measures, bool in_encoder,
                                 Index tokens) {
    std::vector<double> matters(static_cast<std::size_t>(tokens));
    for (const TokenShares* measure : measures) {
        double most = 0;
        for (const double each : measure->of(in_encoder)) most = std::max(most, std::abs(each));
        for (std::size_t token = 0; most > 0 && token < matters.size(); ++token)
            if (const double each = std::abs(measure->of(in_encoder)[token]); std::isfinite(each))
                matters[token] += each / most;
    }
    return ordered_by(tokens, [&](Index token) { return -matters[static_cast<std::size_t>(token)]; });
}

TokenAblation::TokenAblation(AblationEffects effects, std::vector<Index> order, Index own, TokenShares falls)
    : effects_(std::move(effects)), order_(std::move(order)), own_(own), falls_(std::move(falls)) {
    for (auto* each : {&falls_.own, &falls_.encoded}) std::ranges::fill(*each, NAN);
    std::fill(falls_.own.begin() + own_, falls_.own.end(), 0.0);
}

Result<TokenAblation> TokenAblation::start(const std::shared_ptr<const Trace>& trace, Index row,
                                           std::int32_t token, std::span<const TokenShares* const> measures,
                                           double slice_operations) {
    std::vector<AblationEffects::Variant> all = without_tokens(*trace, row), ordered;
    TokenShares falls(*trace);
    const Index encoded = std::ssize(falls.encoded), own = std::ssize(all) - encoded;
    std::vector<Index> order = by_importance(measures, false, own);
    for (const Index each : by_importance(measures, true, encoded)) order.push_back(own + each);
    for (const Index variant : order) ordered.push_back(std::move(all[static_cast<std::size_t>(variant)]));
    auto effects = AblationEffects::start(trace, {.raise = token, .over = {}, .row = row}, std::move(ordered),
                                          slice_operations);
    if (!effects) return effects.error();
    return TokenAblation(*std::move(effects), std::move(order), own, std::move(falls));
}

bool TokenAblation::step() {
    const Index before = known();
    const bool more = effects_.step();
    for (Index i = before; i < known(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        const Index variant = order_[at];
        (variant < own_ ? falls_.own[static_cast<std::size_t>(variant)]
                        : falls_.encoded[static_cast<std::size_t>(variant - own_)]) = -effects_.effects()[at];
    }
    return more;
}

std::optional<double> TokenAblation::agreement(const TokenShares& measure, bool is_signed) const {
    std::vector<double> a, b;
    for (const bool encoded : {false, true}) {
        const auto count = encoded ? falls_.encoded.size() : static_cast<std::size_t>(own_);
        for (std::size_t i = 0; i < count; ++i) {
            const double share = measure.of(encoded)[i], fall = falls_.of(encoded)[i];
            if (!std::isfinite(share) || !std::isfinite(fall)) continue;
            a.push_back(share);
            b.push_back(is_signed ? fall : std::abs(fall));
        }
    }
    return a.size() < 2 ? std::nullopt : std::optional(rank_correlation(a, b));
}

}  // namespace attn
