#include "train/pair_writer.hpp"

#include <array>
#include <cctype>

namespace attn::bilingual {

using sentences::nth;

std::string_view adverb_word(Adverb adverb) {
    switch (adverb) {
        case Adverb::never: return "never";
        case Adverb::often: return "often";
        case Adverb::always: return "always";
        case Adverb::none:
        case Adverb::negated: break;
    }
    return "not";
}

Index PairWriter::english(std::string_view word) {
    english_.push_back("▁" + std::string(word));
    return std::ssize(english_) - 1;
}

Sources PairWriter::english_words(std::string_view words) {
    Sources places;
    for_each_word(words, [&](std::string_view word) { places.push_back(english(word)); });
    return places;
}

void PairWriter::french(std::string_view text, Sources sources, std::string_view before_vowel) {
    french_.push_back({std::string(text), std::string(before_vowel), std::move(sources)});
}

void PairWriter::french_of(std::string_view words, const Sources& sources) {
    for_each_word(words, [&](std::string_view word) { french(word, sources, word == "de" ? "d'" : ""); });
}

void PairWriter::english(NounPhrase& p) {
    const std::string_view noun = nth(p.noun->english, p.plural), next = p.before  ? p.before->english
                                                                         : p.after ? p.after->english
                                                                                   : noun;
    std::string_view article = nth(p.determiner->english, p.plural);
    if (article == "a" && std::string_view("aeiouE").find(next[0]) != std::string_view::npos) article = "an";
    p.determiner_at = english(article);
    if (p.before) p.before_at = english(p.before->english);
    if (p.after) p.after_at = english(p.after->english);
    p.noun_at = english(noun);
}

// Forms of adjectives and determiners are in the order masculine, feminine, their plurals.
std::string_view agreeing(const Adjective& adjective, Features with) {
    return nth(adjective.french, 2 * with.plural + with.feminine);
}

void PairWriter::french(const NounPhrase& p, bool negated) {
    const bool feminine = p.noun->feminine;
    const std::string_view indefinite = nth(p.determiner->english, p.plural);
    // "des petits chats" is "de petits chats", and "pas un chat" "pas de chat".
    if ((indefinite == "some" && p.before) || (negated && (indefinite == "a" || indefinite == "some")))
        french("de", {p.determiner_at}, "d'");
    else
        french(
            nth(p.determiner->french, p.plural ? 2 : feminine), {p.determiner_at},
            p.plural || p.determiner->before_vowel.empty() ? "" : nth(p.determiner->before_vowel, feminine));
    if (p.before) {
        const bool has_form = !feminine && !p.plural && sentences::count(p.before->french) == 5;
        french(agreeing(*p.before, {feminine, p.plural}), {p.before_at},
               has_form ? nth(p.before->french, 4) : "");
    }
    french(nth(p.noun->french, p.plural), {p.noun_at});
    if (p.after) french(agreeing(*p.after, {feminine, p.plural}), {p.after_at});
}

VerbAt PairWriter::english_verb(const Verb& verb, bool plural, bool past, Adverb adverb) {
    VerbAt at;
    if (adverb == Adverb::negated) at.auxiliary = {english(past ? "did" : plural ? "do" : "does")};
    if (adverb != Adverb::none) at.adverb = {english(adverb_word(adverb))};
    const int form = adverb == Adverb::negated ? 0 : past ? 2 : plural ? 0 : 1;
    at.verb = english_words(nth(verb.english, form));
    return at;
}

void PairWriter::french_verb(const Verb& verb, Features subject, bool past, Adverb adverb, const VerbAt& at,
                             std::optional<Features> object_before, const FrenchWord* pronoun) {
    if (adverb == Adverb::negated || adverb == Adverb::never) french("ne", at.adverb, "n'");
    if (verb.kind == Verb::Kind::reflexive) french("se", at.verb, "s'");
    if (pronoun) french_.push_back(*pronoun);
    if (past) {
        Sources auxiliary = at.auxiliary;
        auxiliary.insert(auxiliary.end(), at.verb.begin(), at.verb.end());
        const std::string_view forms = verb.with_etre() ? "est|sont" : "a|ont";
        french(nth(forms, subject.plural), auxiliary);
    } else {
        french(nth(verb.french, subject.plural), at.verb);
    }
    static constexpr std::array<std::string_view, 5> seconds{"", "pas", "jamais", "souvent", "toujours"};
    if (adverb != Adverb::none) french(seconds[static_cast<std::size_t>(adverb)], at.adverb);
    if (past) {
        const Features with = verb.with_etre() ? subject : object_before.value_or(Features{});
        french(participle(nth(verb.french, 2), with.feminine, with.plural), at.verb);
    }
}

namespace {

std::string capitalised(std::string piece) {  // its first letter is ASCII
    char& first = piece[std::string_view("▁").size()];
    first = static_cast<char>(std::toupper(static_cast<unsigned char>(first)));
    return piece;
}

}  // namespace

Translation PairWriter::finish() {
    Translation pair;
    pair.english = std::move(english_);
    joined(std::move(french_), pair.french, pair.sources);
    pair.english[0] = capitalised(pair.english[0]);
    pair.french[0] = capitalised(pair.french[0]);
    return pair;
}

}  // namespace attn::bilingual
