// Draws a field for typing a token of the model's vocabulary.
#pragma once

#include "subjects/vocabulary.hpp"

namespace attn::parts {

// The field stands below its label; `meaning` describes it to screen readers.
void token_field(const char* landmark, const char* label, const char* meaning, app::TokenSearch& search);

}  // namespace attn::parts
