#include <algorithm>

#include "train/lexicon.hpp"
#include "train/paragraphs.hpp"
#include "train/sentences.hpp"

namespace attn::sentences {

namespace {

const Noun& pick_noun(Kinds kinds, Random& random) {
    const auto fits = [&](const Noun& noun) { return (noun.kinds & kinds) != 0; };
    int left = pick(static_cast<int>(std::ranges::count_if(nouns(), fits)), random);
    return *std::ranges::find_if(nouns(), [&](const Noun& noun) { return fits(noun) && left-- == 0; });
}

// Picks two different deeds of one noun.
struct TwoDeeds {
    TwoDeeds(Choices deeds, Random& random) {
        const int n = count(deeds), i = pick(n, random);
        first = nth(deeds, i);
        second = nth(deeds, (i + 1 + pick(n - 1, random)) % n);
    }
    std::string_view first, second;
};

std::string because(std::string_view head) { return std::string(head) + " because {p} was {d} {j}."; }

// Makes pair number i of a frame and two nouns, with the adjectives at i; the shorter list of
// adjectives wraps around.
PronounPair make_pair(const Frame& frame, const Noun& a, const Noun& b, int i) {
    PronounPair pair;
    pair.noun = {std::string(a.word), std::string(b.word)};
    const std::string pattern = because(nth(frame.templates, i % count(frame.templates)));
    for (const int twin : {0, 1}) {
        const auto t = static_cast<std::size_t>(twin);
        const Choices adjectives = twin == 0 ? frame.of_a : frame.of_b;
        pair.adjective[t] = nth(adjectives, i % count(adjectives));
        Slot slots[] = {{'a', a.word},
                        {'b', b.word},
                        {'p', "it"},
                        {'d', nth(frame.degrees, 0)},
                        {'j', pair.adjective[t]}};
        const std::string sentence = fill(pattern, slots);
        pair.mention = {slots[0].at, slots[1].at};
        pair.text[t] = sentence + " It";
        pair.prompt[t] = sentence + " The";
        const auto size = static_cast<Index>(pair.text[t].size());
        pair.pronoun[t] = {size - 2, size};
    }
    return pair;
}

}  // namespace

std::string pronoun_paragraph(Random& random) {
    const Frame& frame = pick(frames(), random);
    const Noun *a, *b;
    do {
        a = &pick_noun(frame.a, random);
        b = &pick_noun(frame.b, random);
    } while (a == b || held_out(a->word, b->word));
    const bool about_a = pick(2, random) == 0;
    const Noun& right = about_a ? *a : *b;
    const TwoDeeds deeds(right.deeds, random);
    const std::string lead(pick("||||one day |alas, |people say that |last winter ", random));
    const std::string then(pick(" {p} {x}.| {p} {x}. {p} {y}.| the {n} {x}.| the {n} {x}. {p} {y}.", random));
    const std::string_view head = pick(frame.templates, random), degree = pick(frame.degrees, random);
    return fill(lead + because(head) + then, {{'a', a->word},
                                              {'b', b->word},
                                              {'p', right.pronoun()},
                                              {'d', degree},
                                              {'j', pick(about_a ? frame.of_a : frame.of_b, random)},
                                              {'n', right.word},
                                              {'x', deeds.first},
                                              {'y', deeds.second}});
}

std::string introduction_paragraph(Random& random) {
    const Noun& noun = pick_noun(~Kinds{0}, random);
    const TwoDeeds deeds(noun.deeds, random);
    const std::string opening(
        pick("there was once a {n}.|once upon a time there was a {n}.|this is the story of a {n}.|"
             "there is a tale about a {n}.|far away there was a {n}.",
             random));
    const std::string then(
        pick(" {p} {x}.| {p} {x}. {p} {y}.| the {n} {x}. {p} {y}.| {p} {x}, and {p} {y}.", random));
    return fill(opening + then,
                {{'n', noun.word}, {'p', noun.pronoun()}, {'x', deeds.first}, {'y', deeds.second}});
}

}  // namespace attn::sentences

namespace attn {

std::vector<PronounPair> held_out_pairs() {
    using namespace sentences;
    std::vector<PronounPair> pairs;
    for (const Frame& frame : frames())
        for (const Noun& a : nouns())
            for (const Noun& b : nouns()) {
                if (!(a.kinds & frame.a) || !(b.kinds & frame.b) || &a == &b) continue;
                if (a.pronoun() != "it" || !held_out(a.word, b.word)) continue;
                const int n = std::max(count(frame.of_a), count(frame.of_b));
                for (int i = 0; i < n; ++i) pairs.push_back(make_pair(frame, a, b, i));
            }
    return pairs;
}

}  // namespace attn
