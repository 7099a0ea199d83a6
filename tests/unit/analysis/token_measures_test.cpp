// Tests how tokens are measured, and how one is followed through the stream.
#include "analysis/attribution/token_measures.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/attribution/followed_token.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

namespace {

const std::vector<std::int32_t> measured_ids{3, 1, 4, 1, 5, 9, 2, 6};

FollowedToken followed(const std::shared_ptr<const Trace>& trace, Index row,
                       std::optional<std::int32_t> asked) {
    FollowedToken token(std::make_shared<LogitLens>(trace, row));
    while (token.step(asked)) continue;
    return token;
}

std::shared_ptr<const Trace> small_run(const SmallFamily& family) {
    const auto trace = run_text(small_model(family), measured_ids);
    REQUIRE(trace);
    return *trace;
}

}  // namespace

TEST_CASE("a followed token is the asked one or, where the model has no such token, the likeliest") {
    const auto trace = small_run(small_families.front());
    const FollowedToken likeliest = followed(trace, 5, {}), asked = followed(trace, 5, 3),
                        outside = followed(trace, 5, 5000);
    CHECK(likeliest.parts().token() == likeliest.stream()->states().back().likeliest.front().id);
    CHECK(likeliest.ranks().back() == 1);
    CHECK(likeliest.ranks().size() == likeliest.stream()->places().size());
    CHECK(asked.parts().token() == 3);
    CHECK(asked.ranks().back() == asked.stream()->rank(std::ssize(asked.ranks()) - 1, 3));
    CHECK(outside.parts().token() == likeliest.parts().token());
}

TEST_CASE("the sums of a logit's parts add up to the sum of all") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const FollowedToken token = followed(small_run(family), 5, {});
        const LogitSums sums = token.parts().sums();
        CHECK_FALSE(sums.changed);
        CHECK(sums.changes == 0);
        CHECK(sums.embeddings + sums.heads + sums.mlps + sums.rest ==
              Catch::Approx(token.parts().sum()).margin(1e-9));
    }
}

TEST_CASE("tokens are ordered by all measures alike, whatever their units") {
    const auto trace = small_run(small_families.front());
    TokenShares first(*trace), second(*trace), other(*trace);
    first.own = {0.1, 0, 0.3, 0, 0, 0, 0, 0};
    second.own = {0, -5000, 4000, 0, 0, 0, 0, std::numeric_limits<double>::quiet_NaN()};
    CHECK(by_importance(std::vector<const TokenShares*>{&first, &second, &other}, false, 4) ==
          std::vector<Index>{2, 1, 0, 3});
    CHECK(by_importance({}, false, 3) == std::vector<Index>{0, 1, 2});
}

TEST_CASE("tokens are measured without their ablation first, which agrees with itself") {
    const auto trace = small_run(small_families.front());
    TokenMeasures measures;
    CHECK(measures.all_measured().empty());
    measures.start(followed(trace, 5, {}).parts(), 60e6);
    while (measures.step(false)) continue;
    CHECK(measures.all_measured().size() == 3);
    CHECK_FALSE(measures.ablation());
    CHECK_FALSE(measures.agreement(TokenMeasure::rollout));
    measures.step(true);
    REQUIRE(measures.ablation());
    CHECK(measures.ablation()->runs() == 6);
    // Tokens after the row do not affect it.
    CHECK(measures.ablation()->falls().own[6] == 0);
    const auto waits = [](double fall) { return std::isnan(fall); };
    CHECK(std::ranges::count_if(measures.ablation()->falls().own, waits) == 6 - measures.ablation()->known());
    while (measures.step(true)) continue;
    CHECK(measures.all_measured().size() == 4);
    CHECK(*measures.ablation()->agreement(measures.ablation()->falls(), true) == Catch::Approx(1));
}
