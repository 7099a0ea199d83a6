#include "text/byte_level_tokens.hpp"

#include <catch_amalgamated.hpp>

#include "text/words.hpp"

using namespace attn;

using Spelled = std::vector<std::string>;

TEST_CASE("tokens in byte-level spelling read as characters", "[text]") {
    CHECK(read_byte_level(Spelled{"Gr", "Ã¶", "ÃŁ", "e", "Ġist", "Ċ"}) ==
          Spelled{"Gr", "ö", "ß", "e", "Ġist", "Ċ"});
    CHECK(read_byte_level(Spelled{"ĠÐŁ", "ÑĢÐ¸Ð", "²"}) == Spelled{"ĠП", "ри⟨в 1/2⟩", "⟨в 2/2⟩"});
    const Spelled chinese = read_byte_level(Spelled{"Ġç", "Į", "«"});
    CHECK(chinese == Spelled{"Ġ⟨猫 1/3⟩", "⟨猫 2/3⟩", "⟨猫 3/3⟩"});
    CHECK(words_of(chinese)[0].name == "猫");
}

TEST_CASE("tokens in another spelling stay unchanged", "[text]") {
    for (const Spelled& tokens :
         {Spelled{"Größe", "▁猫"}, Spelled{"Größe"}, Spelled{"The", " cat"}, Spelled{"Ã", "x"},
          Spelled{"The", "Ġcat", "<|endoftext|>"}, Spelled{"\xff", ""}, Spelled{}})
        CHECK(read_byte_level(tokens) == tokens);
}
