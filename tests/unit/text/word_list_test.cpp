#include "text/word_list.hpp"

#include <array>
#include <catch_amalgamated.hpp>
#include <nlohmann/json.hpp>

using namespace attn;

TEST_CASE("A list of words becomes a tokenizer with their places as ids", "[unit][text]") {
    const std::array<std::string, 4> words{"list", "\"", "é", "\\"};
    const auto json = nlohmann::json::parse(word_list_tokenizer(words), nullptr, false);
    REQUIRE(json.is_object());
    CHECK(json["model"]["type"] == "WordLevel");
    CHECK(json["pre_tokenizer"]["type"] == "WhitespaceSplit");
    REQUIRE(json["model"]["vocab"].size() == words.size());
    for (std::size_t id = 0; id < words.size(); ++id) CHECK(json["model"]["vocab"][words[id]] == id);
}
