#include "text/pretokenize.hpp"

#include <catch_amalgamated.hpp>
#include <string>
#include <vector>

using namespace attn;

namespace {

using Pieces = std::vector<std::string>;

Pieces pieces(std::string_view text, PreTokenizer by = PreTokenizer::gpt2) {
    Pieces found;
    for_each_piece(text, [&](std::string_view piece) { found.emplace_back(piece); }, by);
    return found;
}

}  // namespace

// The expected pieces are those of text.match(expression) in node 20.
TEST_CASE("text is divided like by GPT-2's expression", "[text]") {
    const auto [text, expected] = GENERATE(table<std::string, Pieces>({
        {"", {}},
        {"Hello, world!", {"Hello", ",", " world", "!"}},
        {"It's we'll I'd they've you're I'm don't 'tis",
         {"It", "'s", " we", "'ll", " I", "'d", " they", "'ve", " you", "'re", " I", "'m", " don", "'t", " '",
          "tis"}},
        {"IT'S o''s '", {"IT", "'", "S", " o", "''", "s", " '"}},
        {"a1b22 333", {"a", "1", "b", "22", " 333"}},
        {"  two   spaces  ", {" ", " two", "  ", " spaces", "  "}},
        {"a\n\nb \n c\t1", {"a", "\n", "\n", "b", " \n", " c", "\t", "1"}},
        {"\r\r\n", {"\r\r\n"}},
        {" ", {" "}},
        {"\n?", {"\n", "?"}},
        {"x\u00a0\u00a0y\u3000", {"x", "\u00a0", "\u00a0", "y", "\u3000"}},
        {"\ufeff.\u0085.", {"\ufeff.", "\u0085", "."}},  // the reverse of JavaScript's \s
        {"Führer ½ Ⅷ٣", {"Führer", " ½", " Ⅷ٣"}},
        {"e\u0301a", {"e", "\u0301", "a"}},  // a combining mark is not a letter
        {"日本語。한국어 👍🏽", {"日本語", "。", "한국어", " 👍🏽"}},
        {std::string("a\0b", 3), {"a", std::string(1, '\0'), "b"}},
    }));
    CAPTURE(text);
    CHECK(pieces(text) == expected);
}

