// What a cache of keys and values takes and saves while a decoder writes a text: numbers kept, bytes, and
// operations of each step, as a function of the model's shape alone.
//
// A step is one run of the model: the first reads a prompt (prefill), each further one a token (decoding). A
// multiplication and an addition are two operations; norms, softmax and activations, which are linear in the
// widths, are not counted. Only the last token of a step is given logits.
#pragma once

#include <vector>

#include "model/network.hpp"

namespace attn {

struct CacheShape {
    // One block of the decoder.
    struct Layer {
        Index heads = 1, kv_heads = 1, head_dim = 0;
        Index window = 0;      // how many keys a query sees, including itself; 0: all
        double weights = 0;    // a token is multiplied by these: all matrices of the block but W_K and W_V
        bool crosses = false;  // reads an encoder's text, whose keys and values are computed once
    };
    std::vector<Layer> layers{};
    Index d_model = 0;
    Index encoded = 0;         // tokens of the encoder's text
    double entry_weights = 0;  // a token is multiplied by these before the first block
    double head_weights = 0;   // a row of logits takes these
};
CacheShape cache_shape(const Network& network, const ModelConfig& config, Index encoded);

// The same model with another number of heads of keys and values in each layer, or with another window; a
// window of the model's own that is narrower stays.
CacheShape with_kv_heads(CacheShape shape, Index kv_heads);
CacheShape with_window(CacheShape shape, Index window);

// How a number is kept: in 32 or 16 bits, or in fewer as integers between the least and the largest number of
// a group (analysis/theory/cache_rounding.hpp), which are of `group` tokens.
struct CachePrecision {
    Index bits = 32;
    Index group = 0;
    bool operator==(const CachePrecision&) const = default;
};

// How many tokens a layer keeps after so many.
inline Index tokens_kept(const CacheShape::Layer& layer, Index tokens) {
    return layer.window > 0 && layer.window < tokens ? layer.window : tokens;
}
inline Range range_kept(const CacheShape::Layer& layer, Index tokens) {
    return {tokens - tokens_kept(layer, tokens), tokens};
}
// Keys and values together, in all layers, without those of the encoder's text.
double numbers_kept(const CacheShape& shape, Index tokens);
double cross_numbers_kept(const CacheShape& shape);
double bytes_kept(const CacheShape& shape, Index tokens, const CachePrecision& precision);
// Counts the bytes of one head's K and V for these tokens of a text. Decoding fills groups from the text's
// beginning, so a window may begin within one.
double bytes_of_head(Range tokens, Index head_dim, const CachePrecision& precision);

// Operations of a step, which the sum is of.
struct StepCost {
    double matrices = 0;   // tokens times weights
    double attention = 0;  // scores and weighted values
    double logits = 0;
    double total() const { return matrices + attention + logits; }
};
// Reads these tokens with those before them in the cache.
StepCost step_cost(const CacheShape& shape, Range tokens);

}  // namespace attn
