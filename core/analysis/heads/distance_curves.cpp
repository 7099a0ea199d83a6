#include "analysis/heads/distance_curves.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/linalg/vectors.hpp"

namespace attn {

DistanceCurves::DistanceCurves(std::shared_ptr<const UnplacedRows> rows, CurvePair pair, PositionRules rules,
                               Index reach)
    : rows_(std::move(rows)), pair_(pair), rules_(std::move(rules)), reach_(reach) {
    for (std::size_t s = 0; s < position_schemes; ++s)
        keys_[s] = rows_->row_at(rules_[s], Stage::k, pair.key, 0);
}

bool DistanceCurves::step() {
    constexpr Index at_once = 16;
    for (std::size_t s = 0; s < position_schemes; ++s) {
        const PositionRule& rule = rules_[s];
        std::vector<double>& scores = scores_[s];
        for (Index i = 0; i < at_once && std::ssize(scores) <= reach_; ++i) {
            const Index distance = std::ssize(scores);
            scores.push_back(
                rows_->reaches(rule, distance)
                    ? rows_->score(dot(rows_->row_at(rule, Stage::q, pair_.query, distance), keys_[s]),
                                   position_bias(rule, distance, 0))
                    : std::nan(""));
        }
    }
    return !done();
}

RopeScaling length_scaling(std::size_t kind, Index trained, Index factor) {
    return {.kind = static_cast<RopeScaling::Kind>(kind),
            .factor = static_cast<double>(factor),
            .original_context = trained};
}

LengthCurves::LengthCurves(std::shared_ptr<const UnplacedRows> rows, CurvePair pair, bool interleaved,
                           Index trained, Index factor)
    : rows_(std::move(rows)), farthest_(trained * factor) {
    const std::vector<double> q = rows_->row(Stage::q, pair.query), k = rows_->row(Stage::k, pair.key);
    const Index turned = 2 * std::ssize(rows_->frequencies());
    for (std::size_t a = static_cast<std::size_t>(turned); a < q.size(); ++a) unturned_ += q[a] * k[a];
    for (std::size_t kind = 0; kind < length_scalings; ++kind) {
        PositionRule& rule = rules_[kind];
        const RopeScaling scaling = length_scaling(kind, trained, factor);
        rule.scheme = PositionScheme::rotary;
        rule.frequencies = rotary_frequencies(turned, rows_->base(), scaling);
        rule.magnitude = rotary_magnitude(scaling);
        rule.interleaved = interleaved;
        for (Index a = 0; a < std::ssize(rule.frequencies); ++a) {
            const PairRotation turn = pair_rotation(rule, a, q, 0, k, 0);
            waves_[kind].push_back({turn.q_length * turn.k_length, turn.q_angle - turn.k_angle,
                                    rule.frequencies[static_cast<std::size_t>(a)]});
        }
    }
}

Index LengthCurves::first_distance(Index bin) const {
    return static_cast<Index>(static_cast<double>(farthest_) * static_cast<double>(bin) /
                              static_cast<double>(bins));
}
Index LengthCurves::samples() const { return std::clamp(farthest_ / bins, Index{1}, most_samples); }

double LengthCurves::score(std::size_t kind, Index distance) const {
    double dot = unturned_;
    for (const Wave& wave : waves_[kind])
        dot += wave.amplitude * std::cos(wave.phase + static_cast<double>(distance) * wave.frequency);
    return rows_->score(dot);
}

bool LengthCurves::step() {
    if (done()) return false;
    const Index first = first_distance(bins_done());
    for (std::size_t kind = 0; kind < length_scalings; ++kind) {
        Bin bin{0, HUGE_VAL, -HUGE_VAL};
        for (Index i = 0; i < samples(); ++i) {
            const double value = score(kind, first + i);
            bin.mean += value / static_cast<double>(samples());
            bin.low = std::min(bin.low, value);
            bin.high = std::max(bin.high, value);
        }
        found_[kind].push_back(bin);
    }
    return !done();
}

}  // namespace attn
