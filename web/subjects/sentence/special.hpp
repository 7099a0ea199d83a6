// Interprets the special tokens of a bidirectional model: which tokens are masked, and which of two sentences
// a token belongs to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/page.hpp"

namespace attn::app {

bool is_special(const SpecialTokens& special, std::int32_t id);
std::vector<Index> masked_tokens(std::span<const std::int32_t> ids, const SpecialTokens& special);

// Returns the token to predict: the chosen one if it is masked, or else the first masked one. If none is
// masked, it is the chosen one, or else the last ordinary token with a letter or a number. `pieces` are the
// texts of the tokens.
Index asked_token(std::span<const std::int32_t> ids, std::span<const std::string> pieces,
                  const SpecialTokens& special, std::optional<Index> chosen);

// Returns the segment of each token: 0 up to the first separator, 1 after it (Devlin et al. 2019, arXiv
// 1810.04805). If nothing follows the separator, the text is one sentence, and nothing is returned.
std::vector<std::int32_t> segments_of(std::span<const std::int32_t> ids, const SpecialTokens& special);

}  // namespace attn::app
