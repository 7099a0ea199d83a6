// A text decoded token by token with a cache that keeps less than all of it: fewer keys
// (analysis/theory/eviction.hpp), or keys and values in fewer bits (analysis/theory/cache_rounding.hpp). The
// first tokens, the prompt, are read as the model reads them. Each later one, with the text's own tokens
// before it, attends in each layer to what the cache has kept by then.
//
// Positions stay those of the text. (StreamingLLM counts them within the cache.) Of a changed run each token
// is decoded under the same interventions. A cache that keeps every key has the bits of the run.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "analysis/theory/cache_rounding.hpp"
#include "analysis/theory/eviction.hpp"
#include "attention/head_index.hpp"
#include "model/forward.hpp"
#include "model/token_rows.hpp"

namespace attn {

using CacheRule = std::variant<EvictionRule, CacheRounding>;

// In slices. To cancel it, drop it.
class CachedDecoding {
  public:
    // An encoder–decoder's decoder is run, whose cross-attention keeps all. Fails if the model reads in both
    // directions, if a change shows a query a key that no cache would hold for it, or if the prompt leaves
    // nothing to decode.
    static Result<CachedDecoding> start(std::shared_ptr<const Trace> trace, Index prompt,
                                        const CacheRule& rule,
                                        double slice_operations = operations_of_a_frame);

    bool step();  // a layer of a few tokens; true while there is more to do
    bool done() const { return decoded().end == tokens(); }
    float progress() const;

    const std::shared_ptr<const Trace>& trace() const { return trace_; }
    const CacheRule& rule() const { return rule_; }
    Index prompt() const { return prompt_; }
    Index tokens() const { return trace_->tokens(); }
    Range decoded() const { return {prompt_, prompt_ + std::ssize(steps_)}; }  // the queries that are done

    // A token that either run finds among the likeliest, the likeliest of the run as it is first.
    struct Choice {
        std::int32_t id;
        double before, after;  // its probability in the run as it is, and in this one
    };
    struct Step {
        double divergence = 0;             // KL(p ‖ p') = Σ p ln(p / p') of the next token, in nats
        double loss_before = 0, loss = 0;  // −ln p and −ln p' of the text's next token; NaN after its last
        std::int32_t likeliest_before = 0, likeliest = 0;
        std::vector<Choice> choices;
    };
    const Step& at(Index query) const { return steps_[static_cast<std::size_t>(query - prompt_)]; }

    // For a query that is decoded, in a layer of the decoder and a head of its self-attention: the weight
    // that the run as it is gives to keys that are gone here; and how far the head's output is from that
    // run's, ‖o' − o‖ / ‖o‖.
    double lost(const HeadIndex& head, Index query) const { return lost_[place(head, query)]; }
    double moved(const HeadIndex& head, Index query) const { return moved_[place(head, query)]; }
    // The mean over the queries that are decoded.
    double mean_lost(const HeadIndex& head) const { return mean(lost_, head); }
    double mean_moved(const HeadIndex& head) const { return mean(moved_, head); }

    // The first query that does not see a key any more, [tokens]; empty with a cache in few bits.
    std::span<const Index> gone(Index layer, Index kv_head) const;
    // What decided about the keys of a head of keys and values; null with a cache in few bits.
    const Eviction* eviction(Index layer, Index kv_head) const;
    // What this run computed, those of the prompt and of the tokens that are decoded, before anything was
    // rounded: [heads, tokens, head_dim], and [kv_heads, tokens, head_dim].
    const Tensor& q(Index layer) const { return layers_[static_cast<std::size_t>(layer)].q; }
    const Tensor& k(Index layer) const { return layers_[static_cast<std::size_t>(layer)].k; }
    const Tensor& v(Index layer) const { return layers_[static_cast<std::size_t>(layer)].v; }

  private:
    struct Layer {
        Tensor q, k, v;
        Tensor read_k, read_v;            // what queries read; empty where that is k and v
        std::vector<Eviction> evictions;  // one for each head of keys and values; none with few bits
    };
    CachedDecoding(std::shared_ptr<const Trace> trace, Index prompt, const CacheRule& rule,
                   double slice_operations);

    std::size_t place(const HeadIndex& head, Index query) const;
    double mean(const std::vector<double>& numbers, const HeadIndex& head) const;
    const Record& record(Index layer) const {
        return trace_->layers()[static_cast<std::size_t>(layer)].attention;
    }
    void read_prompt();  // a few queries of a layer
    void enter();        // the next tokens
    void run_layer();
    // The attention of a layer to what its cache holds now.
    Result<Record> attention(const Layer& layer) const;
    // What a query still sees of what the run lets it see.
    AttentionSpec spec_of(const Layer& layer, Index query) const;
    void attend(Index query, const Record& prepared, HeadsView<float> to);  // one row
    void measure_moved(Index query, ConstHeads heads);
    void round(Layer& layer, Range tokens) const;
    void read_logits();
    void compare(Index row);

    std::shared_ptr<const Trace> trace_;
    Index prompt_;
    CacheRule rule_;
    double slice_operations_;
    std::vector<Layer> layers_;
    RotaryTables rotary_;         // the tokens behind the prompt
    Index layer_ = 0, read_ = 0;  // the prompt's layer at work, and its queries that are read
    bool prompt_read_ = false;
    Range at_once_{};     // the tokens at work
    Index most_at_once_;  // tokens
    ResidualRows rows_;
    Tensor logits_before_, logits_;  // [tokens at work, vocabulary]
    Index logits_done_ = 0;
    std::vector<double> lost_, moved_;  // [tokens behind the prompt, layers, heads]
    std::vector<Step> steps_;
};

}  // namespace attn
