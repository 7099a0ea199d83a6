#include "train/translation.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

#include "train/bilingual.hpp"
#include "train/french.hpp"

namespace attn::bilingual {

namespace {

using sentences::nth, sentences::pick;

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

// One draw of a pair. The English words are written first, the French ones with the places of their sources.
class Draw {
  public:
    explicit Draw(Random& random) : random_(random) {}
    Translation pair();

  private:
    int roll(int sides) { return pick(sides, random_); }
    bool chance(int percent) { return roll(100) < percent; }
    template <class T>
    const T& any(std::span<const T> all, auto fits) {
        for (;;)
            if (const T& found = pick(all, random_); fits(found)) return found;
    }

    const Noun& noun(Kinds kinds) {
        return any(nouns(), [&](const Noun& n) { return (n.kinds & kinds) != 0; });
    }
    const Adjective& adjective(const Noun& of, auto fits) {
        return any(adjectives(), [&](const Adjective& a) { return (a.kinds & of.kinds) != 0 && fits(a); });
    }
    const Determiner& determiner(bool plural, auto fits);
    NounPhrase phrase(Kinds kinds, bool simple);
    void combine(std::string_view one, std::string_view other);

    Index english(std::string_view word);
    Sources english_words(std::string_view words);
    void english(NounPhrase& phrase);
    void french(std::string_view text, Sources sources, std::string_view before_vowel = {});
    void french(const NounPhrase& phrase, bool negated = false);
    void french_of(std::string_view words, const Sources& sources);  // "près de": the last one may be joined

    // Whether all subjects are of these kinds; a pronoun is a person.
    bool subjects_are(Kinds kinds) const {
        if (subjects_.empty()) return (kinds & person) != 0;
        return std::ranges::all_of(subjects_,
                                   [&](const NounPhrase& p) { return (p.noun->kinds & kinds) != 0; });
    }

    // A subject and what stands between it and its verb; returns what the verb agrees with.
    Features subject();
    void relative_clause(const NounPhrase& head);
    void place(Kinds kinds);
    void being(Features subject);
    void doing(Features subject);
    void time(bool past, Adverb adverb);

    // English before the verb's complements: "does not sleep"; returns the places of the verb's words.
    struct VerbAt {
        Sources verb, auxiliary, adverb;
    };
    VerbAt english_verb(const Verb& verb, bool plural, bool past, Adverb adverb);
    void french_verb(const Verb& verb, Features subject, bool past, Adverb adverb, const VerbAt& at,
                     std::optional<Features> object_before, const FrenchWord* pronoun);

    Translation finished();

