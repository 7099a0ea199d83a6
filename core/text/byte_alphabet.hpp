// The characters that byte-level BPE writes for bytes in JSON (GPT-2): a printable byte of Latin-1 is written
// as that character, the others as U+0100 and following, in order. A space is Ġ.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

// Lists all bytes in the order of their characters.
const std::array<std::uint8_t, 256>& bytes_in_alphabet_order();

std::string spell(std::string_view bytes);  // in UTF-8

// Returns the bytes that a text spells, or nothing if a character is not in the alphabet.
std::optional<std::string> unspell(std::string_view spelling);

}  // namespace attn