// The expected pieces are those of text.match(expression) in node 24, with (?:i…) written out; for
// single_digits, they are pieces of the parts between numbers.
TEST_CASE("text is divided like by the expressions of newer tokenizers", "[text]") {
    struct Case {
        std::string text;
        Pieces single_digits, qwen2, llama3, gpt4o, tekken;
    };
    // clang-format off
    const auto [text, single_digits, qwen2, llama3, gpt4o, tekken] = GENERATE(values<Case>({
        {"Hello, world!  It's 1234567 I'LL",
         {"Hello", ",", " world", "!", " ", " It", "'s", " ", "1", "2", "3", "4", "5", "6", "7", " I", "'", "LL"},
         {"Hello", ",", " world", "!", " ", " It", "'s", " ", "1", "2", "3", "4", "5", "6", "7", " I", "'LL"},
         {"Hello", ",", " world", "!", " ", " It", "'s", " ", "123", "456", "7", " I", "'LL"},
         {"Hello", ",", " world", "!", " ", " It's", " ", "123", "456", "7", " I'LL"},
         {"Hello", ",", " world", "!", " ", " It", "'s", " ", "1", "2", "3", "4", "5", "6", "7", " I", "'LL"}},
        {"two   spaces\n\n  in\r\n x",
         {"two", "  ", " spaces", "\n\n ", " in", "\r\n", " x"},
         {"two", "  ", " spaces", "\n\n", " ", " in", "\r\n", " x"},
         {"two", "  ", " spaces", "\n\n", " ", " in", "\r\n", " x"},
         {"two", "  ", " spaces", "\n\n", " ", " in", "\r\n", " x"},
         {"two", "  ", " spaces", "\n\n", " ", " in", "\r\n", " x"}},
        {"(a) -b \tc ?!\r\n/d",
         {"(", "a", ")", " -", "b", " ", "\t", "c", " ?!", "\r", "\n", "/", "d"},
         {"(a", ")", " -", "b", " ", "\tc", " ?!\r\n", "/d"},
         {"(a", ")", " -", "b", " ", "\tc", " ?!\r\n", "/d"},
         {"(a", ")", " -", "b", " ", "\tc", " ?!\r\n/", "d"},
         {"(a", ")", " -", "b", " ", "\tc", " ?!\r\n/", "d"}},
        {"camelCase HTMLParser DON'T x're",
         {"camelCase", " HTMLParser", " DON", "'", "T", " x", "'re"},
         {"camelCase", " HTMLParser", " DON", "'T", " x", "'re"},
         {"camelCase", " HTMLParser", " DON", "'T", " x", "'re"},
         {"camel", "Case", " HTMLParser", " DON'T", " x're"},
         {"camel", "Case", " HTMLParser", " DON", "'T", " x", "'re"}},
        {"  12 3",
         {"  ", "1", "2", " ", "3"},
         {" ", " ", "1", "2", " ", "3"},
         {" ", " ", "12", " ", "3"},
         {" ", " ", "12", " ", "3"},
         {" ", " ", "1", "2", " ", "3"}},
        {"日本語 ÄÖü ǅa e\u0301 \u0301A ʰB",
         {"日本語", " ÄÖü", " ǅa", " e", "\u0301", " \u0301", "A", " ʰB"},
         {"日本語", " ÄÖü", " ǅa", " e", "\u0301", " \u0301", "A", " ʰB"},
         {"日本語", " ÄÖü", " ǅa", " e", "\u0301", " \u0301", "A", " ʰB"},
         {"日本語", " ÄÖü", " ǅa", " e\u0301", " \u0301", "A", " ʰ", "B"},
         {"日本語", " ÄÖü", " ǅa", " e\u0301", " \u0301", "A", " ʰ", "B"}},
        {"a \n", {"a", " \n"}, {"a", " \n"}, {"a", " \n"}, {"a", " \n"}, {"a", " \n"}},
    }));
    // clang-format on
    CAPTURE(text);
    CHECK(pieces(text, PreTokenizer::single_digits) == single_digits);
    CHECK(pieces(text, PreTokenizer::qwen2) == qwen2);
    CHECK(pieces(text, PreTokenizer::llama3) == llama3);
    CHECK(pieces(text, PreTokenizer::gpt4o) == gpt4o);
    CHECK(pieces(text, PreTokenizer::tekken) == tekken);
}

TEST_CASE("white space is Unicode's", "[text]") {
    CHECK(pieces("a\u0085b") == Pieces{"a", "\u0085", "b"});
    CHECK(pieces("a \u0085b") == Pieces{"a", " ", "\u0085", "b"});
    CHECK(pieces("a \ufeff.") == Pieces{"a", " \ufeff."});
}

// Applies the expressions one after the other, each to the pieces of the one before.
TEST_CASE("text is divided like by llama.cpp if a file does not say how", "[text]") {
    const auto [text, expected] = GENERATE(table<std::string, Pieces>({
        {"wait (yes)", {"wait", " ", "(", "yes", ")"}},
        {"in 12345 days", {"in", " ", "123", "45", " days"}},
        {"don't?! a  (b", {"don", "'", "t", "?!", " a", "  ", "(", "b"}},
        {"½12345 ٣٣٣٣ 1٣2345", {"½", "123", "45", " ", "٣٣٣٣", " ", "1٣", "234", "5"}},
        {"a`b $5.00 ©", {"a", "`", "b", " ", "$", "5", ".", "00", " ©"}},
        {"“x” — y\n\nz", {"“", "x", "”", " ", "—", " y", "\n", "\n", "z"}},
        {"123456", {"123", "456"}},
        {"  ", {"  "}},
    }));
    CAPTURE(text);
    CHECK(pieces(text, PreTokenizer::llama_default) == expected);
    CHECK(pieces(std::string(200'000, 'a') + "1", PreTokenizer::llama_default).size() == 2);
}
