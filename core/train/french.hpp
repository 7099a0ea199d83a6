// How French words change beside each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn::bilingual {

using Sources = std::vector<Index>;  // the places of the English words that a word comes from

// A word before it is joined with the next: "le", and "l'" before a vowel.
struct FrenchWord {
    std::string text, before_vowel;  // the second is empty where it is the same
    Sources sources;
};

// Takes words in the lexicon's spelling; every h in it is mute.
bool begins_with_vowel(std::string_view word);

// "vu", "vue", "vus", "vues" of "vu".
std::string participle(std::string_view masculine, bool feminine, bool plural);

// Elides before vowels and contracts ("de le" is "du"). The pieces and their sources are appended; the
// sources are in ascending order.
void joined(std::vector<FrenchWord> words, std::vector<std::string>& pieces, std::vector<Sources>& sources);

}  // namespace attn::bilingual
