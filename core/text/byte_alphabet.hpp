// The characters by which byte-level BPE writes bytes in JSON (GPT-2): a printable byte of Latin-1 is that character, the
// others are U+0100 and on, in order. A space is Ġ.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

// All bytes in the order of their characters.
const std::array<std::uint8_t, 256>& bytes_in_alphabet_order();

std::string spell(std::string_view bytes);  // as UTF-8

// The bytes that a text spells; none where a character is not of the alphabet.
std::optional<std::string> unspell(std::string_view spelling);

}  // namespace attn
