// Answers lessons about the token that comes next.
#pragma once

#include <string_view>

#include "app/visit.hpp"
#include "lesson/expression.hpp"

namespace attn::app::learn {

// Returns p, logit or rank of a token, or p_before or logit_before, without the changes to the run. The token
// is an id or a word, which means the likeliest of the tokens that spell it. Logits are f32; the softmax is
// in double.
Result<lesson::Value> predicted(Visit& visit, std::string_view what, const lesson::Value& token);
Result<lesson::Value> likeliest_token(Visit& visit);

}  // namespace attn::app::learn
