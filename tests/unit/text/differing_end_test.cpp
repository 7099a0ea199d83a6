#include "text/differing_end.hpp"

#include <catch_amalgamated.hpp>

using attn::from_difference;

TEST_CASE("a truncated title begins shortly before the words that differ") {
    const std::string tired = "The animal didn't cross the street because it was too tired.",
                      wide = "The animal didn't cross the street because it was too wide.";
    CHECK(from_difference(tired, wide) == "… was too tired.");
    CHECK(from_difference(wide, tired) == "… was too wide.");
    CHECK(from_difference("the cat sat", "a dog sat") == "the cat sat");
    CHECK(from_difference("the cat sat", "the cats sat") == "the cat sat");
    CHECK(from_difference("one two three four", "one two three four five") == "… two three four");
    CHECK(from_difference("", "one") == "");
    CHECK(from_difference("é è", "é é") == "é è");
}
