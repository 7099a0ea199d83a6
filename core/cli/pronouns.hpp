// Whether a model knows what "it" is: on the held-out twins of train/sentences.hpp.
#pragma once

#include <memory>
#include <vector>

#include "model/model.hpp"
#include "text/bpe.hpp"

namespace attn {

struct PronounHead {
    Index layer = 0, head = 0;
    double right =
        0;  // share of texts in which the pronoun's row has more weight on the right noun than on the other
    double flipped =
        0;  // share of pairs in which it does so in both twins: the adjective alone turns it over
};

struct PronounScores {
    Index pairs = 0;
    double preferred = 0;            // share of texts after which the right noun is likelier than the other
    double preferred_in_both = 0;    // of pairs, in both twins
    std::vector<PronounHead> heads;  // by layer and head
    PronounHead best;                // by `right`
};

// The pronoun is the second one, after the adjective: the row of the first is the same in both twins, in a causal model.
// Weights on a noun are summed over its tokens, and so are the logarithms of its likelihood.
Result<PronounScores> score_pronouns(const std::shared_ptr<const Model>& model, const Bpe& tokenizer);

}  // namespace attn
