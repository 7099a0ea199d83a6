// Draws the choice of a logit, or of the difference of two: lists of tokens, a field for typing one, and a
// step to the likeliest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/logit_gradient.hpp"
#include "runs/likeliest.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::parts {

struct TokenChoice {
    std::string key;  // its landmarks are "<key>/raise", "<key>/over", "<key>/token" and "<key>/likeliest"
    std::optional<LogitLoss> loss;  // the one in view; none: its token does not exist
    // Their likeliest tokens are offered; the first is that of the logit, whose text is offered, too.
    std::vector<const app::LikeliestTokens*> rows;
    // The lens's own, which it keeps between frames.
    const app::Vocabulary& vocabulary;
    app::TokenSearch& search;
    std::vector<std::int32_t>& typed;  // tokens found by typing
};
// Changes the chosen tokens; none: the likeliest. To be drawn on a row.
void draw_token_choice(const TokenChoice& choice, app::Subject& subject, std::optional<std::int32_t>& raise,
                       std::optional<std::int32_t>& over);

}  // namespace attn::parts
