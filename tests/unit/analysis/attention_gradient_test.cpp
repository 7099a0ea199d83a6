// Compares with the model run again, with more and with less weight on one key of a head.
#include "analysis/attribution/attention_gradient.hpp"

#include <algorithm>
#include <cmath>

#include "model/forward.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

namespace {

double logit_in(const Trace& trace, Index row, std::int32_t token) {
    return static_cast<double>(trace.logits({row, row + 1}).values()[static_cast<std::size_t>(token)]);
}

}  // namespace

TEST_CASE("attention × gradient predicts the effect of moving a weight, where that is meaningful",
          "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        const std::string_view name = family.name;
        if (name != "gpt2" && name != "llama" && name != "gemma2" && name != "bert" && name != "t5") continue;
        CAPTURE(name);
        const auto trace = *run_text(small_model(family), {3, 1, 4, 1});
        constexpr Index row = 2;
        constexpr std::int32_t token = 7;
        TokenShares expected(*trace);
        for (Index number = 0; number < trace->attentions(); ++number) {
            const LayerAttention of = trace->attention(number);
            const Record& record = of.record();
            for (Index head = 0; head < record.heads(); ++head)
                for (Index query = 0; query < record.queries(); ++query)
                    for (Index key = 0; key < record.keys(); ++key) {
                        const auto weight = static_cast<double>(record.cell(Stage::weight, head, query, key));
                        if (weight == 0) continue;
                        // Computes ∂L/∂A by a central difference: the head's output gains h · V[key].
                        const float* given = record.output().heads().head(head).row(query);
                        const float* v = record.v().heads().head(record.kv_head(head)).row(key);
                        constexpr float h = 1.0f / 64;
                        const auto moved = [&](float by) {
                            std::vector<float> values(given, given + record.d_v());
                            for (std::size_t b = 0; b < values.size(); ++b) values[b] += by * v[b];
                            const Intervention set{.attention = number,
                                                   .site = Site::head_output,
                                                   .edit = {.head = head,
                                                            .rows = {query},
                                                            .operation = Operation::set,
                                                            .values = std::move(values)}};
                            auto forward = ForwardPass::start_with({set}, trace);
                            REQUIRE(forward);
                            return logit_in(**forward->finish(), row, token);
                        };
                        const double slope = (moved(h) - moved(-h)) / (2 * static_cast<double>(h));
                        expected.keys_of(of.place.kind)[static_cast<std::size_t>(key)] +=
                            weight * std::max(slope, 0.0);
                    }
        }
        auto gradient = AttentionGradient::start(trace, row, token, 1);
        REQUIRE(gradient);
        while (gradient->step()) continue;
        // Logits in f32 are off by about 1e-6, which over 2h is 3e-5 of each gradient; h² also leaves a third
        // derivative.
        CHECK(gradient->total() == Catch::Approx(expected.total()).epsilon(5e-3));
        CHECK(gradient->shares().total() == Catch::Approx(1).epsilon(1e-12));
        const auto agree = [&](const std::vector<double>& got, const std::vector<double>& wanted) {
            REQUIRE(got.size() == wanted.size());
            for (std::size_t i = 0; i < got.size(); ++i)
                CHECK(got[i] == Catch::Approx(wanted[i] / expected.total()).margin(5e-3));
        };
        agree(gradient->shares().own, expected.own);
        agree(gradient->shares().encoded, expected.encoded);
        if (trace->network().causal) CHECK(gradient->shares().own[3] == 0);
        double sum = 0;
        for (Index number = 0; number < trace->attentions(); ++number)
            for (const double each : gradient->keys_of(number)) sum += each;
        CHECK(sum == Catch::Approx(gradient->total()).epsilon(1e-12));
    }
    const auto trace = *run_text(small_model(small_families.front()), {3, 1});
    CHECK_FALSE(AttentionGradient::start(trace, 0, 20));
    CHECK_FALSE(AttentionGradient::start(trace, 2, 3));
}
