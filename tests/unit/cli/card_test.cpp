// Recomputes the figures of the bundled models' cards.
#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "support/files.hpp"
#include "support/shared_data.hpp"
#include "support/this_build.hpp"
#include "unit/cli/program.hpp"

using namespace attn;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

// Kernels of another instruction set round in another order. That changes a mean by far less than this, and
// may flip the few texts of 1,284 that are borderline.
constexpr double weight_bound = 0.002, share_bound = 0.003, bits_bound = 0.002;

json read_json(const std::filesystem::path& path) {
    const auto bytes = test::read_file(path);
    return json::parse(reinterpret_cast<const char*>(bytes.data()),
                       reinterpret_cast<const char*>(bytes.data()) + bytes.size(), nullptr, false);
}

bool is_share(const std::string& key) { return key == "pronoun_right" || key == "pronoun_flipped"; }

}  // namespace

TEST_CASE("the bundled model's card matches its weights") {
    if (test::sanitized) SKIP("100,000 tokens take minutes under the sanitizers");
    const auto committed = test::source_dir() / "models/storyteller";
    const json card = read_json(committed / "scores.json");
    if (!card.is_object()) SKIP("models/storyteller has no weights yet");
    const test::Folder folder;
    std::filesystem::create_directory(folder.path);
    for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"})
        std::filesystem::copy_file(committed / file, folder.path / file);
    const auto texts = test::shared_data("corpora");
    const std::string validation =
        texts ? " --validate '" + (*texts / "fairytales-val.txt").string() + "'" : std::string();
    const test::Outcome outcome = test::run("card '" + folder.path.string() + "'" + validation);
    INFO(outcome.text);
    REQUIRE(outcome.code == 0);
    const json found = read_json(folder.path / "scores.json");
    // Without a recipe, nothing is known about the model's origin.
    const auto readme = test::read_file(folder.path / "README.md");
    const std::string text(reinterpret_cast<const char*>(readme.data()), readme.size());
    CHECK(text.find("# " + folder.path.filename().string() + "\n\nA GPT-2 of 5 layers, 8 heads") !=
          std::string::npos);
    for (const char* claim : {"trained", "storyteller", "license", "held out"})
        CHECK(text.find(claim) == std::string::npos);

    REQUIRE(found["heads"].size() == card["heads"].size());
    for (std::size_t i = 0; i < card["heads"].size(); ++i)
        for (const auto& [key, value] : card["heads"][i].items()) {
            INFO("head " << i << ", " << key);
            CHECK(std::abs(found["heads"][i][key].get<double>() - value.get<double>()) <=
                  (is_share(key) ? share_bound : weight_bound));
        }
    CHECK(found["pronouns"]["pairs"] == card["pronouns"]["pairs"]);
    for (const char* key : {"preferred", "preferred_in_both"})
        CHECK(std::abs(found["pronouns"][key].get<double>() - card["pronouns"][key].get<double>()) <=
              share_bound);
    if (!texts) SKIP("../shared/corpora is not there: bits per byte are not measured again");
    CHECK(std::abs(found["validation"]["bits_per_byte"].get<double>() -
                   card["validation"]["bits_per_byte"].get<double>()) <= bits_bound);
}

TEST_CASE("the translator's card matches its weights") {
    if (test::sanitized) SKIP("2,000 translations take minutes under the sanitizers");
    const auto committed = test::source_dir() / "models/translator";
    const json card = read_json(committed / "scores.json");
    if (!card.is_object()) SKIP("models/translator has no weights yet");
    const test::Folder folder;
    std::filesystem::create_directory(folder.path);
    for (const char* file : {"config.json", "model.safetensors"})
        std::filesystem::copy_file(committed / file, folder.path / file);
    const test::Outcome outcome = test::run("card '" + folder.path.string() + "'");
    INFO(outcome.text);
    REQUIRE(outcome.code == 0);
    const json found = read_json(folder.path / "scores.json");
    CHECK(found["translation"]["pairs"] == card["translation"]["pairs"]);
    const auto right = found["translation"]["right"].get<double>();
    CHECK(std::abs(right - card["translation"]["right"].get<double>()) <= share_bound);
    CHECK(right >= 0.95);
    // How many pairs combine words as no batch does follows from the grammar alone.
    CHECK(found["translation"]["combining"] == card["translation"]["combining"]);
    const auto sentence = [](const std::filesystem::path& model) {
        std::ifstream file(model / "README.md");
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const std::size_t first = text.find("The pairs (seed");
        return text.substr(first, text.find("Nothing in the loss") - first);
    };
    CHECK_THAT(sentence(committed), ContainsSubstring("% of them combine an adjective with a noun"));
    CHECK_THAT(sentence(folder.path),
               ContainsSubstring(sentence(committed).substr(0, sentence(committed).size() - 1)));
    REQUIRE(found["heads"].size() == card["heads"].size());
    double best = 0;
    for (std::size_t i = 0; i < card["heads"].size(); ++i) {
        INFO("head " << i);
        const json &head = found["heads"][i], &told = card["heads"][i];
        CHECK((head["layer"] == told["layer"] && head["head"] == told["head"]));
        const auto aligned = head["aligned"].get<double>();
        CHECK(std::abs(aligned - told["aligned"].get<double>()) <= share_bound);
        best = std::max(best, aligned);
    }
    CHECK(best >= 0.9);
}
