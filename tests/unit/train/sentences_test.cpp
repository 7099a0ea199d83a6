#include "train/sentences.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/this_build.hpp"
#include "train/lexicon.hpp"
#include "train/paragraphs.hpp"

using namespace attn;
using namespace attn::sentences;
using std::string, std::string_view;

namespace {

const std::vector<string>& paragraphs() {
    static const std::vector<string> all = [] {
        std::vector<string> written;
        SentenceWriter writer(7);
        for (int i = 0; i < (test::thinned == 1 ? 100'000 : 30'000); ++i)
            written.push_back(writer.paragraph());
        return written;
    }();
    return all;
}

std::vector<string> words_of(string_view text) {
    std::vector<string> words(1);
    for (const char c : text)
        if (std::isalpha(static_cast<unsigned char>(c)) || c == '\'')
            words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        else if (!words.back().empty())
            words.emplace_back();
    if (words.back().empty()) words.pop_back();
    return words;
}

const std::map<string, const Noun*, std::less<>>& lexicon() {
    static const auto all = [] {
        std::map<string, const Noun*, std::less<>> by_word;
        for (const Noun& noun : nouns()) by_word.emplace(noun.word, &noun);
        return by_word;
    }();
    return all;
}

// Enough for the statistics.
std::span<const string> some_paragraphs() { return std::span(paragraphs()).first(30'000); }

// A pronoun paragraph, read back from its text alone: two nouns in order, the adjective, and the noun it
// describes.
struct Reading {
    std::vector<string> nouns;
    string adjective, right;
};

// Returns an empty reading if the text is of another kind.
Reading read(const string& text) {
    Reading found;
    const std::size_t clause = std::min(
        {text.find(" because it was "), text.find(" because he was "), text.find(" because she was ")});
    if (clause == string::npos || text[clause - 1] == ',') return found;
    for (const string& word : words_of(string_view(text).substr(0, clause)))
        if (lexicon().contains(word)) found.nouns.push_back(word);
    const std::size_t stop = text.find('.', clause);
    found.adjective = words_of(string_view(text).substr(clause, stop - clause)).back();
    const string then = text.substr(stop + 2, text.find('.', stop + 1) - stop - 2);
    for (const string& noun : found.nouns)
        for (int i = 0; i < count(lexicon().at(noun)->deeds); ++i) {
            const string deed = " " + string(nth(lexicon().at(noun)->deeds, i));
            if (then == "The " + noun + deed || then == "It" + deed || then == "He" + deed ||
                then == "She" + deed)
                found.right = noun;
        }
    return found;
}

void insert_all(std::set<string>& into, Choices choices) {
    for (int i = 0; i < count(choices); ++i) into.emplace(nth(choices, i));
}

}  // namespace

TEST_CASE("a seed gives the same paragraphs everywhere") {
    SentenceWriter writer(1), again(1), other(2);
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a, 64 bits
    bool same = true, differs = false;
    for (int i = 0; i < 1000; ++i) {
        const string text = writer.paragraph();
        same &= text == again.paragraph();
        differs |= text != other.paragraph();
        for (const char c : text + "\n") hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    CHECK(same);
    CHECK(differs);
    CHECK(hash == 0xd7134f37a42f07c4u);  // recorded when the texts had been read and found good
}

TEST_CASE("paragraphs are tidy ASCII sentences") {
    string first_bad;
    for (const string& text : some_paragraphs().first(30'000 / test::thinned)) {
        bool good = std::isupper(static_cast<unsigned char>(text[text[0] == '"' ? 1 : 0])) != 0;
        good &= text.ends_with('.') || text.ends_with(".\"");
        good &= std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= 'z'; });
        for (const char* wrong : {"  ", "..", " .", " ,", "{", "|", " a a", " a e", " a i", " a o", " a u"})
            good &= text.find(wrong) == string::npos;
        for (std::size_t at = text.find(". "); at != string::npos; at = text.find(". ", at + 1))
            good &= std::isupper(static_cast<unsigned char>(text[at + (text[at + 2] == '"' ? 3 : 2)])) != 0;
        good &= std::ranges::count(text, '"') % 2 == 0;
        if (!good && first_bad.empty()) first_bad = text;
    }
    CHECK(first_bad == "");
}

TEST_CASE("no sentence of the tutorials is generated") {
    string found;
    for (const string& text : paragraphs())
        for (const char* sentence :
             {"animal didn't cross the street", "cat sat on the mat", "cat that I saw", "with binoculars",
              "saw the cat with the binoculars", "that ran across the street", "bank of the river",
              "approved the loan", "keys to the old cabinet", "dog near the house", "Hello World"})
            if (text.find(sentence) != string::npos) found = text;
    CHECK(found == "");
}

TEST_CASE("the table of kinds matches the generated text") {
    int sum = 0;
    for (const ParagraphKind& kind : paragraph_kinds()) sum += kind.percent;
    CHECK(sum == 100);
    const auto pronouns =
        std::ranges::count_if(some_paragraphs(), [](const string& t) { return !read(t).nouns.empty(); });
    CHECK(paragraph_kinds()[0].percent == 40);
    CHECK(std::abs(static_cast<double>(pronouns) / 30'000 - 0.4) < 0.012);  // four standard deviations
}

TEST_CASE("held-out nouns never compete, and neither place nor adjective gives the noun away") {
    struct Tally {
        double all = 0, first = 0;
    };
    Tally total;
    std::map<string, Tally> by_adjective;
    string wrong;
    for (const string& text : some_paragraphs()) {
        const Reading r = read(text);
        if (r.nouns.empty()) continue;
        if (r.nouns.size() != 2 || r.right.empty() || held_out(r.nouns[0], r.nouns[1])) {
            wrong = text;
            continue;
        }
        for (Tally* tally : {&total, &by_adjective[r.adjective]}) {
            tally->all += 1;
            tally->first += r.right == r.nouns[0];
        }
    }
    CHECK(wrong == "");
    CHECK(std::abs(total.first / total.all - 0.5) < 0.02);  // four standard deviations
    for (const auto& [adjective, tally] : by_adjective) {
        INFO(adjective << ": " << tally.first << " of " << tally.all);
        CHECK(std::abs(tally.first / tally.all - 0.5) <
              2.5 / std::sqrt(tally.all));  // five standard deviations
    }
}

TEST_CASE("the whole lexicon is used") {
    std::set<string> missing;
    for (const Noun& noun : nouns()) {
        missing.emplace(noun.word);
        insert_all(missing, noun.deeds);
    }
    for (const Frame& frame : frames()) {
        insert_all(missing, frame.of_a);
        insert_all(missing, frame.of_b);
    }
    for (const string& text : paragraphs()) {
        std::erase_if(missing, [&](const string& words) { return text.find(" " + words) != string::npos; });
        if (missing.empty()) break;
    }
    CHECK(missing == std::set<string>{});
}

TEST_CASE("the lexicon allows one reading only") {
    std::set<string> deeds;
    for (const Noun& noun : nouns()) {
        CHECK(count(noun.deeds) >= 3);
        for (int i = 0; i < count(noun.deeds); ++i) CHECK(deeds.emplace(nth(noun.deeds, i)).second);
    }
    const auto number_of = [](Kinds kinds) {
        return std::ranges::count_if(nouns(), [&](const Noun& n) { return (n.kinds & kinds) != 0; });
    };
    CHECK(number_of(walker) >= 24);
    CHECK(number_of(road | land | water | barrier | slope | container) >= 16);
    for (const Frame& frame : frames()) {
        std::set<string> both;
        insert_all(both, frame.of_a);
        insert_all(both, frame.of_b);
        CHECK(static_cast<int>(both.size()) == count(frame.of_a) + count(frame.of_b));
        int a_first = 0;
        for (int i = 0; i < count(frame.templates); ++i) {
            const string_view text = nth(frame.templates, i);
            a_first += text.find("{a}") < text.find("{b}");
        }
        CHECK(2 * a_first == count(frame.templates));
    }
}

TEST_CASE("held-out pairs are counterfactuals with known places") {
    const std::vector<PronounPair> pairs = held_out_pairs();
    CHECK(pairs.size() >= 500);
    CHECK(pairs[0].text[0] == "The animal didn't cross the street because it was too tired. It");
    CHECK(pairs[0].prompt[1] == "The animal didn't cross the street because it was too wide. The");
    std::set<string> texts, nouns_used;
    const auto at = [](const string& text, Range range) {
        return text.substr(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
    };
    for (const PronounPair& pair : pairs) {
        CAPTURE(pair.text[0], pair.text[1]);
        texts.insert({pair.text[0], pair.text[1]});
        nouns_used.insert({pair.noun[0], pair.noun[1]});
        CHECK(held_out(pair.noun[0], pair.noun[1]));
        std::vector<string> twins[2];
        for (const std::size_t twin : {0u, 1u}) {
            twins[twin] = words_of(pair.text[twin]);
            CHECK(twins[twin][twins[twin].size() - 2] == pair.adjective[twin]);
            CHECK(pair.pronoun[twin].end == static_cast<Index>(pair.text[twin].size()));
            CHECK(at(pair.text[twin], pair.pronoun[twin]) == "It");
            CHECK(pair.prompt[twin].starts_with(pair.text[twin].substr(0, pair.text[twin].size() - 2)));
            CHECK(pair.prompt[twin].ends_with(". The"));
            for (const std::size_t noun : {0u, 1u}) {
                CHECK(at(pair.text[twin], pair.mention[noun]) == pair.noun[noun]);
                CHECK(std::ranges::count(twins[twin], pair.noun[noun]) == 1);
            }
        }
        REQUIRE(twins[0].size() == twins[1].size());
        int different = 0;
        for (std::size_t i = 0; i < twins[0].size(); ++i) different += twins[0][i] != twins[1][i];
        CHECK(different == 1);
    }
    CHECK(texts.size() > pairs.size());  // the adjectives of shorter lists recur
    const auto first = std::ranges::count_if(
        pairs, [](const PronounPair& p) { return p.mention[0].begin < p.mention[1].begin; });
    const double share = static_cast<double>(first) / static_cast<double>(pairs.size());
    CHECK(std::abs(share - 0.5) < 0.1);
    CHECK(nouns_used.size() > 40);
}

TEST_CASE("the held-out set is symmetric, and includes the tutorials' nouns") {
    CHECK(held_out("animal", "street"));
    CHECK(held_out("street", "animal"));
    CHECK(held_out("cat", "binoculars"));
    CHECK(held_out("fox", "wall") == held_out("wall", "fox"));
    int kept_apart = 0, all = 0;
    for (const Noun& a : nouns())
        for (const Noun& b : nouns())
            if (&a < &b) ++all, kept_apart += held_out(a.word, b.word);
    CHECK(std::abs(kept_apart / static_cast<double>(all) - 0.1) < 0.02);
}

TEST_CASE("templates are filled with the right article and capitals") {
    Slot slots[] = {{'x', "owl"}, {'y', "cat"}};
    CHECK(fill("a {x} saw a {y}. \"{y}, {y},\" said the {x}. a {y} ran.", slots) ==
          "An owl saw a cat. \"Cat, cat,\" said the owl. A cat ran.");
    CHECK(slots[0].at == Range{3, 6});
    CHECK(slots[1].at == Range{13, 16});
}
