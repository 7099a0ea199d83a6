// Checks how heads are named: the measured scores against plain sums in double, the names, and the way to the
// next best head.
#include "analysis/heads/head_roles.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/heads/head_overview.hpp"
#include "model/forward.hpp"
#include "support/files.hpp"

using namespace attn;

namespace {

RoleScores scored(double previous, double first, double induction, double pronoun) {
    RoleScores scores;
    scores[HeadRole::previous_token] = previous;
    scores[HeadRole::first_token] = first;
    scores[HeadRole::induction] = induction;
    scores[HeadRole::pronoun] = pronoun;
    return scores;
}

Result<std::shared_ptr<const Model>> tiny_model() {
    const auto folder = test::source_dir() / "tests/golden/model/gpt2-f32";
    ModelFiles files;
    files.config = test::read_file(folder / "config.json");
    files.weights["model.safetensors"] = test::read_file(folder / "model.safetensors");
    return Model::load(std::move(files));
}

}  // namespace

TEST_CASE("a head has the names that its scores earn, the highest score first") {
    CHECK(roles_of(scored(0.18, 0.27, 0.7, 0.999)) == std::vector{HeadRole::pronoun, HeadRole::induction});
    CHECK(roles_of(scored(0.5, 0.49, 0, 0.89)) == std::vector{HeadRole::previous_token});
    CHECK(roles_of(RoleScores{}).empty());
}

TEST_CASE("two tables disagree if a score differs by more than the bound") {
    const RoleTable a{1, 2, {scored(0.1, 0.2, 0.3, 0.9), scored(0.1, 0.2, 0.3, 0.5)}};
    RoleTable b = a;
    b.scores[0][HeadRole::pronoun] = std::nan("");  // not measured here
    b.scores[1][HeadRole::induction] = 0.45;
    CHECK_FALSE(disagreement(a, b, 0.2));
    const auto found = disagreement(a, b, 0.1);
    REQUIRE(found);
    CHECK(found->head == HeadIndex{0, 1});
    CHECK(found->role == HeadRole::induction);
}

TEST_CASE("finding goes to the best head, then to the next best, and around again") {
    RoleTable table{1, 6, {}};
    for (const double previous : {0.1, 0.9, 0.2, 0.9, 0.3, 0.6})
        table.scores.push_back(scored(previous, previous < 0.3 ? previous : 0, 0, std::nan("")));
    const auto walk = [&](HeadRole role, Index from) { return next_of_role(table, role, {0, from})->head; };
    CHECK(walk(HeadRole::previous_token, 0) == 1);
    CHECK(walk(HeadRole::previous_token, 1) == 3);
    CHECK(walk(HeadRole::previous_token, 3) == 5);
    CHECK(walk(HeadRole::previous_token, 5) == 1);  // three heads have the name
    CHECK(walk(HeadRole::first_token, 4) == 2);     // no head has it, so the three best are shown
    CHECK(walk(HeadRole::first_token, 2) == 0);
    CHECK_FALSE(next_of_role(table, HeadRole::pronoun, {0, 0}));
}

TEST_CASE("scores on repeated tokens match plain sums in double, in slices or at once") {
    const auto model = tiny_model();
    REQUIRE(model);
    constexpr Index period = 7, sequences = 2;
    const auto measured = score_repeated_tokens(*model, period, sequences, 0, 5);
    REQUIRE(measured);
    const RoleTable table = role_table(*measured);
    const ModelConfig& config = (*model)->config();
    REQUIRE(table.layers == config.layers);
    REQUIRE(table.heads == config.heads);

    Random random(5);
    std::vector<RoleScores> expected(table.scores.size(), scored(0, 0, 0, 0));
    for (RoleScores& scores : expected) scores[HeadRole::duplicate_token] = 0;
    for (Index sequence = 0; sequence < sequences; ++sequence) {
        auto ids = random_integers(random, period, 0, static_cast<std::int32_t>(config.vocab_size));
        const auto once = ids;
        ids.insert(ids.end(), once.begin(), once.end());
        const auto trace = run_forward(*model, ids);
        REQUIRE(trace);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const auto head = static_cast<Index>(i) % config.heads;
            const Record& record = (*trace)->layers()[i / static_cast<std::size_t>(config.heads)].attention;
            double all = 0, previous = 0, first = 0, duplicate = 0, induction = 0;
            for (Index q = 0; q < 2 * period; ++q) {
                const auto weights = record.weights(head, q);
                for (Index k = 0; k <= q; ++k) {
                    const auto w = static_cast<double>(weights[static_cast<std::size_t>(k)]);
                    all += w;
                    if (k == q - 1) previous += w;
                    if (k == 0) first += w;
                    if (k == q - period) duplicate += w;
                    if (k == q - period + 1 && q >= period) induction += w;
                }
            }
            expected[i][HeadRole::previous_token] += previous / all / sequences;
            expected[i][HeadRole::first_token] += first / all / sequences;
            expected[i][HeadRole::duplicate_token] += duplicate / period / sequences;
            expected[i][HeadRole::induction] += induction / period / sequences;
        }
    }
    // The weights are f32, each computed alone or with its row: 1e-6 covers their rounding.
    for (std::size_t i = 0; i < expected.size(); ++i)
        for (std::size_t role = 0; role < 4; ++role) {
            INFO("head " << i << ", " << head_roles[role].name);
            CHECK(std::abs(table.scores[i].values[role] - expected[i].values[role]) < 1e-6);
        }

    auto slices = RepeatedTokens::start(*model, period, sequences, 0, 5);
    REQUIRE(slices);
    Index steps = 1;
    for (auto more = slices->step(); more && *more; more = slices->step()) ++steps;
    CHECK(steps > sequences * config.layers * config.heads);
    CHECK(role_table(slices->scores()).scores[1].values[0] == table.scores[1].values[0]);
    CHECK_FALSE(RepeatedTokens::start(*model, config.context, 1, 0, 5));
}

TEST_CASE("the two scores that spread most are wide and not in the same order") {
    // Deviations relative to the largest: 0.37, 0.37, 0.35 and 0.06.
    const std::vector<double> a{0, 1, 2, 3, 4}, b{0, 10, 20, 30, 40}, c{4, 1, 5, 2, 3}, d{9, 10, 9, 10, 9};
    CHECK(widest_pair({a, b, c, d}) == std::array<std::size_t, 2>{0, 2});  // a and b have the same order
    CHECK(widest_pair({d, c}) == std::array<std::size_t, 2>{1, 0});        // the wider one comes first
    CHECK_FALSE(widest_pair({a, b}));
    CHECK_FALSE(widest_pair({a, {1, 1, 1, 1, 1}}));
    CHECK_FALSE(widest_pair({{1, 2}, {2, 1}}));
    CHECK_FALSE(widest_pair({}));
}
