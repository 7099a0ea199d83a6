#include "analysis/attribution/edge_estimates.hpp"

#include <cmath>
#include <tuple>

#include "analysis/attribution/effects.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const LogitLoss five_over_two{.raise = 5, .over = 2};

EdgeEstimates estimated(const std::shared_ptr<const Trace>& trace, const HeadIndex& head,
                        double slice_operations = 400e6) {
    auto begun = EdgeEstimates::start(trace, five_over_two, head, slice_operations);
    INFO((begun ? "" : begun.error().message));
    REQUIRE(begun);
    float progress = 0;
    while (begun->step()) {
        CHECK(begun->progress() >= progress);
        progress = begun->progress();
    }
    CHECK(begun->progress() == 1);
    CHECK(begun->done());
    return *std::move(begun);
}

std::vector<float> output_of(const Trace& trace, const HeadIndex& head, Index query) {
    const ConstMatrix output = trace.attention(head.layer).record().output().heads().head(head.head);
    return {output.row(query), output.row(query) + output.cols};
}

}  // namespace

TEST_CASE("an edge's estimate is the change of the head's output times its gradient, in every family",
          "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = run_text(small_model(family), {3, 1, 4, 1, 5, 9, 2, 6});
        REQUIRE(trace);
        auto gradient = LogitGradient::start(*trace, five_over_two);
        REQUIRE(gradient);
        while (gradient->step(0)) continue;
        for (Index layer = 0; layer < (*trace)->attentions(); ++layer) {
            const HeadIndex head{layer, 1};
            const EdgeEstimates estimates = estimated(*trace, head);
            const Record& record = (*trace)->attention(layer).record();
            std::vector<EdgeEstimates::Edge> all;
            for (Index query = 0; query < record.queries(); ++query) {
                const std::vector<EdgeTerms> terms = estimates.row(query);
                const std::vector<Index> seen = seen_keys(**trace, head, query);
                CHECK(std::ranges::count(terms, true, &EdgeTerms::seen) == std::ssize(seen));
                const std::vector<float> before = output_of(**trace, head, query);
                for (const Index key : seen) {
                    CAPTURE(layer, query, key);
                    const double estimate = terms[static_cast<std::size_t>(key)].effect();
                    all.push_back({query, key, estimate});
                    const auto cut =
                        ForwardPass::start_with(without_edge(head, query, key), *trace)->finish();
                    REQUIRE(cut);
                    const std::vector<float> after = output_of(**cut, head, query);
                    const float* slopes = gradient->heads(layer)->heads().head(head.head).row(query);
                    double moved = 0;
                    for (std::size_t b = 0; b < after.size(); ++b)
                        moved += static_cast<double>(slopes[b]) *
                                 (static_cast<double>(after[b]) - static_cast<double>(before[b]));
                    // Outputs of up to 3 are off by a few 1e-7 in f32, and the gradients are up to 20.
                    CHECK(std::abs(estimate - moved) < 1e-4);
                }
            }
            // The strongest of all edges, in order; fewer than a hundred, because a text of 8 has 36 or 64
            // edges.
            std::ranges::sort(all, {}, [](const auto& each) {
                return std::tuple(-std::abs(each.effect), each.query, each.key);
            });
            REQUIRE(estimates.strongest().size() == std::min<std::size_t>(all.size(), 100));
            for (std::size_t i = 0; i < estimates.strongest().size(); ++i) {
                CHECK(estimates.strongest()[i].query == all[i].query);
                CHECK(estimates.strongest()[i].key == all[i].key);
                CHECK(estimates.strongest()[i].effect == all[i].effect);
            }
        }
    }
}

TEST_CASE("estimates do not depend on the slices", "[analysis]") {
    const auto trace = run_text(small_model(small_families.front()), {3, 1, 4, 1, 5, 9, 2, 6});
    REQUIRE(trace);
    const HeadIndex head{1, 0};
    const EdgeEstimates whole = estimated(*trace, head), sliced = estimated(*trace, head, 1);
    for (std::size_t i = 0; i < whole.strongest().size(); ++i)
        CHECK(whole.strongest()[i].effect == sliced.strongest()[i].effect);
    // In the last layer, the output for an earlier token does not reach the last token's logits.
    for (const EdgeTerms& each : whole.row(3)) CHECK(each.effect() == 0);
}

TEST_CASE("edges that cannot be estimated are refused in one sentence", "[analysis]") {
    const auto trace = run_text(small_model(small_families.front()), {3, 1, 4});
    REQUIRE(trace);
    CHECK(EdgeEstimates::start(*trace, five_over_two, {0, 2}).error().message ==
          "There is no head 2 in attention 0.");
    CHECK_FALSE(EdgeEstimates::start(*trace, {.raise = 99, .over = {}}, {0, 0}));
    const auto with = [&](Site site, Operation operation) {
        return *ForwardPass::start_with(
                    {{.attention = 0, .site = site, .edit = {.head = 0, .operation = operation}}}, *trace)
                    ->finish();
    };
    for (const auto& changed : {with(Site::weight, Operation::zero), with(Site::score, Operation::mean)}) {
        CHECK_THAT(EdgeEstimates::start(changed, five_over_two, {0, 0}).error().message,
                   ContainsSubstring("can be cut, but not estimated"));
        CHECK(EdgeEstimates::start(changed, five_over_two, {0, 1}));
    }
    CHECK(EdgeEstimates::start(with(Site::head_output, Operation::zero), five_over_two, {0, 0}));
}
