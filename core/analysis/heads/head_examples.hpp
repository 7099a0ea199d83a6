// What makes a head fire: pairs of a query and a key over many texts, the strongest of each head by three
// measures, and a sample of all pairs beside them. Top examples alone mislead (Bolukbasi et al. 2021, "An
// Interpretability Illusion for BERT", arXiv 2104.07143): what a head does at its median belongs beside them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/attribution/direct_attribution.hpp"
#include "attention/head_index.hpp"
#include "tensor/random.hpp"

namespace attn {

enum class ExampleMeasure : std::uint8_t {
    weight,   // the query’s weight on the key
    written,  // weight · ‖v W_O‖
    effect,   // what the weight adds directly to the logit of the next token (direct_attribution.hpp)
};
inline constexpr std::size_t example_measures = 3;

struct HeadExample {
    std::int32_t text = 0, query = 0, key = 0;
    std::int32_t target = 0;  // whose logit the effect is on
    std::array<float, example_measures> values = {};
    float value(ExampleMeasure measure) const { return values[static_cast<std::size_t>(measure)]; }
};

class HeadExamples {
  public:
    static constexpr std::size_t strongest_kept = 24, sampled = 2000;

    explicit HeadExamples(std::uint64_t seed = 1) : random_(seed) {}

    // Begins a text; its number comes back in the examples. The text must attend to itself.
    void begin(std::shared_ptr<const Trace> trace, Index text);
    // Takes one query's row of all heads; true while the text has more.
    bool step();

    Index attentions() const { return attentions_; }
    Index heads() const { return heads_; }
    // Counts a head's pairs so far. Left out are keys that the mask hides, and a query that sees a single
    // key: its weight is 1, whatever the head does.
    std::int64_t pairs(const HeadIndex& head) const { return all_.empty() ? 0 : of(head).pairs; }

    // Returns the strongest pairs of a head, the largest value first, at most one from each text.
    std::span<const HeadExample> strongest(const HeadIndex& head, ExampleMeasure measure) const;
    // Returns a random sample of all pairs of a head, each as likely as any other (Vitter 1985, "Random
    // Sampling with a Reservoir", algorithm R).
    std::span<const HeadExample> sample(const HeadIndex& head) const;
    // Returns the pair of the sample that stands at a share of it, 0 … 1, in ascending order of the measure;
    // nothing if there is no sample.
    std::optional<HeadExample> at_share(const HeadIndex& head, ExampleMeasure measure, double share) const;

  private:
    struct Seen;
    struct OfHead {
        std::array<std::vector<HeadExample>, example_measures> strongest;
        // What a pair of the text at work must exceed to be kept; nothing while any pair is.
        std::array<std::optional<float>, example_measures> bars;
        std::vector<HeadExample> sample;
        std::int64_t pairs = 0;
    };
    void weigh(Index first);
    void take(OfHead& of, const HeadExample& pair);
    void keep(OfHead& of, std::size_t measure, const HeadExample& pair);
    OfHead& of(const HeadIndex& head) {
        return all_[static_cast<std::size_t>(head.layer * heads_ + head.head)];
    }
    const OfHead& of(const HeadIndex& head) const { return const_cast<HeadExamples*>(this)->of(head); }

    Random random_;
    Index attentions_ = 0, heads_ = 0;
    std::vector<OfHead> all_;  // [attentions, heads]
    // The text at work.
    std::shared_ptr<const Trace> trace_;
    Index text_ = 0, next_ = 0;
    std::vector<std::vector<float>> norms_;    // [attentions · heads], ‖v W_O‖ of each key
    Range rows_;                               // whose weights are computed
    std::vector<std::vector<float>> weights_;  // [attentions · heads], each [rows, keys]
};

// Returns the token whose logit a row's examples are measured on: the one that follows, after the last one
// the likeliest, and where a model reads both ways the row's own.
std::int32_t example_target(const Trace& trace, Index row);

}  // namespace attn
