// The heads of an encoder–decoder's three kinds of attention that correspond.
#pragma once

#include "attention/head_index.hpp"
#include "model/model.hpp"

namespace attn {

// They have the same index and, as far as both stacks have it, the same layer.
struct MatchingHeads {
    HeadIndex encoder, decoder, cross;
    bool operator==(const MatchingHeads&) const = default;
};
MatchingHeads matching_heads(const ModelConfig& config, HeadIndex chosen);

}  // namespace attn
