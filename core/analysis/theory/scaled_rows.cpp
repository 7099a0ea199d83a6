#include "analysis/theory/scaled_rows.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/linalg/moments.hpp"
#include "attention/explain.hpp"
#include "tensor/random.hpp"

namespace attn {

namespace {

// Powers of two and values halfway between them.
constexpr std::array<Index, 24> curve_points{1,  2,   3,   4,   6,   8,   12,  16,   24,   32,   48,   64,
                                             96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096};

RowOfHead made_row(Tensor q, Tensor k) {
    Tensor v({1, k.dim(1), 0});
    auto record = Record::prepare(std::move(q), std::move(k), std::move(v), {});
    return {std::make_shared<const Record>(std::move(*record))};
}

Record ruled(const RowOfHead& row, double scale) {
    AttentionSpec spec = row.record->spec();
    spec.scale = scale;
    Record record = *row.record->prepare_under(std::move(spec));
    const Index group = record.kv_head(row.head);
    record.measure({row.query, row.query + 1}, 1, {group, group + 1});
    return record;
}

}  // namespace

double scale_of(std::size_t rule, Index components, double own) {
    const auto d = static_cast<double>(components);
    return std::array{1.0, 1 / std::sqrt(d), 1 / d, own}[rule];
}

double measured(const Saturation& row, RowMeasure measure) {
    return measure == RowMeasure::entropy   ? row.entropy
           : measure == RowMeasure::largest ? row.largest
                                            : row.gradient;
}

std::vector<float> seeded_vector(std::uint32_t seed, Index vector, Index components) {
    // 1: distinct from the pairs of the histogram.
    Random random(mixed(seed, static_cast<std::uint64_t>(vector), 1));
    std::vector<float> values;
    for (Index a = 0; a < components; ++a) values.push_back(static_cast<float>(random.normal()));
    return values;
}

RowOfHead seeded_row(std::uint32_t seed, Index keys, Index components) {
    Tensor k({1, keys, components});
    for (Index key = 0; key < keys; ++key)
        std::ranges::copy(seeded_vector(seed, key + 1, components), k.heads().head(0).row(key));
    return made_row(Tensor({1, 1, components}, seeded_vector(seed, 0, components)), std::move(k));
}

RowOfHead row_of_scores(std::span<const double> scores) {
    Tensor k({1, std::ssize(scores), 1});
    std::ranges::transform(scores, k.data(), [](double score) { return static_cast<float>(score); });
    return made_row(Tensor({1, 1, 1}, std::vector{1.0f}), std::move(k));
}

RuledRow::RuledRow(const RowOfHead& row, std::string rule, double scale)
    : name(std::move(rule)), record(ruled(row, scale)), weights(record.weights(row.head, row.query)) {
    const RowChain chain = row_chain(record, row.head, row.query);
    for (Index key = 0; key < record.keys(); ++key) {
        const CellExplanation cell = chain.at(key);
        scores.push_back(cell.masked);
        exact.push_back(cell.weight);
    }
    saturation = saturation_of(std::vector<double>(weights.begin(), weights.end()));
    exact_saturation = saturation_of(exact);
}

std::vector<Index> strongest_keys(const RuledRow& rule, std::size_t first) {
    const auto score = [&](Index key) { return rule.scores[static_cast<std::size_t>(key)]; };
    std::vector<Index> keys;
    for (Index key = 0; key < std::ssize(rule.scores); ++key)
        if (score(key) != -HUGE_VAL) keys.push_back(key);
    // NaN comes last.
    const auto middle = keys.begin() + std::min(std::ssize(keys), static_cast<std::ptrdiff_t>(first));
    std::ranges::partial_sort(keys, middle, [&](Index a, Index b) {
        const bool odd_a = std::isnan(score(a)), odd_b = std::isnan(score(b));
        if (odd_a != odd_b) return odd_b;
        return odd_a || score(a) == score(b) ? a < b : score(a) > score(b);
    });
    return keys;
}

bool RuledRows::step() {
    const std::size_t rule = rules.size();
    if (rule < scale_rules) rules.emplace_back(row, names[rule], scales[rule]);
    if (rule == 0) keys = strongest_keys(rules.front(), keys_sorted);
    return !done();
}

void RuledRows::use(double own) {
    if (own == scales.back()) return;
    scales.back() = own;
    if (done()) rules.pop_back();
}

void RuledRows::make_quick_ones() {
    constexpr Index row_at_once = Index{1} << 17;  // multiply-adds for the scores of a row under one rule
    const bool is_short = row.record->keys() * row.record->d_k() <= row_at_once;
    if (rules.empty() || is_short)
        while (step() && is_short) continue;
}

std::span<const Index> ScaleCurves::points() { return curve_points; }

ScaleCurves::ScaleCurves(std::uint32_t first_seed, Index keys, double own)
    : first_seed_(first_seed),
      keys_(keys),
      own_(own),
      scores_(static_cast<std::size_t>(seeds * keys) * curve_points.size()),
      values_(static_cast<std::size_t>(seeds) * curve_points.size() * scale_rules * curve_measures),
      spreads_(curve_points.size() * scale_rules * curve_measures) {}

bool ScaleCurves::step() {
    if (done()) return false;
    const auto seed = first_seed_ + static_cast<std::uint32_t>(seeds_done_);
    if (next_key_ == 0) q_ = seeded_vector(seed, 0, curve_points.back());
    const std::vector<float> k = seeded_vector(seed, next_key_ + 1, curve_points.back());
    double sum = 0;
    std::size_t a = 0;
    for (std::size_t point = 0; point < curve_points.size(); ++point) {
        for (; a < static_cast<std::size_t>(curve_points[point]); ++a)
            sum += static_cast<double>(q_[a]) * static_cast<double>(k[a]);
        scores_[(static_cast<std::size_t>(seeds_done_) * curve_points.size() + point) *
                    static_cast<std::size_t>(keys_) +
                static_cast<std::size_t>(next_key_)] = sum;
    }
    if (++next_key_ < keys_) return true;
    next_key_ = 0;
    for (std::size_t rule = 0; rule < scale_rules; ++rule) measure(seeds_done_, rule);
    ++seeds_done_;
    for (std::size_t rule = 0; rule < scale_rules; ++rule) spread(rule);
    return !done();
}

void ScaleCurves::use(double own) {
    if (own == own_) return;
    own_ = own;
    for (Index seed = 0; seed < seeds_done_; ++seed) measure(seed, scale_rules - 1);
    if (seeds_done_ > 0) spread(scale_rules - 1);
}

void ScaleCurves::measure(Index seed, std::size_t rule) {
    for (std::size_t point = 0; point < curve_points.size(); ++point) {
        const std::size_t at = static_cast<std::size_t>(seed) * curve_points.size() + point;
        const std::span scores =
            std::span(scores_).subspan(at * static_cast<std::size_t>(keys_), static_cast<std::size_t>(keys_));
        const double scale = scale_of(rule, curve_points[point], own_);
        const Saturation row = saturation_of(softmax(scores, scale));
        double squares = 0;
        for (const double score : scores) squares += scale * score * scale * score;
        double* out = &values_[(at * scale_rules + rule) * curve_measures];
        out[static_cast<std::size_t>(RowMeasure::entropy)] = row.entropy;
        out[static_cast<std::size_t>(RowMeasure::largest)] = row.largest;
        out[static_cast<std::size_t>(RowMeasure::gradient)] = row.gradient;
        // Their mean is known to be 0.
        out[static_cast<std::size_t>(RowMeasure::variance)] = squares / static_cast<double>(keys_);
    }
}

double ScaleCurves::value(RowMeasure measure, std::size_t rule, std::size_t point, Index seed) const {
    const std::size_t at = static_cast<std::size_t>(seed) * curve_points.size() + point;
    return values_[(at * scale_rules + rule) * curve_measures + static_cast<std::size_t>(measure)];
}

void ScaleCurves::spread(std::size_t rule) {
    std::vector<double> over(static_cast<std::size_t>(seeds_done_));
    const std::size_t tenth = over.size() / 10;
    for (std::size_t point = 0; point < curve_points.size(); ++point)
        for (std::size_t m = 0; m < curve_measures; ++m) {
            for (std::size_t seed = 0; seed < over.size(); ++seed)
                over[seed] = value(static_cast<RowMeasure>(m), rule, point, static_cast<Index>(seed));
            std::ranges::sort(over);
            spreads_[(point * scale_rules + rule) * curve_measures + m] = {
                moments_of(std::span<const double>(over)).mean, over[tenth], over[over.size() - 1 - tenth]};
        }
}

}  // namespace attn