    Random& random_;
    Translation made_;
    std::vector<FrenchWord> french_;
    std::vector<NounPhrase> subjects_;  // two that are joined by "and"; none: a pronoun
};

// FNV-1a, 64 bits.
std::uint64_t hashed(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

constexpr std::uint64_t one_combination_in = 50, one_sentence_in = 20;
constexpr std::string_view example = "The cat sat on the mat";

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

void Draw::combine(std::string_view one, std::string_view other) {
    made_.combines |=
        Random(hashed(one) + 3 * hashed(other)).bits() % one_combination_in == 0;  // in this order
}

Index Draw::english(std::string_view word) {
    made_.english.push_back("▁" + std::string(word));
    return std::ssize(made_.english) - 1;
}

Sources Draw::english_words(std::string_view words) {
    Sources places;
    for_each_word(words, [&](std::string_view word) { places.push_back(english(word)); });
    return places;
}

void Draw::french(std::string_view text, Sources sources, std::string_view before_vowel) {
    french_.push_back({std::string(text), std::string(before_vowel), std::move(sources)});
}

void Draw::french_of(std::string_view words, const Sources& sources) {
    for_each_word(words, [&](std::string_view word) { french(word, sources, word == "de" ? "d'" : ""); });
}

const Determiner& Draw::determiner(bool plural, auto fits) {
    int all = 0;
    const auto share = [&](const Determiner& d) {
        return nth(d.english, plural).empty() || !fits(d) ? 0 : d.share;
    };
    for (const Determiner& d : determiners()) all += share(d);
    int left = roll(all);
    const auto found = std::ranges::find_if(determiners(), [&](const Determiner& d) {
        left -= share(d);
        return left < 0;
    });
    return *found;
}

NounPhrase Draw::phrase(Kinds kinds, bool simple) {
    NounPhrase p;
    p.noun = &noun(kinds);
    p.plural = chance(simple ? 15 : 35);
    p.determiner =
        &determiner(p.plural, [&](const Determiner& d) { return !simple || !nth(d.english, 0).empty(); });
    const auto stands = [](bool before) {
        return [before](const Adjective& a) { return (a.kind == Adjective::Kind::before) == before; };
    };
    if (chance(simple ? 20 : 30)) p.before = &adjective(*p.noun, stands(true));
    // At least another one is left to say of the noun.
    const bool has_others = std::ranges::count_if(adjectives(), [&](const Adjective& a) {
                                return a.kind != Adjective::Kind::before && (a.kinds & p.noun->kinds) != 0;
                            }) > 1;
    if (has_others && chance(simple ? 15 : 30)) p.after = &adjective(*p.noun, stands(false));
    for (const Adjective* a : {p.before, p.after})
        if (a) combine(a->english, nth(p.noun->english, 0));
    return p;
}

void Draw::english(NounPhrase& p) {
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

void Draw::french(const NounPhrase& p, bool negated) {
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

void Draw::place(Kinds kinds) {
    NounPhrase p = phrase(kinds, true);
    struct Preposition {
        std::string_view english, french;
        Kinds kinds;
    };
    static constexpr Preposition all[] = {
        {"in", "dans", bilingual::place},  {"near", "près de", around}, {"behind", "derrière", around},
        {"in front of", "devant", around}, {"on", "sur", seat},         {"under", "sous", shelter}};
    const Preposition& preposition = any(std::span<const Preposition>(all), [&](const Preposition& each) {
        return (each.kinds & p.noun->kinds & kinds) != 0;
    });
    const Sources at = english_words(preposition.english);
    english(p);
    french_of(preposition.french, at);
    french(p);
}

Draw::VerbAt Draw::english_verb(const Verb& verb, bool plural, bool past, Adverb adverb) {
    VerbAt at;
    if (adverb == Adverb::negated) at.auxiliary = {english(past ? "did" : plural ? "do" : "does")};
    if (adverb != Adverb::none) at.adverb = {english(adverb_word(adverb))};
    const int form = adverb == Adverb::negated ? 0 : past ? 2 : plural ? 0 : 1;
    at.verb = english_words(nth(verb.english, form));
    return at;
}

void Draw::french_verb(const Verb& verb, Features subject, bool past, Adverb adverb, const VerbAt& at,
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

void Draw::relative_clause(const NounPhrase& head) {
    const bool past = chance(60);
    const Kinds kinds = head.noun->kinds;
    const Features features{head.noun->feminine, head.plural};
    const std::string_view noun = nth(head.noun->english, 0);
    if ((kinds & alive) != 0 && chance(60)) {
        const Verb& verb = any(verbs(), [&](const Verb& v) {
            return (v.subjects & kinds) != 0 && v.kind != Verb::Kind::giving && v.kind != Verb::Kind::going;
        });
        combine(noun, nth(verb.english, 0));
        const Index who = english(kinds & person ? "who" : "that");
        const VerbAt at = english_verb(verb, head.plural, past, Adverb::none);
        french("qui", {who});
        french_verb(verb, features, past, Adverb::none, at, {}, nullptr);
        if (verb.objects) {
            NounPhrase object = phrase(verb.objects, true);
            combine(nth(verb.english, 0), nth(object.noun->english, 0));
            english(object);
            french(object);
        } else if (verb.places && chance(60)) {
            place(verb.places);
        }
        return;
    }
    const Verb& verb =
        any(verbs(), [&](const Verb& v) { return (v.objects & kinds) != 0 && v.kind == Verb::Kind::plain; });
    const Index that = english("that");
    NounPhrase owner = phrase(verb.subjects, true);
    combine(nth(owner.noun->english, 0), nth(verb.english, 0));
    combine(nth(verb.english, 0), noun);
    english(owner);
    const VerbAt at = english_verb(verb, owner.plural, past, Adverb::none);
    french("que", {that}, "qu'");
    french(owner);
    french_verb(verb, {owner.noun->feminine, owner.plural}, past, Adverb::none, at, features, nullptr);
}

Features Draw::subject() {
    if (chance(12)) {
        struct Pronoun {
            std::string_view english, french;
            Features features;
        };
        static constexpr Pronoun all[] = {
            {"he", "il", {}}, {"she", "elle", {true, false}}, {"they", "ils", {false, true}}};
        const Pronoun& pronoun = pick(std::span<const Pronoun>(all), random_);
        french(pronoun.french, {english(pronoun.english)});
        return pronoun.features;
    }
    constexpr Kinds everything = alive | made | food | around;
    NounPhrase p = phrase(chance(70) ? alive : everything, false);
    english(p);
    french(p);
    subjects_.push_back(p);
    Features features{p.noun->feminine, p.plural};
    const int more = roll(100);
    if (more < 18) {
        relative_clause(p);
    } else if (more < 30) {
        place(around);
    } else if (more < 42 && (p.noun->kinds & alive) != 0) {
        const Index conjunction = english("and");
        NounPhrase second = phrase(p.noun->kinds & alive, true);
        subjects_.push_back(second);
        english(second);
        french("et", {conjunction});
        french(second);
        features = {features.feminine && second.noun->feminine, true};
    }
    return features;
}

void Draw::being(Features subject) {
    const bool past = chance(40);
    // "The old bear is young" and "The red car is blue" contradict themselves.
    const auto new_to = [](const NounPhrase& p, const Adjective& says) {
        return std::ranges::all_of(std::array{p.before, p.after}, [&](const Adjective* attribute) {
            return !attribute || (attribute != &says && (attribute->kind == Adjective::Kind::after ||
                                                         attribute->kind != says.kind));
        });
    };
    const Adjective& says = any(adjectives(), [&](const Adjective& a) {
        return subjects_are(a.kinds) &&
               std::ranges::all_of(subjects_, [&](const NounPhrase& p) { return new_to(p, a); });
    });
    for (const NounPhrase& p : subjects_) combine(says.english, nth(p.noun->english, 0));
    const bool passing = says.kinds == alive && says.kind == Adjective::Kind::after;  // "tired", not "old"
    constexpr Adverb all[] = {Adverb::none,    Adverb::none,    Adverb::none,  Adverb::none,   Adverb::none,
                              Adverb::negated, Adverb::negated, Adverb::never, Adverb::always, Adverb::often};
    const Adverb adverb = pick(std::span<const Adverb>(all, std::size(all) - !passing), random_);
    const Index verb = english(past ? (subject.plural ? "were" : "was") : subject.plural ? "are" : "is");
    Sources adverb_at;
    if (adverb != Adverb::none) adverb_at = {english(adverb_word(adverb))};
    const Index adjective_at = english(says.english);
    const Verb is{"", past ? "était|étaient|" : "est|sont|", alive, 0, 0};
    french_verb(is, subject, false, adverb, {{verb}, {}, adverb_at}, {}, nullptr);
    french(agreeing(says, subject), {adjective_at});
    if (passing) time(past, adverb);
}

void Draw::doing(Features subject) {
    const bool past = chance(55);
    constexpr Adverb adverbs[] = {Adverb::none,  Adverb::none,    Adverb::none,    Adverb::none,
                                  Adverb::none,  Adverb::negated, Adverb::negated, Adverb::never,
                                  Adverb::often, Adverb::always};
    const Adverb adverb = pick(std::span<const Adverb>(adverbs), random_);
    const bool negated = adverb == Adverb::negated || adverb == Adverb::never;
    const Verb& verb = any(verbs(), [&](const Verb& v) { return subjects_are(v.subjects); });
    for (const NounPhrase& p : subjects_) combine(nth(p.noun->english, 0), nth(verb.english, 0));
    const VerbAt at = english_verb(verb, subject.plural, past, adverb);
    if ((verb.objects & person) != 0 && chance(25)) {
        struct Pronoun {
            std::string_view english, french, before_vowel;
            Features features;
        };
        static constexpr Pronoun all[] = {
            {"him", "le", "l'", {}}, {"her", "la", "l'", {true, false}}, {"them", "les", "", {false, true}}};
        const Pronoun& pronoun = pick(std::span<const Pronoun>(all), random_);
        const FrenchWord word{
            std::string(pronoun.french), std::string(pronoun.before_vowel), {english(pronoun.english)}};
        french_verb(verb, subject, past, adverb, at, pronoun.features, &word);
    } else {
        french_verb(verb, subject, past, adverb, at, {}, nullptr);
        if (verb.objects) {
            NounPhrase object = phrase(verb.objects, false);
            // English has "any" where "some" would be negated.
            if (negated && nth(object.determiner->english, 0).empty())
                object.determiner = &determiners().front();
            combine(nth(verb.english, 0), nth(object.noun->english, 0));
            english(object);
            french(object, negated);
        }
    }
    if (verb.kind == Verb::Kind::giving || verb.kind == Verb::Kind::going) {
        const Index to = english("to");
        NounPhrase goal = phrase(verb.kind == Verb::Kind::giving ? Kinds{person} : verb.places, true);
        if (nth(goal.determiner->english, 0) == "a") goal.determiner = &determiners().front();
        english(goal);
        french("à", {to});
        french(goal);
    } else if (verb.places && (chance(60) || verb.places == seat)) {
        place(verb.places);
    }
    time(past, adverb);
}

void Draw::time(bool past, Adverb adverb) {
    if (adverb != Adverb::none || chance(75)) return;
    if (past) {
        const bool today = chance(30);
        french(today ? "aujourd'hui" : "hier", {english(today ? "today" : "yesterday")});
        return;
    }
    switch (roll(3)) {
        case 0: french("aujourd'hui", {english("today")}); return;
        case 1: {
            const Index every = english("every"), day = english("day");
            french("tous", {every});
            french("les", {every});
            french("jours", {day});
            return;
        }
        default: {
            const Index in = english("in"), the = english("the"), morning = english("morning");
            french("le", {in, the});
            french("matin", {morning});
        }
    }
}

std::string capitalised(std::string piece) {  // its first letter is ASCII
    char& first = piece[std::string_view("▁").size()];
    first = static_cast<char>(std::toupper(static_cast<unsigned char>(first)));
    return piece;
}

Translation Draw::finished() {
    joined(std::move(french_), made_.french, made_.sources);
    made_.english[0] = capitalised(made_.english[0]);
    made_.french[0] = capitalised(made_.french[0]);
    // By its words, so that a full stop does not make another sentence of it.
    const std::string words = text_of(made_.english);
    made_.held_out = made_.combines || hashed(words) % one_sentence_in == 0 || words == example;
    if (chance(80)) {
        made_.sources.push_back({std::ssize(made_.english)});
        made_.english.emplace_back(".");
        made_.french.emplace_back(".");
    }
    return std::move(made_);
}

Translation Draw::pair() {
    const Features features = subject();
    // Other things can be, but do nothing.
    if (!subjects_are(alive | vehicle) || chance(35))
        being(features);
    else
        doing(features);
    return finished();
}

}  // namespace

}  // namespace attn::bilingual

namespace attn {

Translation TranslationWriter::next(bool held_out) {
    constexpr std::size_t least = 3, most = 14;  // English words
    for (;;) {
        Translation made = bilingual::Draw(random_).pair();
        const std::size_t words = made.english.size() - (made.english.back() == ".");
        const bool fits =
            words >= least && words <= most && std::ssize(made.french) < most_translation_tokens;
        if (fits && made.held_out == held_out) return made;
    }
}

std::vector<Translation> held_out_translations(Index count, std::uint64_t seed) {
    TranslationWriter writer(seed);
    std::vector<Translation> pairs;
    while (std::ssize(pairs) < count) pairs.push_back(writer.next(true));
    return pairs;
}

std::string text_of(std::span<const std::string> pieces) {
    constexpr std::string_view mark = "▁";
    std::string text;
    for (const std::string_view piece : pieces) {
        const bool spaced = piece.starts_with(mark);
        if (spaced && !text.empty()) text += ' ';
        text += spaced ? piece.substr(mark.size()) : piece;
    }
    return text;
}

}  // namespace attn
