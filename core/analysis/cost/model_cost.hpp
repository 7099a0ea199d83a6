// What a whole transformer takes as a function of its shape alone: weights, keys and values that it keeps,
// and the operations and bytes of a step that reads some tokens.
//
// A multiplication and an addition are two operations; norms, softmax and activations, which are linear in
// the widths, are not counted, nor are biases and gains. Only the last token of a step is given logits.
#pragma once

#include <optional>
#include <vector>

#include "analysis/theory/cache_cost.hpp"

namespace attn {

struct ModelShape {
    Index layers = 1;          // these read the text and write; an encoder–decoder's are the decoder's
    Index encoder_layers = 0;  // these read another text, as long, to which every decoder layer attends
    Index d_model = 1, heads = 1, kv_heads = 1, head_dim = 1, d_ff = 1, vocabulary = 1;
    bool gated = false;           // the MLP has a gate: three matrices, not two
    bool tied = false;            // the unembedding is the token embedding
    Index positions = 0;          // rows of a table of learned positions
    Index embedding_width = 0;    // a matrix widens token embeddings of this width to d_model; 0: d_model
    Index experts = 0;            // MLPs of which each token takes some; 0: one that all take
    Index experts_per_token = 0;  // with experts
    bool causal = true;
    std::vector<Index> windows = {};  // per layer, keys that a query sees; 0: all. Empty: all, everywhere

    bool operator==(const ModelShape&) const = default;
};
ModelShape model_shape(const ModelConfig& config);

// All numbers of the matrices and of the embeddings.
double weight_count(const ModelShape& shape);

// The bytes of a number, as it is stored.
struct NumberBytes {
    double weight = 4, cached = 4;
    double activation = 4;  // what a matrix reads and writes
    bool operator==(const NumberBytes&) const = default;
};

// Keys and values of all layers after so many tokens; with an encoder, also those of its text.
double cache_bytes(const ModelShape& shape, Index tokens, const NumberBytes& bytes);

struct ModelStep {
    StepCost operations;
    double weights = 0;      // bytes; each matrix that is needed once
    double cache = 0;        // bytes of keys and values, read and written
    double activations = 0;  // bytes; the inputs and outputs of every matrix and of every attention
    double moved() const { return weights + cache + activations; }
    double intensity() const { return operations.total() / moved(); }
};
// Reads these tokens, with those before them in the cache. The step that reads token 0 also runs the encoder,
// over as many tokens as the text will have then; tokens after those are written to a text of that length.
ModelStep step_of(const ModelShape& shape, Range tokens, const NumberBytes& bytes);

// Returns the least number of tokens that take more operations in attention than in the matrices, when they
// are read at once; nothing if `most` do not.
std::optional<Index> attention_crossing(const ModelShape& shape, Index most);

}  // namespace attn
