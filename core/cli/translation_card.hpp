// Writes the model card of a translator: measured scores of an encoder–decoder, stored beside its weights.
#pragma once

#include <string>
#include <string_view>

#include "tensor/result.hpp"

namespace attn {

// Whether a folder's config.json is of a T5.
Result<bool> is_translator(const std::string& folder);

// Measures the T5 of a folder on held-out pairs of a TranslationWriter, and writes scores.json, whose
// heads are those of the cross-attention, and README.md into it.
// `recipe` is the text of what `attn train` trained it with; empty: the card says nothing of how it was made.
Status write_translation_card(const std::string& folder, const std::string& recipe);

}  // namespace attn
