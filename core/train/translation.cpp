#include "train/translation.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "train/pair_writer.hpp"

namespace attn::bilingual {

namespace {

using sentences::nth, sentences::pick;

// One draw of a pair.
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

    Translation finished();

    Random& random_;
    PairWriter write_;
    bool combines_ = false;             // words that no pair combines which is not held out
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

void Draw::combine(std::string_view one, std::string_view other) {
    combines_ |= Random(hashed(one) + 3 * hashed(other)).bits() % one_combination_in == 0;  // in this order
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
    const Sources at = write_.english_words(preposition.english);
    write_.english(p);
    write_.french_of(preposition.french, at);
    write_.french(p);
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
        const Index who = write_.english(kinds & person ? "who" : "that");
        const VerbAt at = write_.english_verb(verb, head.plural, past, Adverb::none);
        write_.french("qui", {who});
        write_.french_verb(verb, features, past, Adverb::none, at, {}, nullptr);
        if (verb.objects) {
            NounPhrase object = phrase(verb.objects, true);
            combine(nth(verb.english, 0), nth(object.noun->english, 0));
            write_.english(object);
            write_.french(object);
        } else if (verb.places && chance(60)) {
            place(verb.places);
        }
        return;
    }
    const Verb& verb =
        any(verbs(), [&](const Verb& v) { return (v.objects & kinds) != 0 && v.kind == Verb::Kind::plain; });
    const Index that = write_.english("that");
    NounPhrase owner = phrase(verb.subjects, true);
    combine(nth(owner.noun->english, 0), nth(verb.english, 0));
    combine(nth(verb.english, 0), noun);
    write_.english(owner);
    const VerbAt at = write_.english_verb(verb, owner.plural, past, Adverb::none);
    write_.french("que", {that}, "qu'");
    write_.french(owner);
    write_.french_verb(verb, {owner.noun->feminine, owner.plural}, past, Adverb::none, at, features, nullptr);
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
        write_.french(pronoun.french, {write_.english(pronoun.english)});
        return pronoun.features;
    }
    constexpr Kinds everything = alive | made | food | around;
    NounPhrase p = phrase(chance(70) ? alive : everything, false);
    write_.english(p);
    write_.french(p);
    subjects_.push_back(p);
    Features features{p.noun->feminine, p.plural};
    const int more = roll(100);
    if (more < 18) {
        relative_clause(p);
    } else if (more < 30) {
        place(around);
    } else if (more < 42 && (p.noun->kinds & alive) != 0) {
        const Index conjunction = write_.english("and");
        NounPhrase second = phrase(p.noun->kinds & alive, true);
        subjects_.push_back(second);
        write_.english(second);
        write_.french("et", {conjunction});
        write_.french(second);
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
    const Index verb = write_.english(past             ? (subject.plural ? "were" : "was")
                                      : subject.plural ? "are"
                                                       : "is");
    Sources adverb_at;
    if (adverb != Adverb::none) adverb_at = {write_.english(adverb_word(adverb))};
    const Index adjective_at = write_.english(says.english);
    const Verb is{"", past ? "était|étaient|" : "est|sont|", alive, 0, 0};
    write_.french_verb(is, subject, false, adverb, {{verb}, {}, adverb_at}, {}, nullptr);
    write_.french(agreeing(says, subject), {adjective_at});
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
    const VerbAt at = write_.english_verb(verb, subject.plural, past, adverb);
    if ((verb.objects & person) != 0 && chance(25)) {
        struct Pronoun {
            std::string_view english, french, before_vowel;
            Features features;
        };
        static constexpr Pronoun all[] = {
            {"him", "le", "l'", {}}, {"her", "la", "l'", {true, false}}, {"them", "les", "", {false, true}}};
        const Pronoun& pronoun = pick(std::span<const Pronoun>(all), random_);
        const FrenchWord word{std::string(pronoun.french),
                              std::string(pronoun.before_vowel),
                              {write_.english(pronoun.english)}};
        write_.french_verb(verb, subject, past, adverb, at, pronoun.features, &word);
    } else {
        write_.french_verb(verb, subject, past, adverb, at, {}, nullptr);
        if (verb.objects) {
            NounPhrase object = phrase(verb.objects, false);
            // English has "any" where "some" would be negated.
            if (negated && nth(object.determiner->english, 0).empty())
                object.determiner = &determiners().front();
            combine(nth(verb.english, 0), nth(object.noun->english, 0));
            write_.english(object);
            write_.french(object, negated);
        }
    }
    if (verb.kind == Verb::Kind::giving || verb.kind == Verb::Kind::going) {
        const Index to = write_.english("to");
        NounPhrase goal = phrase(verb.kind == Verb::Kind::giving ? Kinds{person} : verb.places, true);
        if (nth(goal.determiner->english, 0) == "a") goal.determiner = &determiners().front();
        write_.english(goal);
        write_.french("à", {to});
        write_.french(goal);
    } else if (verb.places && (chance(60) || verb.places == seat)) {
        place(verb.places);
    }
    time(past, adverb);
}

void Draw::time(bool past, Adverb adverb) {
    if (adverb != Adverb::none || chance(75)) return;
    if (past) {
        const bool today = chance(30);
        write_.french(today ? "aujourd'hui" : "hier", {write_.english(today ? "today" : "yesterday")});
        return;
    }
    switch (roll(3)) {
        case 0: write_.french("aujourd'hui", {write_.english("today")}); return;
        case 1: {
            const Index every = write_.english("every"), day = write_.english("day");
            write_.french("tous", {every});
            write_.french("les", {every});
            write_.french("jours", {day});
            return;
        }
        default: {
            const Index in = write_.english("in"), the = write_.english("the"),
                        morning = write_.english("morning");
            write_.french("le", {in, the});
            write_.french("matin", {morning});
        }
    }
}

Translation Draw::finished() {
    Translation pair = write_.finish();
    // Hashes the words only: a full stop does not make another sentence.
    const std::string words = text_of(pair.english);
    pair.combines = combines_;
    pair.held_out = combines_ || hashed(words) % one_sentence_in == 0 || words == example;
    if (chance(80)) {
        pair.sources.push_back({std::ssize(pair.english)});
        pair.english.emplace_back(".");
        pair.french.emplace_back(".");
    }
    return pair;
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
