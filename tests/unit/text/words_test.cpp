#include "text/words.hpp"

#include <catch_amalgamated.hpp>

using namespace attn;

namespace {

using Pieces = std::vector<std::string>;

Pieces names(const Pieces& pieces, std::string_view text = {}) {
    const auto words = words_of(pieces, text);
    Pieces found;
    Index next = 0;
    for (const Word& word : words) {
        CHECK(word.tokens.begin == next);
        CHECK(word.tokens.size() > 0);
        next = word.tokens.end;
        found.push_back(word.name);
    }
    CHECK(next == std::ssize(pieces));
    return found;
}

}  // namespace

TEST_CASE("a space mark begins a word, a piece without one continues it", "[text]") {
    const Pieces expected{"The", "animal", "didn't", "cross", "streetcars"};
    for (const std::string mark : {"Ġ", "▁", "·", " "})
        CHECK(names({"The", mark + "animal", mark + "didn", "'t", mark + "cross", mark + "street", "car",
                     "s"}) == expected);
    CHECK(words_of(Pieces{"The", "Ġanimal", "Ġdidn", "'t"})[2].tokens == Range{2, 4});
    CHECK(names({"▁▁deep", "er", "▁x"}) == Pieces{"deeper", "x"});
}

TEST_CASE("'##' continues a word if spaces are not marked", "[text]") {
    CHECK(names({"[CLS]", "un", "##bel", "##iev", "##able", "don", "'", "t", "[SEP]"}) ==
          Pieces{"[CLS]", "unbelievable", "don", "'", "t", "[SEP]"});
    CHECK(names({"a", "b", "c"}) == Pieces{"a", "b", "c"});
    // If spaces are marked, "##" is just text.
    CHECK(names({"##", "Ġtitle", "##", "s"}) == Pieces{"##", "title", "##", "s"});
}

TEST_CASE("pieces of a text without white space are one word", "[text]") {
    CHECK(names({"un", "believ", "able"}, "unbelievable") == Pieces{"unbelievable"});
    CHECK(names({"<s>", "un", "able", "."}, "unable.") == Pieces{"<s>", "unable", "."});
    CHECK(names({"a", "b"}, "a b") == Pieces{"a", "b"});
    CHECK(names({"a", "b"}) == Pieces{"a", "b"});
}

TEST_CASE("punctuation, spaces, line breaks and special tokens stand alone", "[text]") {
    CHECK(names({"It", "'", "s", "Ġtired", ".", "Ċ", "Ġ", "Ġ", "ĠIt", "<|endoftext|>", "So"}) ==
          Pieces{"It", "'", "s", "tired", ".", "Ċ", "Ġ", "Ġ", "It", "<|endoftext|>", "So"});
    CHECK(names({"·tired", "↵", "on", "·—", "·(", "so", ")", "·3", ".", "14"}) ==
          Pieces{"tired", "↵", "on", "·—", "·(", "so", ")", "3", ".", "14"});
}

TEST_CASE("a word longer than the maximum is cut", "[text]") {
    const auto words = words_of(Pieces(20, "a"), "aaaaaaaaaaaaaaaaaaaa");
    REQUIRE(words.size() == 2);
    CHECK(words[0].tokens == Range{0, most_tokens_a_word});
    CHECK(words[1].tokens == Range{most_tokens_a_word, 20});
}

TEST_CASE("Han and Kana begin a word, bytes of a character continue it", "[text]") {
    CHECK(names({"·猫", "は", "·⟨の 1/2⟩", "⟨の 2/2⟩"}) == Pieces{"猫", "は", "の"});
}

TEST_CASE("parts of characters are joined in words", "[text]") {
    CHECK(names({"Gr", "⟨ö 1/2⟩", "⟨ö 2/2⟩⟨ß 1/2⟩", "⟨ß 2/2⟩e", "·ist"}) == Pieces{"Größe", "ist"});
    CHECK(names({"⟨П 1/2⟩", "⟨П 2/2⟩р", "и", "вет", "·⟨м 1/2⟩", "⟨м 2/2⟩ир"}) == Pieces{"Привет", "мир"});
    CHECK(names({"·⟨م 1/2⟩", "⟨م 2/2⟩رح", "با"}) == Pieces{"مرحبا"});
    CHECK(names({"न", "म", "स", "्", "त", "े", "·مَ", "ر", "·o", "\u0308", "।"}) ==
          Pieces{"नमस्ते", "مَر", "o\u0308", "।"});
    CHECK(names({"⟨你 1/3⟩", "⟨你 2/3⟩", "⟨你 3/3⟩", "好", "·so"}) == Pieces{"你", "好", "so"});
    CHECK(names({"a", "·⟨🐈 1/2⟩", "⟨🐈 2/2⟩", "cat"}) == Pieces{"a", "·🐈", "cat"});
    CHECK(names({"x", "·⟨e7 8c⟩", "·⟨1/2⟩", "·⟨"}).size() == 4);
    Pieces long_word(15, "a");
    long_word.insert(long_word.end(), {"⟨ö 1/2⟩", "⟨ö 2/2⟩", "a"});
    CHECK(names(long_word, "aaaaaaaaaaaaaaaöa") == Pieces{"aaaaaaaaaaaaaaaö", "a"});
}

TEST_CASE("no pieces are no words, odd bytes are some", "[text]") {
    CHECK(words_of({}).empty());
    CHECK(names({"", "\xff", "Ġ\xc3"}).size() == 3);
}
