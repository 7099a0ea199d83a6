#include "text/pretokenize.hpp"

#include <catch_amalgamated.hpp>
#include <string>
#include <vector>

using namespace attn;

namespace {

using Pieces = std::vector<std::string>;

Pieces pieces(std::string_view text) {
    Pieces found;
    for_each_piece(text, [&](std::string_view piece) { found.emplace_back(piece); });
    return found;
}

}  // namespace

// The expected pieces are those of text.match(expression) in node 20.
TEST_CASE("text is divided as GPT-2's expression does", "[text]") {
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
        {"\ufeff.\u0085.", {"\ufeff", ".\u0085."}},  // white space in JavaScript, and not
        {"Führer ½ Ⅷ٣", {"Führer", " ½", " Ⅷ٣"}},
        {"e\u0301a", {"e", "\u0301", "a"}},  // a combining mark is not a letter
        {"日本語。한국어 👍🏽", {"日本語", "。", "한국어", " 👍🏽"}},
        {std::string("a\0b", 3), {"a", std::string(1, '\0'), "b"}},
    }));
    CAPTURE(text);
    CHECK(pieces(text) == expected);
}
