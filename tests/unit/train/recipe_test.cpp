#include "train/recipe.hpp"

#include <catch_amalgamated.hpp>

using namespace attn;
using Catch::Matchers::ContainsSubstring;

namespace {

Result<Recipe> parsed(std::string_view text) { return parse_recipe(std::as_bytes(std::span(text))); }

std::string refusal(std::string_view text) {
    const auto recipe = parsed(text);
    return recipe ? "" : recipe.error().message;
}

}  // namespace

TEST_CASE("A recipe sets the numbers it names and keeps the others", "[unit][train]") {
    const auto recipe = parsed(R"({"model": {"model_type": "gpt2"}, "vocabulary": 300,
        "training": {"batch": 3, "rate": 0.25, "seed": 18446744073709551615, "attention_only": true,
                     "position_waves": 0.125},
        "mixture": {"text": 0, "sentences": 1, "repeated_pairs": 0.5}})");
    REQUIRE(recipe);
    CHECK(recipe->vocabulary == 300);
    CHECK(recipe->training.batch == 3);
    CHECK(recipe->training.context == TrainingSettings().context);
    CHECK(recipe->training.schedule.rate == 0.25);
    CHECK(recipe->training.seed == 18446744073709551615u);
    CHECK(recipe->training.attention_only);
    CHECK(recipe->training.position_waves == 0.125);
    CHECK(recipe->mixture.repeated_pairs == 0.5);
    CHECK(recipe->mixture.text == 0);
    CHECK(recipe->mixture.sentences == 1);
    const std::string config(reinterpret_cast<const char*>(recipe->config_json.data()),
                             recipe->config_json.size());
    CHECK_THAT(config, ContainsSubstring("\"vocab_size\": 300"));
}

TEST_CASE("A recipe may name a puzzle", "[unit][train]") {
    const auto recipe = parsed(R"({"model": {"model_type": "gpt2"}, "vocabulary": 18,
        "training": {"initial_deviation": 0.1}, "puzzle": "different"})");
    REQUIRE(recipe);
    CHECK(recipe->puzzle == Puzzle::different);
    CHECK(recipe->training.initial_deviation == 0.1);
    CHECK_FALSE(parsed(R"({"model": {}, "vocabulary": 300})")->puzzle);
}

TEST_CASE("An invalid recipe gives one sentence", "[unit][train]") {
    CHECK_THAT(refusal(""), ContainsSubstring("the recipe"));
    CHECK_THAT(refusal("[]"), ContainsSubstring("JSON object"));
    CHECK_THAT(refusal(R"({"vocabulary": 300})"), ContainsSubstring("\"model\""));
    CHECK_THAT(refusal(R"({"model": {}})"), ContainsSubstring("\"vocabulary\""));
    CHECK_THAT(refusal(R"({"model": {}, "vocabulary": -1})"), ContainsSubstring("\"vocabulary\""));
    CHECK_THAT(refusal(R"({"model": {}, "vocabulary": 300, "trainings": {}})"),
               ContainsSubstring("knows no \"trainings\""));
    CHECK_THAT(refusal(R"({"model": {}, "vocabulary": 300, "training": {"rat": 1}})"),
               ContainsSubstring("knows no \"rat\""));
    CHECK_THAT(refusal(R"({"model": {}, "vocabulary": 300, "training": {"rate": "1"}})"),
               ContainsSubstring("\"rate\" of a wrong kind"));
    CHECK_THAT(refusal(R"({"model": {}, "vocabulary": 300, "training": {"batch": 1.5}})"),
               ContainsSubstring("\"batch\" of a wrong kind"));
    CHECK_THAT(refusal(R"({"model": {}, "vocabulary": 300, "training": {"seed": -1}})"),
               ContainsSubstring("\"seed\" of a wrong kind"));
    CHECK_THAT(refusal(R"({"model": {}, "vocabulary": 300, "mixture": []})"),
               ContainsSubstring("has to be an object"));
    CHECK_THAT(refusal(R"({"model": {}, "vocabulary": 12, "puzzle": "smallest"})"),
               ContainsSubstring(R"(has to be "largest" or "different", not "smallest")"));
    CHECK_THAT(refusal(R"({"model": {}, "vocabulary": 12, "puzzle": 1})"), ContainsSubstring("not 1"));
    CHECK_THAT(refusal(R"({"model": {}, "vocabulary": 13, "puzzle": "largest"})"),
               ContainsSubstring(R"(the puzzle "largest" has 12 words)"));
    CHECK_THAT(refusal(R"({"model": {}, "vocabulary": 12, "puzzle": "largest", "mixture": {}})"),
               ContainsSubstring("leave out the \"mixture\""));
    CHECK_THAT(refusal(R"({"model": {"model_type": "t5"}, "vocabulary": 12, "puzzle": "largest"})"),
               ContainsSubstring("leave out the T5"));
}
