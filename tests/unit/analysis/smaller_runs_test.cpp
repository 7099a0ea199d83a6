#include "analysis/heads/smaller_runs.hpp"

#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("a smaller cache has the nearest setting that exists, and keeps so many numbers") {
    const auto model = small_model({"llama", R"({"model_type": "llama", "vocab_size": 20,
        "max_position_embeddings": 16, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 4, "intermediate_size": 24})"});
    const auto trace = run_text(model, {3, 1, 4, 1, 5});
    REQUIRE(trace);
    const SmallerRuns shared(*trace, 4);
    CHECK(shared.shares());
    CHECK(shared.factored());
    CHECK(shared.settings() == std::vector<Index>{2, 1});
    for (const auto& [asked, nearest] :
         {std::pair<Index, Index>{0, 2}, {1, 1}, {2, 2}, {3, 2}, {4, 0}, {100, 0}})
        CHECK(shared.nearest(asked) == nearest);
    CHECK(shared.kept(0) == 2 * 2 * 4 * 4);
    CHECK(shared.kept(1) == 2 * 2 * 4);

    SmallerRuns latent(*trace, 4, std::make_shared<LatentFactors>(model));
    CHECK_FALSE(latent.shares());
    CHECK(latent.settings() == std::vector<Index>{1, 2, 4, 8, 16});
    for (const auto& [asked, nearest] : {std::pair<Index, Index>{0, 8}, {5, 5}, {5000, 16}})
        CHECK(latent.nearest(asked) == nearest);
    CHECK(latent.kept(5) == 2 * 5);
    while (latent.step(5)) continue;
    CHECK(latent.factored());
    for (const Index setting : {0, 1, 2, 4, 5, 8, 16}) CHECK(latent.at(setting));
    CHECK(latent.last_setting() == 5);
    CHECK(latent.at(16)->mean_change() < latent.at(5)->mean_change());
}
