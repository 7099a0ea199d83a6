// Trains puzzles, and recomputes the figures of the bundled ones' cards.
#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "support/files.hpp"
#include "support/this_build.hpp"
#include "unit/cli/program.hpp"

using namespace attn;
using Catch::Matchers::ContainsSubstring;
using test::Folder;
using test::Outcome;

namespace {

namespace fs = std::filesystem;

std::string text_in(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct PuzzleCard {
    double right = 0;  // %
    struct Head {
        std::string name;
        double without = 0, alone = 0;
    };
    std::vector<Head> heads;
};

// Reads "| 0.2 | 65.8 % | 56.6 % |" and "| right answers, of 4000 held-out lists | 100.0 % |".
PuzzleCard read_card(const fs::path& path) {
    PuzzleCard card;
    std::istringstream lines(text_in(path));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t bar = line.find(" | ");
        if (!line.starts_with("| ") || bar == line.npos) continue;
        PuzzleCard::Head head{line.substr(2, bar - 2)};
        std::istringstream numbers(line.substr(bar + 3));
        std::string per_cent, between;
        if (!(numbers >> head.without)) continue;
        if (head.name.starts_with("right"))
            card.right = head.without;
        else if (numbers >> per_cent >> between >> head.alone)
            card.heads.push_back(head);
    }
    return card;
}

}  // namespace

TEST_CASE("attn train makes a puzzle, continues from its checkpoint, and attn card measures it", "[cli]") {
    const Folder folder;
    fs::create_directories(folder.path);
    const std::string out = "'" + (folder.path / "model").string() + "'",
                      recipe = "'" + (folder.path / "recipe.json").string() + "'";
    const auto write = [&](const std::string& puzzle, int context) {
        std::ofstream(folder.path / "recipe.json")
            << R"({"model": {"model_type": "gpt2", "n_positions": 12, "n_embd": 8, "n_layer": 1, "n_head": 2},
            "vocabulary": 12, "puzzle": ")" +
                   puzzle + R"(", "training": {"batch": 2, "steps": 3, "context": )" +
                   std::to_string(context) + "}}";
    };
    write("largest", 12);
    const std::string command = "train " + recipe + " --out " + out;
    const Outcome first = test::run(command);
    INFO(first.text);
    REQUIRE(first.code == 0);
    CHECK_THAT(first.text, ContainsSubstring("from step 0 of 3") && ContainsSubstring("held out: ") &&
                               ContainsSubstring("lists/s"));
    CHECK_THAT(test::run(command).text, ContainsSubstring("from step 3 of 3"));

    const Outcome card = test::run("card " + out + " --recipe " + recipe);
    INFO(card.text);
    REQUIRE(card.code == 0);
    CHECK(read_card(folder.path / "model" / "README.md").heads.size() == 2);
    CHECK_THAT(text_in(folder.path / "model" / "README.md"), ContainsSubstring("\"puzzle\": \"largest\""));
    // The page opens with a bundled model that has one.
    CHECK_FALSE(fs::exists(folder.path / "model" / "scores.json"));

    const auto fails = [&](const std::string& arguments, const std::string& says) {
        const Outcome outcome = test::run(arguments);
        CHECK(outcome.code == 1);
        CHECK_THAT(outcome.text, ContainsSubstring(says));
    };
    fails("card " + out + " --validate " + recipe, "leave out the text");
    fails(command + " --text " + recipe, "leave out the texts");
    write("largest", 3);
    fails(command, "a context of 3 has no room");
    write("smallest", 12);
    fails(command, "has to be \"largest\" or \"different\"");
}

TEST_CASE("the bundled puzzles' cards match their weights") {
    const std::string name = GENERATE("puzzle-largest", "puzzle-different");
    const fs::path committed = test::source_dir() / "models" / name;
    std::uintmax_t bytes = 0;
    for (const auto& file : fs::directory_iterator(committed)) bytes += file.file_size();
    CHECK(bytes < 100'000);
    const PuzzleCard told = read_card(committed / "README.md");
    CHECK(told.right >= 98);
    CHECK(told.heads.size() >= 4);

    const Folder folder;
    fs::create_directories(folder.path);
    for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"})
        fs::copy_file(committed / file, folder.path / file);
    const Outcome outcome = test::run("card '" + folder.path.string() + "'");
    INFO(outcome.text);
    REQUIRE(outcome.code == 0);
    const PuzzleCard found = read_card(folder.path / "README.md");
    // Kernels of another instruction set round in another order, which may flip lists that are borderline.
    constexpr double bound = 0.5;
    CHECK(std::abs(found.right - told.right) <= bound);
    REQUIRE(found.heads.size() == told.heads.size());
    for (std::size_t i = 0; i < told.heads.size(); ++i) {
        INFO("head " << told.heads[i].name);
        CHECK(found.heads[i].name == told.heads[i].name);
        CHECK(std::abs(found.heads[i].without - told.heads[i].without) <= bound);
        CHECK(std::abs(found.heads[i].alone - told.heads[i].alone) <= bound);
    }
}
