// Reads tokens as byte-level vocabularies spell them ("GrÃ¶ÃŁe") as characters.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace attn {

// Returns the tokens of a text with their characters; spaces and line breaks keep their marks Ġ and Ċ. A
// character that is spread over n tokens is shown in each of them, as "⟨猫 1/n⟩" in the first. Tokens that are
// spelled in any other way are returned as they are.
std::vector<std::string> read_byte_level(std::span<const std::string> tokens);

}  // namespace attn
