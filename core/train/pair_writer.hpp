// Writes a pair of sentences word by word, with the English words that each French one comes from. What to
// say is chosen in train/translation.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/bilingual.hpp"
#include "train/french.hpp"
#include "train/translation.hpp"

namespace attn::bilingual {

struct NounPhrase {
    const Determiner* determiner = nullptr;
    const Adjective* before = nullptr;  // its place in French
    const Adjective* after = nullptr;
    const Noun* noun = nullptr;
    bool plural = false;
    Index determiner_at = 0, before_at = 0, after_at = 0, noun_at = 0;  // in English
};

// What words have to agree with.
struct Features {
    bool feminine = false, plural = false;
};

enum class Adverb { none, negated, never, often, always };

// The places of the words of an English verb, with those that go with it.
struct VerbAt {
    Sources verb, auxiliary, adverb;
};

std::string_view adverb_word(Adverb adverb);
std::string_view agreeing(const Adjective& adjective, Features with);

// English words are written first; French ones name their places as their sources.
class PairWriter {
  public:
    Index english(std::string_view word);
    Sources english_words(std::string_view words);
    void english(NounPhrase& phrase);
    // English before the verb's complements: "does not sleep".
    VerbAt english_verb(const Verb& verb, bool plural, bool past, Adverb adverb);

    void french(std::string_view text, Sources sources, std::string_view before_vowel = {});
    void french(const NounPhrase& phrase, bool negated = false);
    void french_of(std::string_view words, const Sources& sources);  // "près de": the last one may be joined
    void french_verb(const Verb& verb, Features subject, bool past, Adverb adverb, const VerbAt& at,
                     std::optional<Features> object_before, const FrenchWord* pronoun);

    // Both sentences, which begin with capitals and have no full stop; the writer is empty after that.
    Translation finish();

  private:
    std::vector<std::string> english_;
    std::vector<FrenchWord> french_;
};

}  // namespace attn::bilingual
