// Measures whether a model knows what "it" refers to, on the held-out twins of train/sentences.hpp.
#pragma once

#include <memory>
#include <vector>

#include "model/model.hpp"
#include "text/bpe.hpp"

namespace attn {

struct PronounHead {
    Index layer = 0, head = 0;
    double right = 0;    // share of texts whose pronoun puts more weight on the right noun
    double flipped = 0;  // share of pairs where that holds in both twins: the adjective decides
};

struct PronounScores {
    Index pairs = 0;
    double preferred = 0;            // share of texts after which the right noun is likelier
    double preferred_in_both = 0;    // share of pairs where that holds in both twins
    std::vector<PronounHead> heads;  // ordered by layer and head
    PronounHead best;                // the one with the largest `right`
};

// The pronoun is the second one, after the adjective: in a causal model, the first one's row is the same in
// both twins. Weights on a noun are summed over its tokens, and so are the logarithms of its likelihood.
Result<PronounScores> score_pronouns(const std::shared_ptr<const Model>& model, const Bpe& tokenizer);

}  // namespace attn
