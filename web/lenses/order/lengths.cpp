#include "lenses/order/lengths.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {

std::vector<double> content_row(const OrderContent& content, Stage stage, std::optional<Index> token) {
    const Tensor& all = stage == Stage::q ? content.rows().q : content.rows().k;
    const ConstMatrix rows = all.heads().head(0);
    std::vector<double> mean(static_cast<std::size_t>(rows.cols));
    const Range of = token ? Range{*token, *token + 1} : Range{0, rows.rows};
    for (Index row = of.begin; row < of.end; ++row)
        for (Index a = 0; a < rows.cols; ++a)
            mean[static_cast<std::size_t>(a)] +=
                static_cast<double>(rows(row, a)) / static_cast<double>(of.size());
    return mean;
}

double score_of(const OrderContent& content, double dot, double bias) {
    const double scaled = content.record()->scale() * dot, cap = content.record()->spec().softcap;
    return (cap > 0 ? cap * std::tanh(scaled / cap) : scaled) + bias;
}

double dot_of(std::span<const double> a, std::span<const double> b) {
    double dot = 0;
    for (std::size_t i = 0; i < a.size(); ++i) dot += a[i] * b[i];
    return dot;
}

bool is_own_table(const OrderContent& content, const PositionRule& rule) {
    return rule.scheme == PositionScheme::learned && content.own_table();
}

bool reaches(const OrderContent& content, const PositionRule& rule, Index position) {
    if (rule.scheme == PositionScheme::own_buckets) return content.own_bias();
    if (rule.scheme != PositionScheme::learned) return true;
    return position < (content.own_table() ? content.context() : rule.table_rows);
}

DistanceCurves::DistanceCurves(std::shared_ptr<const OrderContent> content, CurvePair pair,
                               const PositionRules& rules, Index reach)
    : content_(std::move(content)),
      pair_(pair),
      rules_(rules),
      reach_(reach),
      q_(content_row(*content_, Stage::q, pair.query)),
      k_(content_row(*content_, Stage::k, pair.key)) {
    for (std::size_t s = 0; s < position_schemes; ++s) keys_[s] = k_at(static_cast<PositionScheme>(s));
}

std::vector<double> DistanceCurves::q_at(PositionScheme scheme, Index distance) const {
    const PositionRule& rule = rules_[static_cast<std::size_t>(scheme)];
    return is_own_table(*content_, rule) ? content_->at_own_position(Stage::q, pair_.query, distance)
                                         : placed(rule, q_, distance);
}
std::vector<double> DistanceCurves::k_at(PositionScheme scheme) const {
    const PositionRule& rule = rules_[static_cast<std::size_t>(scheme)];
    return is_own_table(*content_, rule) ? content_->at_own_position(Stage::k, pair_.key, 0)
                                         : placed(rule, k_, 0);
}

bool DistanceCurves::step() {
    constexpr Index at_once = 16;
    for (std::size_t s = 0; s < position_schemes; ++s) {
        std::vector<double>& scores = scores_[s];
        for (Index i = 0; i < at_once && std::ssize(scores) <= reach_; ++i) {
            const Index distance = std::ssize(scores);
            scores.push_back(reaches(*content_, rules_[s], distance)
                                 ? score_of(*content_,
                                            dot_of(q_at(static_cast<PositionScheme>(s), distance), keys_[s]),
                                            position_bias(rules_[s], distance, 0))
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

LengthCurves::LengthCurves(std::shared_ptr<const OrderContent> content, CurvePair pair, bool interleaved,
                           Index trained, Index factor)
    : content_(std::move(content)), farthest_(trained * factor) {
    const std::vector<double> q = content_row(*content_, Stage::q, pair.query),
                              k = content_row(*content_, Stage::k, pair.key);
    const Index turned = 2 * std::ssize(content_->frequencies());
    for (std::size_t a = static_cast<std::size_t>(turned); a < q.size(); ++a) unturned_ += q[a] * k[a];
    for (std::size_t kind = 0; kind < length_scalings; ++kind) {
        PositionRule& rule = rules_[kind];
        const RopeScaling scaling = length_scaling(kind, trained, factor);
        rule.scheme = PositionScheme::rotary;
        rule.frequencies = rotary_frequencies(turned, content_->base(), scaling);
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
    return score_of(*content_, dot);
}

bool LengthCurves::step() {
    if (done()) return false;
    for (std::size_t kind = 0; kind < length_scalings; ++kind) {
        Bin bin{0, HUGE_VAL, -HUGE_VAL};
        for (Index i = 0; i < samples(); ++i) {
            const double value = score(kind, first_distance(bins_done_) + i);
            bin.mean += value / static_cast<double>(samples());
            bin.low = std::min(bin.low, value);
            bin.high = std::max(bin.high, value);
        }
        found_[kind].push_back(bin);
    }
    ++bins_done_;
    return !done();
}

}  // namespace attn::app
