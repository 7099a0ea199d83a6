#include "analysis/heads/head_examples.hpp"

#include <algorithm>

#include "maps/map.hpp"

namespace attn {

std::int32_t example_target(const Trace& trace, Index row) {
    const std::span<const std::int32_t> ids = trace.ids();
    if (!trace.network().causal) return ids[static_cast<std::size_t>(row)];
    if (row + 1 < std::ssize(ids)) return ids[static_cast<std::size_t>(row + 1)];
    const Tensor logits = trace.logits({row, row + 1});
    return static_cast<std::int32_t>(std::ranges::max_element(logits.values()) - logits.values().begin());
}

void HeadExamples::begin(std::shared_ptr<const Trace> trace, Index text) {
    trace_ = std::move(trace);
    text_ = text;
    next_ = 0;
    rows_ = {};
    attentions_ = trace_->attentions();
    heads_ = trace_->attention(0).record().heads();
    all_.resize(static_cast<std::size_t>(attentions_ * heads_));
    norms_.clear();
    for (Index number = 0; number < attentions_; ++number) {
        const LayerAttention attention = trace_->attention(number);
        for (Index head = 0; head < heads_; ++head)
            norms_.push_back(
                projected_value_norms(attention.record(), head, attention.half.attention_out.weight));
    }
    for (OfHead& each : all_)
        for (std::size_t measure = 0; measure < example_measures; ++measure) {
            const std::vector<HeadExample>& kept = each.strongest[measure];
            each.bars[measure].reset();
            if (kept.size() == strongest_kept) each.bars[measure] = kept.back().values[measure];
        }
}

// The keys that the query sees, within a range of them.
struct HeadExamples::Seen {
    Range keys;
    std::vector<std::uint8_t> allowed = {};  // empty: all of the range

    Seen(const Record& record, Index head, Index query) : keys{0, record.keys()} {
        const Mask& mask = record.spec().mask;
        if (mask.run(head, query, keys)) return;
        allowed.resize(static_cast<std::size_t>(record.keys()));
        mask.row(head, query, 0, allowed);
    }
    Index count() const {
        return allowed.empty() ? keys.size() : std::ranges::count_if(allowed, std::identity());
    }
    bool has(Index key) const { return allowed.empty() || allowed[static_cast<std::size_t>(key)]; }
};

// Computes the weights of the next rows together, which is faster.
void HeadExamples::weigh(Index first) {
    constexpr Index cells_at_once = 4096;
    const Index tokens = trace_->tokens();
    rows_ = {first, std::min(first + std::max<Index>(cells_at_once / tokens, 1), tokens)};
    weights_.clear();
    for (Index number = 0; number < attentions_; ++number) {
        const LayerAttention attention = trace_->attention(number);
        const Record& record = attention.record();
        for (Index head = 0; head < heads_; ++head) {
            auto& weights = weights_.emplace_back(static_cast<std::size_t>(rows_.size() * record.keys()));
            record.stage(Stage::weight, head, rows_, {0, record.keys()}, weights);
        }
    }
}

bool HeadExamples::step() {
    if (!trace_ || next_ == trace_->tokens()) return false;
    const Index row = next_++;
    if (row == rows_.end) weigh(row);
    const std::int32_t target = example_target(*trace_, row);
    auto attribution = DirectAttribution::start(trace_, row, target);
    while (attribution && attribution->step()) continue;
    for (Index number = 0; number < attentions_; ++number) {
        const LayerAttention attention = trace_->attention(number);
        const Record& record = attention.record();
        for (Index head = 0; head < heads_; ++head) {
            const Seen seen(record, head, row);
            if (seen.count() < 2) continue;
            const auto width = static_cast<std::size_t>(seen.keys.size());
            std::vector<double> adds(width);
            if (attribution) adds = attribution->adds({number, head}, seen.keys);
            const auto which = static_cast<std::size_t>(number * heads_ + head);
            const float* norms = norms_[which].data();
            const float* weights =
                weights_[which].data() + (row - rows_.begin) * record.keys() + seen.keys.begin;
            OfHead& own = of({number, head});
            for (std::size_t i = 0; i < width; ++i) {
                const Index key = seen.keys.begin + static_cast<Index>(i);
                if (!seen.has(key)) continue;
                take(own, {static_cast<std::int32_t>(text_),
                           static_cast<std::int32_t>(row),
                           static_cast<std::int32_t>(key),
                           target,
                           {weights[i], weights[i] * norms[key],
                            static_cast<float>(static_cast<double>(weights[i]) * adds[i])}});
            }
        }
    }
    if (next_ < trace_->tokens()) return true;
    trace_.reset();
    return false;
}

void HeadExamples::take(OfHead& of, const HeadExample& pair) {
    ++of.pairs;
    if (of.sample.size() < sampled) {
        of.sample.push_back(pair);
    } else if (const auto place = random_.below(static_cast<std::uint64_t>(of.pairs)); place < sampled) {
        of.sample[static_cast<std::size_t>(place)] = pair;
    }
    for (std::size_t measure = 0; measure < example_measures; ++measure) {
        const std::optional<float>& bar = of.bars[measure];
        if (!bar || pair.values[measure] > *bar) keep(of, measure, pair);
    }
}

void HeadExamples::keep(OfHead& of, std::size_t measure, const HeadExample& pair) {
    std::vector<HeadExample>& kept = of.strongest[measure];
    const float value = pair.values[measure];
    if (const auto own = std::ranges::find(kept, pair.text, &HeadExample::text); own != kept.end())
        kept.erase(own);
    else if (kept.size() == strongest_kept)
        kept.pop_back();
    const auto after =
        std::ranges::find_if(kept, [&](const HeadExample& each) { return value > each.values[measure]; });
    kept.insert(after, pair);
    of.bars[measure] = value;
}

std::span<const HeadExample> HeadExamples::strongest(const HeadIndex& head, ExampleMeasure measure) const {
    return all_.empty() ? std::span<const HeadExample>()
                        : of(head).strongest[static_cast<std::size_t>(measure)];
}

std::span<const HeadExample> HeadExamples::sample(const HeadIndex& head) const {
    return all_.empty() ? std::span<const HeadExample>() : of(head).sample;
}

std::optional<HeadExample> HeadExamples::at_share(const HeadIndex& head, ExampleMeasure measure,
                                                  double share) const {
    const auto all = sample(head);
    if (all.empty()) return std::nullopt;
    std::vector<HeadExample> sorted(all.begin(), all.end());
    const auto place =
        sorted.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
    std::ranges::nth_element(sorted, place, {}, [&](const HeadExample& each) { return each.value(measure); });
    return *place;
}

}  // namespace attn
