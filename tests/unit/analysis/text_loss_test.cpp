#include "analysis/text_loss.hpp"

#include <cmath>

#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("the loss of a text is the mean of −ln p of its tokens, in every family", "[analysis]") {
    const std::vector<std::int32_t> ids{3, 1, 4, 1, 5, 9, 2, 6};
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = run_text(small_model(family), ids);
        REQUIRE(trace);
        const Tensor logits = (*trace)->logits({0, 8});
        double sum = 0;
        const Index rows = family.causal ? 7 : 8;
        std::vector<double> expected;
        for (Index row = 0; row < rows; ++row) {
            const auto at = [&](Index id) { return static_cast<double>(logits.matrix()(row, id)); };
            double all = 0;
            for (Index id = 0; id < 20; ++id) all += std::exp(at(id));
            const std::int32_t own = ids[static_cast<std::size_t>(family.causal ? row + 1 : row)];
            expected.push_back(std::log(all) - at(own));
            sum += expected.back();
        }
        // In slices of a few tokens of the vocabulary, and all at once.
        for (const double slice : {1.0, 1e9}) {
            TextLoss loss(*trace, slice);
            double progress = 0;
            while (loss.step()) {
                CHECK(loss.progress() >= progress);
                progress = loss.progress();
            }
            CHECK(loss.done());
            CHECK(loss.progress() == 1);
            REQUIRE(loss.rows() == rows);
            for (Index row = 0; row < rows; ++row)
                CHECK(loss.losses()[static_cast<std::size_t>(row)] ==
                      Catch::Approx(expected[static_cast<std::size_t>(row)]).epsilon(1e-5));
            CHECK(loss.value() == Catch::Approx(sum / static_cast<double>(rows)).epsilon(1e-5));
        }
    }
}

TEST_CASE("a text of one token has no next token, and so no loss", "[analysis]") {
    const auto trace = run_text(small_model(small_families.front()), {3});
    REQUIRE(trace);
    TextLoss loss(*trace);
    CHECK(loss.done());
    CHECK_FALSE(loss.step());
    CHECK(loss.rows() == 0);
    CHECK(std::isnan(loss.value()));
    CHECK(loss.progress() == 1);
}

TEST_CASE("a text with more rows than a slice is read to its end", "[analysis]") {
    const SmallFamily wide{"gpt2",
                           R"({"model_type": "gpt2", "vocab_size": 150, "n_positions": 100, "n_embd": 8,
        "n_layer": 1, "n_head": 2})"};
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < 90; ++i) ids.push_back(i * 37 % 150);
    const auto trace = run_text(small_model(wide), ids);
    REQUIRE(trace);
    TextLoss slow(*trace, 1), fast(*trace);
    while (slow.step()) continue;
    while (fast.step()) continue;
    REQUIRE(slow.losses().size() == 89);
    for (std::size_t i = 0; i < 89; ++i)
        CHECK(slow.losses()[i] == Catch::Approx(fast.losses()[i]).epsilon(1e-12));
}
