// Draws a field in which a person types a token of the model's vocabulary.
#pragma once

#include "subjects/vocabulary.hpp"

namespace attn::parts {

// Under its label; `meaning` is what it is called.
void token_field(const char* landmark, const char* label, const char* meaning, app::TokenSearch& search);

}  // namespace attn::parts
