// Tests the sentence that describes what a head does with a word, against weights that are computed here.
#include "subjects/reading.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/format.hpp"
#include "lenses/lens.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/app/tensors_visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::WithinAbs;

namespace {

// The worked example opens with three words of four numbers, whose projections are the identity.
constexpr double cats[3][4] = {{1, 0.5, 0.2, 0.8}, {0.3, 0.9, 0.1, 0.4}, {0.6, 0.2, 0.7, 0.3}};

std::array<double, 3> row_of_cats(int query) {
    std::array<double, 3> row{};
    double sum = 0;
    for (int key = 0; key < 3; ++key) {
        double score = 0;
        for (int a = 0; a < 4; ++a) score += cats[query][a] * cats[key][a];
        sum += row[static_cast<std::size_t>(key)] = std::exp(score / 2);
    }
    for (double& weight : row) weight /= sum;
    return row;
}

struct WorkedVisit {
    FakePage page;
    Visit visit{page};
    WorkedVisit() { visit.perform(OpenSubject{worked_subject}); }
    const Attention& attention() { return *subject_in(visit).attention(); }
    std::string spoken(std::string_view lens) {
        visit.perform(OpenLens{lens});
        return lens_in(visit).spoken(subject_in(visit));
    }
};

}  // namespace

TEST_CASE("a row is described by its keys in the order of their weights") {
    WorkedVisit v;
    for (int query = 0; query < 3; ++query) {
        const auto row = row_of_cats(query);
        const auto reading = read_row(v.attention(), 0, 0, query);
        REQUIRE(reading);
        CHECK(reading->asks ==
              std::array{"Reading “cat”", "Reading “sat”", "Reading “mat”"}[static_cast<std::size_t>(query)]);
        REQUIRE(reading->looks.size() == 3);
        auto sorted = row;
        std::ranges::sort(sorted, std::greater{});
        for (std::size_t i = 0; i < 3; ++i)
            CHECK_THAT(reading->looks[i].share, WithinAbs(sorted[i], 1e-6));  // f32
        const auto strongest = std::ranges::max_element(row) - row.begin();
        CHECK((reading->looks[0].at == "itself") == (strongest == query));
    }
    CHECK(read_row(v.attention(), 0, 0, std::nullopt)->query == 2);
    CHECK_FALSE(read_row(v.attention(), 0, 1, 0));
}

TEST_CASE("a query without a visible key is described as such") {
    WorkedVisit v;
    v.visit.perform(SetMask{.kind = WorkedMask::Kind::causal, .offset = -1});
    v.visit.perform(Select{{0, 0, 0, {}, {}}});
    CHECK(v.spoken("overview") == "Reading “cat”, this head may look at nothing.");
    CHECK(v.spoken("ladder") == "The mask leaves “cat” nothing to look at, so its output is 0.");
}

TEST_CASE("the lenses' sentences use the run's numbers, and follow an edit") {
    WorkedVisit v;
    v.visit.perform(Select{{0, 0, 0, {}, {}}});
    const auto row = row_of_cats(0);
    CHECK(v.spoken("overview") == "Reading “cat”, this head looks most at itself (" + percent(row[0]) +
                                      "), “sat” (" + percent(row[1]) + ") and “mat” (" + percent(row[2]) +
                                      ").");
    CHECK(v.spoken("ladder") ==
          "“cat” looks most at itself: its score of 1.93 becomes a weight of " + percent(row[0]) + ".");
    v.visit.perform(SetTemperature{0.05});
    CHECK(v.spoken("overview") == "Reading “cat”, this head looks at itself (100 %).");
}

TEST_CASE("the tokens of a word count together, and a long row is not a list") {
    using Look = Reading::Look;
    CHECK(looks_at({0, "", {{"“animal”", 0.984}, {"“The”", 0.01}}}) == "looks at “animal” (98 %)");
    CHECK(looks_at({0, "", {Look{"key 3", 0.4}}}) == "looks at key 3 (40 %)");
    CHECK(looks_at({0, "", {{"key 3", 0.4}, {"key 1", 0.3}}}) ==
          "looks most at key 3 (40 %) and key 1 (30 %)");
    CHECK(looks_at({0, "", {{"key 3", 0.004}, {"key 1", 0.003}}}) ==
          "spreads its attention: nothing gets more than 0.4 %");

    FakePage page;
    Visit visit{page};
    load_tiny_model(visit);
    visit.perform(OpenSubject{sentence_subject});
    visit.text_typed(Box::first, "x");
    visit.tokens({Box::first, "x", {3, 1, 4, 1, 5}, {"The", "·cat", "·did", "n't", "·sit"}, 5});
    finish(visit);
    const TextRun& run = *sentence_in(visit).run();
    const std::vector<float> weights = run.record_at(1).weights(2, 4);
    const auto reading = read_row(run, 1, 2, 4);
    REQUIRE(reading);
    CHECK(reading->asks == "Reading “sit”");
    for (const Look& look : reading->looks) {
        const auto at = [&](std::size_t token) { return static_cast<double>(weights[token]); };
        const double expected = look.at == "“didn't”" ? at(2) + at(3)
                                : look.at == "“The”"  ? at(0)
                                : look.at == "“cat”"  ? at(1)
                                                      : at(4);
        CHECK_THAT(look.share, WithinAbs(expected, 1e-6));
        CHECK((look.at != "“n't”" && look.at != "“did”"));
    }
    CHECK(query_in_words(run, 1) == "“cat”");
    CHECK(query_in_words(run, 3) == "“n't”");
}

TEST_CASE("shares are written as people say them") {
    CHECK(percent(0.984) == "98 %");
    CHECK(percent(1) == "100 %");
    CHECK(percent(0.0042) == "0.4 %");
    CHECK(percent(0.0004) == "0.04 %");
    CHECK(percent(-0.1012) == "-10 %");
    CHECK(percent(-0.004) == "-0.4 %");
    CHECK(percent(0) == "0 %");
}

TEST_CASE("tensors are described once their weights are known, by position if there are no tokens",
          "[tensors]") {
    TensorsVisit v;
    v.visit.perform(OpenSubject{tensors_subject});
    v.put({{"q.npy", normal_npy({2, 4, 3}, 1)}, {"k.npy", normal_npy({2, 6, 3}, 2)}});
    // In each slice of work, there is either no sentence or the final one.
    std::string told;
    for (int i = 0; i < 100'000 && (v.visit.work(0) || v.visit.busy()); ++i) {
        if (!subject_in(v.visit).attention()) continue;
        const auto reading = read_row(*v.open(), 0, 1, 3);
        if (!reading) continue;
        if (told.empty()) told = looks_at(*reading);
        CHECK(looks_at(*reading) == told);
    }
    REQUIRE(v.open());
    const auto reading = read_row(*v.open(), 0, 1, 3);
    REQUIRE(reading);
    CHECK(reading->asks == "At query 3");
    const std::vector<float> weights = v.open()->record(0)->weights(1, 3);
    const auto most = std::ranges::max_element(weights) - weights.begin();
    CHECK(reading->looks[0].at == "key " + std::to_string(most));
    CHECK(looks_at(*reading) == told);
}
