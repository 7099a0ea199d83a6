#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "model/generate.hpp"

using namespace attn;
using Catch::Matchers::WithinAbs;

namespace {

constexpr Index everything = 1000;
const std::vector<float> logits{1, 3, 2, 3, -1, 0};

std::vector<std::int32_t> ids(const std::vector<Candidate>& candidates) {
    std::vector<std::int32_t> list;
    for (const Candidate& c : candidates) list.push_back(c.id);
    return list;
}

double total(const std::vector<Candidate>& candidates) {
    return std::accumulate(candidates.begin(), candidates.end(), 0.0,
                           [](double sum, const Candidate& c) { return sum + c.probability; });
}

}  // namespace

TEST_CASE("the distribution is the softmax of the whole vocabulary, most likely first", "[sampling]") {
    const auto all = next_token_distribution(logits, {.temperature = 2}, everything);
    CHECK(ids(all) == std::vector<std::int32_t>{1, 3, 2, 0, 5, 4});
    CHECK_THAT(total(all), WithinAbs(1, 1e-12));
    CHECK_THAT(all[0].probability / all[3].probability, WithinAbs(std::exp(1.0), 1e-12));

    const auto first = next_token_distribution(logits, {.temperature = 2}, 2);
    REQUIRE(first.size() == 2);
    CHECK(first[1].id == 3);
    CHECK(first[1].logit == 3);
    CHECK_THAT(first[0].probability, WithinAbs(all[0].probability, 1e-12));
}

TEST_CASE("temperature 0 takes the most likely token, the first among equals", "[sampling]") {
    const auto only = next_token_distribution(logits, {.temperature = 0, .top_k = 3}, everything);
    REQUIRE(only.size() == 1);
    CHECK(only[0].id == 1);
    CHECK(only[0].probability == 1);
}

TEST_CASE("top-k keeps tokens that equal the last kept one", "[sampling]") {
    const auto one = next_token_distribution(logits, {.temperature = 1, .top_k = 1}, everything);
    CHECK(ids(one) == std::vector<std::int32_t>{1, 3});
    CHECK_THAT(one[0].probability, WithinAbs(0.5, 1e-12));
    CHECK(next_token_distribution(logits, {.temperature = 1, .top_k = 100}, everything).size() == 6);
}

TEST_CASE("top-p keeps the fewest tokens that reach p, at least one", "[sampling]") {
    std::vector<float> known;
    for (double p : {0.1, 0.5, 0.25, 0.15}) known.push_back(static_cast<float>(std::log(p)));
    const auto kept = [&](float p) {
        return ids(next_token_distribution(known, {.temperature = 1, .top_p = p}, everything));
    };
    CHECK(kept(1e-6f) == std::vector<std::int32_t>{1});
    CHECK(kept(0.49f) == std::vector<std::int32_t>{1});
    CHECK(kept(0.51f) == std::vector<std::int32_t>{1, 2});
    CHECK(kept(0.76f) == std::vector<std::int32_t>{1, 2, 3});
    CHECK(kept(0.95f) == std::vector<std::int32_t>{1, 2, 3, 0});

    // top_p applies to the result of top_k: of 0.5 and 0.25, renormalised to 2/3 and 1/3, the first reaches
    // 0.6.
    const auto both =
        next_token_distribution(known, {.temperature = 1, .top_k = 2, .top_p = 0.6f}, everything);
    CHECK(ids(both) == std::vector<std::int32_t>{1});
    CHECK_THAT(total(both), WithinAbs(1, 1e-12));
}

TEST_CASE("logits that are not finite give no distribution", "[sampling]") {
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    CHECK(next_token_distribution(std::vector{1.0f, nan}, {.temperature = 1}, everything).empty());
    CHECK(next_token_distribution(std::vector{1.0f, inf}, {.temperature = 1}, everything).empty());
    CHECK(next_token_distribution(std::vector{-inf, -inf}, {}, everything).empty());
    CHECK(next_token_distribution({}, {}, everything).empty());

    const auto forbidden = next_token_distribution(std::vector{1.0f, -inf}, {.temperature = 1}, everything);
    REQUIRE(forbidden.size() == 2);
    CHECK(forbidden[1].probability == 0);
}
