// The words of the English–French sentences, with what French grammar has to know of each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "train/lexicon.hpp"

namespace attn::bilingual {

using sentences::Choices;

// What a noun can be in a sentence. These are bits.
using Kinds = std::uint32_t;
enum : Kinds {
    person = 1 << 0,
    animal = 1 << 1,
    food = 1 << 2,
    thing = 1 << 3,
    written = 1 << 4,
    opening = 1 << 5,  // what is opened and closed
    seat = 1 << 6,     // what one sits on
    shelter = 1 << 7,  // what one hides under
    vehicle = 1 << 8,
    place = 1 << 9,      // what one can be in
    landmark = 1 << 10,  // what one can be near
    building = 1 << 11,
    goal = 1 << 12,  // what one goes to
    alive = person | animal,
    around = place | landmark,
    made = thing | written | opening | seat | vehicle,
};

struct Noun {
    Choices english, french;  // singular, plural
    bool feminine;
    Kinds kinds;
};

struct Adjective {
    std::string_view english;
    Choices french;  // masculine, feminine, their plurals and, where it differs, the masculine before a vowel
    Kinds kinds;     // what nouns it can describe
    enum class Kind { before, after, colour } kind;  // before its noun in French; colours stand after it
};

struct Determiner {
    Choices english;       // singular, plural; empty: there is none
    Choices french;        // masculine, feminine, plural
    Choices before_vowel;  // masculine, feminine; empty: the same
    int share;             // how often nouns take it, in the singular and in the plural
};

struct Verb {
    Choices english;  // base, with "he", past
    Choices french;   // with "il", with "ils", past participle
    Kinds subjects;
    Kinds objects;  // 0: none
    Kinds places;   // what may follow after a preposition; 0: nothing
    enum class Kind { plain, etre, reflexive, going, giving } kind = Kind::plain;
    // Plain and giving verbs form their past with avoir; reflexive ones with être, as those of movement.
    bool with_etre() const { return kind != Kind::plain && kind != Kind::giving; }
};

// Calls use(word) for each of the words, which spaces or '|' separate.
template <class Use>
void for_each_word(std::string_view words, Use use) {
    while (!words.empty()) {
        const std::size_t end = words.find_first_of(" |");
        if (end > 0) use(words.substr(0, end));
        words.remove_prefix(end == words.npos ? words.size() : end + 1);
    }
}

std::span<const Noun> nouns();
std::span<const Adjective> adjectives();
std::span<const Determiner> determiners();
std::span<const Verb> verbs();

}  // namespace attn::bilingual
