#include "analysis/heads/head_similarity.hpp"

#include <cmath>

#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

namespace {

HeadSimilarity all_compared(const std::shared_ptr<const Trace>& trace, Range attentions) {
    HeadSimilarity made(trace, attentions);
    double progress = 0;
    while (made.step()) {
        CHECK(made.progress() >= progress);
        progress = made.progress();
    }
    CHECK(made.done());
    return made;
}

// Computes √JSD in bits by its definition: ½ KL(p ‖ m) + ½ KL(q ‖ m).
double distance_by_hand(std::span<const float> p, std::span<const float> q) {
    double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const auto a = static_cast<double>(p[i]), b = static_cast<double>(q[i]), m = (a + b) / 2;
        if (a > 0) sum += a * std::log2(a / m) / 2;
        if (b > 0) sum += b * std::log2(b / m) / 2;
    }
    return std::sqrt(std::max(0.0, sum));
}

}  // namespace

TEST_CASE("the Jensen–Shannon distance of rows lies between 0 and 1", "[analysis]") {
    const std::vector<float> a{1, 0, 0}, b{0, 0.5f, 0.5f}, c{0.5f, 0.25f, 0.25f};
    CHECK(jensen_shannon_distance(a, a) == 0);
    CHECK(jensen_shannon_distance(a, b) == Catch::Approx(1));
    CHECK(jensen_shannon_distance(a, c) == Catch::Approx(distance_by_hand(a, c)).epsilon(1e-12));
    CHECK(jensen_shannon_distance(a, c) == jensen_shannon_distance(c, a));
    // The triangle inequality of a metric.
    CHECK(jensen_shannon_distance(a, b) <= jensen_shannon_distance(a, c) + jensen_shannon_distance(c, b));
}

TEST_CASE("the similarity of heads follows from their rows and their outputs, in every family",
          "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        const auto trace = run_text(small_model(family), {3, 1, 4, 1, 5, 9, 2, 6});
        REQUIRE(trace);
        const Trace& run = **trace;
        const Index last = run.attentions() - 1;
        const bool two_texts = run.encoder() != nullptr;
        for (const Range attentions : {Range{0, two_texts ? 1 : run.attentions()}, Range{last, last + 1}}) {
            CAPTURE(family.name, attentions.begin);
            const HeadSimilarity alike = all_compared(*trace, attentions);
            const Record& of = run.attention(attentions.begin).record();
            REQUIRE(alike.heads() == attentions.size() * of.heads());
            const bool looks_back = of.spec().mask.allows(0, 0, 0) && !of.spec().mask.allows(0, 0, 1);
            CHECK(alike.rows() == of.queries() - (looks_back ? 1 : 0));
            for (Index a = 0; a < alike.heads(); ++a) {
                CHECK(alike.of_maps(a, a) == Catch::Approx(1));
                CHECK(alike.of_outputs(a, a) == Catch::Approx(1));
                for (Index b = 0; b < a; ++b) {
                    const HeadIndex one = alike.head(a), other = alike.head(b);
                    double distances = 0, cosines = 0;
                    for (const Index row : alike.taken()) {
                        distances +=
                            distance_by_hand(run.attention(one.layer).record().weights(one.head, row),
                                             run.attention(other.layer).record().weights(other.head, row));
                        const Tensor x = run.head_contribution(one.layer, one.head, {row, row + 1}),
                                     y = run.head_contribution(other.layer, other.head, {row, row + 1});
                        double xy = 0, xx = 0, yy = 0;
                        for (std::size_t i = 0; i < x.values().size(); ++i) {
                            const auto p = static_cast<double>(x.values()[i]),
                                       q = static_cast<double>(y.values()[i]);
                            xy += p * q;
                            xx += p * p;
                            yy += q * q;
                        }
                        cosines += xy / std::sqrt(xx * yy);
                    }
                    const auto rows = static_cast<double>(alike.rows());
                    // Weights in f32 add up to 1 except for rounding, whose square root shows in a distance
                    // near 0.
                    CHECK(alike.of_maps(a, b) == Catch::Approx(1 - distances / rows).margin(1e-3));
                    CHECK(alike.of_outputs(a, b) == Catch::Approx(cosines / rows).margin(1e-6));
                    CHECK(alike.of_maps(b, a) == alike.of_maps(a, b));
                }
                const bool one_text =
                    &run.attention(attentions.begin).queries == &run.attention(attentions.begin).keys;
                CHECK(std::isnan(alike.local(a)) == !one_text);
                CHECK((alike.uniform(a) > 0 && alike.uniform(a) <= 1 + 1e-6));
            }
        }
    }
}

TEST_CASE("rows that see a single key cannot be compared; for a long text rows are chosen evenly",
          "[analysis]") {
    const auto one = run_text(small_model(small_families.front()), {3});
    REQUIRE(one);
    const HeadSimilarity nothing = all_compared(*one, {0, 1});
    CHECK(nothing.rows() == 0);
    CHECK(std::isnan(nothing.of_maps(0, 1)));
    const SmallFamily longer{"gpt2",
                             R"({"model_type": "gpt2", "vocab_size": 20, "n_positions": 300, "n_embd": 8,
        "n_layer": 1, "n_head": 2})"};
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < 300; ++i) ids.push_back(i * 7 % 20);
    const auto trace = run_text(small_model(longer), ids);
    REQUIRE(trace);
    const HeadSimilarity some = all_compared(*trace, {0, 1});
    REQUIRE(some.rows() <= 128);
    CHECK(some.rows() >= 64);
    for (std::size_t i = 1; i < some.taken().size(); ++i)
        CHECK(some.taken()[i] - some.taken()[i - 1] == some.taken()[1] - some.taken()[0]);
}
