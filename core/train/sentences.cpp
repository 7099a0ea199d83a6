#include "train/sentences.hpp"

#include <algorithm>
#include <cctype>

#include "train/lexicon.hpp"
#include "train/paragraphs.hpp"

namespace attn::sentences {

namespace {

struct Person {
    std::string_view who, he, his;
};

Person pick_person(Random& random) {
    if (pick(2, random) == 0)
        return {pick("boy|old man|sailor|merchant|carpenter|shepherd|gardener", random), "he", "his"};
    return {pick("girl|old woman|aunt|widow|duchess|cook|milkmaid", random), "she", "her"};
}

// Writes "The keys beside the old cabinet are lost.", where the noun next to the verb is not its subject.
std::string agreement_paragraph(Random& random) {
    const bool plural = pick(2, random) == 0, other_plural = pick(2, random) == 0,
               alive = pick(2, random) == 0;
    std::string_view head, place, verb;
    do {
        head =
            alive
                ? pick(
                      "dog bark|cat sleep|bird sing|girl dance|boy whistle|cow graze|frog croak|hound "
                      "howl|servant wait|farmer work|sailor drink",
                      random)
                : pick(
                      "key|book|letter|picture|candle|flower|apple|cup|ribbon|spoon|lantern|chair|shoe|plate",
                      random);
        verb = alive ? head.substr(head.find(' ') + 1) : "";
        head = head.substr(0, head.find(' '));
        place = pick(alive ? "house|garden|tower|castle|cottage|barn|mill|well|tree|hut|stable|inn"
                           : "cabinet|window|table|bed|stove|bench|tower|barn|well|tree",
                     random);
    } while (held_out(head, place));
    const std::string heads = std::string(head) + (plural ? "s" : "");
    const std::string places = std::string(place) + (other_plural ? "s" : "");
    const std::string does = std::string(verb) + (plural ? "" : "s");
    const std::string_view pattern =
        alive ? pick(
                    "the {n} {r} the {j} {o} {v} {t}.|the {n} that {l} {r} the {o} {v} {t}.|"
                    "{t} the {n} {r} the {j} {o} {v}.|the {n} that {q} {r} the {o} {b} gone.",
                    random)
              : pick(
                    "the {n} {r} the {j} {o} {b} {d}.|the {n} {r} the {o} {b} {d}. {p} {c} to the king.|"
                    "the {n} that lay {r} the {j} {o} {b} {d}.|the {n} {r} the {o} {q} {d}. nobody knows who "
                    "left {m} there.",
                    random);
    return fill(pattern,
                {{'n', heads},
                 {'r', pick("near|beside|behind|in front of|by", random)},
                 {'j', pick("old|small|white|new|big|dark", random)},
                 {'o', places},
                 {'v', does},
                 {'t', pick("all night|in the evening|every day|when the sun goes down", random)},
                 {'l', plural ? "live" : "lives"},
                 {'b', plural ? "are" : "is"},
                 {'q', plural ? "were" : "was"},
                 {'p', plural ? "they" : "it"},
                 {'c', plural ? "belong" : "belongs"},
                 {'m', plural ? "them" : "it"},
                 {'d', pick("lost|old|wet|new|gone|dusty|well hidden|very beautiful|painted red", random)}});
}

// Writes "The girl saw the owl with the telescope.", where only the next sentence tells who had it.
std::string attachment_paragraph(Random& random) {
    const Person person = pick_person(random);
    std::string_view target, tool;
    do {
        target = pick("cat|dog|fox|owl|monkey|thief|stranger|beggar|pirate", random);
        tool = pick("binoculars|telescope|lantern|spyglass|umbrella|stick|rope|net|broom|candle", random);
    } while (held_out(target, tool));
    const std::string_view verb =
        tool == "binoculars" || tool == "telescope" || tool == "spyglass" ? pick("saw|watched|found", random)
        : tool == "lantern" || tool == "candle" ? pick("saw|found|frightened", random)
        : tool == "rope" || tool == "net"       ? pick("caught|held", random)
                                                : pick("chased|hit|frightened", random);
    const std::string_view pattern = pick(
        "{f} {h} put the {i} back into {s} cupboard.|{f} {h} held the {i} with both hands.|"
        "{f} {h} had bought the {i} in town.|{f} the {t} had stolen the {i} from a shop.|"
        "{f} the {t} would not give the {i} back.|{f} the {t} dropped the {i} and ran away.|"
        "the {w} {v} the {t} with the {j} {k}. the {k} of the {t} was very {j}.|"
        "with the {i} the {w} {v} the {t}. {h} put the {i} back into {s} cupboard.|"
        "the {t} with the {i} was gone when the {w} came. the {w} looked for the {t} in vain.",
        random);
    const std::string first = "the {w} {v} the {t} with the {i}.";
    std::string text(pattern);
    if (text.starts_with("{f}")) text.replace(0, 3, first);
    return fill(text, {{'w', person.who},
                       {'h', person.he},
                       {'s', person.his},
                       {'v', verb},
                       {'t', target},
                       {'i', tool},
                       {'j', pick("long|red|crooked|thin", random)},
                       {'k', pick("nose|neck|beard", random)}});
}

// Makes up a word of two or three syllables, like "tirlo".
std::string invented_word(Random& random) {
    std::string word;
    for (int left = 1 + pick(2, random); left >= 0; --left) {
        word += pick("b|d|f|g|h|k|l|m|n|p|r|s|t|v|w|z|br|dr|gr|kr|tr|st", random);
        word += pick("a|e|i|o|u|a|o", random);
        word += pick("|||l|n|r|s|k|m", random);
    }
    return word;
}

std::string invented_name(Random& random) {
    std::string name;
    for (int left = 2 + pick(2, random); left > 0; --left) {
        std::string word = invented_word(random);
        word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
        name += (name.empty() ? "" : " ") + word;
    }
    return name;
}

// Makes a meaningless series of words: the second time can only be predicted from the first.
std::string charm(Random& random) {
    std::string words;
    for (int left = 4 + pick(7, random); left > 0; --left) {
        const bool invented = pick(4, random) == 0;
        words += (words.empty() ? "" : ", ");
        words += invented ? invented_word(random) : std::string(pick(nouns(), random).word);
    }
    return words;
}

std::string repetition_paragraph(Random& random) {
    const Person person = pick_person(random);
    const std::string name = invented_name(random), other = invented_name(random), words = charm(random);
    const std::string_view pattern = pick(
        "there was once a {w} called {n}. {n} had a friend whose name was {o}. every morning {n} called to "
        "{o}, and every evening {o} called to {n}.|"
        "\"hello, {n},\" said the {w}. \"hello, {o},\" said {n}. then {n} and {o} went on together.|"
        "the {w} knocked and asked for {n}. \"there is no {n} here,\" they said. but {n} was hidden behind "
        "the door.|"
        "the {w} said: \"{c}.\" and again {h} said: \"{c}.\"|"
        "the {w} wrote down these words: {c}. a year later {h} could still say them: {c}.|"
        "the wheel sang: \"{c}.\" the {w} listened, and the wheel sang: \"{c}.\" all night long it sang: "
        "\"{c}.\"|"
        "\"{c},\" sang the {w}. \"{c},\" sang {n}.",
        random);
    return fill(pattern, {{'w', person.who}, {'h', person.he}, {'n', name}, {'o', other}, {'c', words}});
}

// Writes "The boy had a red ball and a blue cup. The ball was red, and the cup was blue."
std::string adjective_paragraph(Random& random) {
    const Choices colours = "red|blue|green|yellow|white|black|brown|grey|old|new|small|big|round|heavy";
    const Choices things = "ball|cup|hat|coat|box|book|lamp|chair|shoe|ribbon|basket|bell|plate|drum";
    const Person person = pick_person(random);
    std::string_view p, q, x, y;
    do p = pick(colours, random), q = pick(colours, random);
    while (p == q);
    do x = pick(things, random), y = pick(things, random);
    while (x == y);
    const std::string_view pattern = pick(
        "the {w} had a {p} {x} and a {q} {y}. the {x} was {p}, and the {y} was {q}.|"
        "the {p} {x} lay beside the {q} {y}. the {y} was {q}, but the {x} was {p}.|"
        "the {t} that ran across the {l} was {k}. nobody had ever seen such a {k} {t}.|"
        "the {x} that the {w} found in the {l} was {p}. the {w} kept the {p} {x} in a {q} {y}.|"
        "the {p} {x} and the {q} {y} were both in the {l}. the {w} took the {x}, because it was {p}.|"
        "the {t} that the {w} saw yesterday slept under a {m}. the {m} was {p}, and the {t} was {k}.|"
        "the {t} sat on the {m}. the {m} was {p}, and the {t} was {k}.|the {x} lay on the mat. it was a {p} "
        "{x}.",
        random);
    return fill(pattern, {{'w', person.who},
                          {'p', p},
                          {'q', q},
                          {'x', x},
                          {'y', y},
                          {'t', pick("cat|dog|fox|hen|horse|goat|mouse", random)},
                          {'k', pick("white|black|brown|grey|small|old", random)},
                          {'m', pick("bench|chair|table|bed|box|cart", random)},
                          {'l', pick("yard|garden|barn|kitchen|cellar|hall", random)}});
}

constexpr ParagraphKind all_kinds[] = {
    {"pronoun", 40, pronoun_paragraph},     {"introduction", 6, introduction_paragraph},
    {"agreement", 12, agreement_paragraph}, {"attachment", 8, attachment_paragraph},
    {"sense", 12, sense_paragraph},         {"repetition", 14, repetition_paragraph},
    {"adjective", 8, adjective_paragraph},
};

bool starts_sentence(const std::string& text) {
    return text.empty() || text == "\"" || text.ends_with(" \"") || text.ends_with(". ") ||
           text.ends_with(".\" ");
}

void append(std::string& text, std::string_view more) {
    const bool capital = starts_sentence(text) && !more.empty();
    const std::size_t first = text.size();
    text += more;
    if (capital) text[first] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[first])));
}

}  // namespace

std::span<const ParagraphKind> paragraph_kinds() { return all_kinds; }

std::string fill(std::string_view pattern, std::span<Slot> slots) {
    std::string text;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '{') {
            append(text, pattern.substr(i, 1));
            continue;
        }
        Slot& slot = *std::ranges::find(slots, pattern[i + 1], &Slot::name);
        i += 2;
        const bool article = text.ends_with(" a ") || text == "A ";
        if (article && std::string_view("aeiou").find(slot.value[0]) != std::string_view::npos)
            text.insert(text.size() - 1, "n");
        const auto begin = static_cast<Index>(text.size());
        append(text, slot.value);
        if (slot.at.size() == 0) slot.at = {begin, static_cast<Index>(text.size())};
    }
    return text;
}

std::string fill(std::string_view pattern, std::initializer_list<Slot> slots) {
    std::vector<Slot> copy(slots);
    return fill(pattern, copy);
}

}  // namespace attn::sentences

namespace attn {

std::string SentenceWriter::paragraph() {
    int left = sentences::pick(100, random_);
    for (const sentences::ParagraphKind& kind : sentences::paragraph_kinds())
        if ((left -= kind.percent) < 0) return kind.write(random_);
    return {};
}

}  // namespace attn
