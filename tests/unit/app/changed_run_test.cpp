// Tests that explanations of a run under interventions end in the run's numbers, and mention the change.
#include <cmath>

#include "subjects/explain.hpp"
#include "support/small_families.hpp"
#include "unit/app/calculated.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

const std::vector<std::string> eight_words{"a", "b", "c", "d", "e", "f", "g", "h"};

}  // namespace

TEST_CASE("explanations of a changed run end at the run's numbers, in every family") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = run_text(model, {3, 1, 4, 1, 5, 9, 2, 6});
        REQUIRE(trace);
        for (Index attention = 0; attention < (*trace)->attentions(); ++attention) {
            std::vector<Intervention> changes;
            const auto change = [&](Site site, Operation operation, std::vector<float> values = {}) {
                changes.push_back(
                    {.attention = attention,
                     .site = site,
                     .edit = {.rows = {3}, .operation = operation, .values = std::move(values)}});
            };
            change(Site::resid_pre, Operation::scale, {0.5f});
            change(Site::q, Operation::add, {0.25f});
            change(Site::k, Operation::set, {0.5f});
            change(Site::v, Operation::mean);
            change(Site::score, Operation::scale, {2});
            change(Site::weight, Operation::scale, {0.5f});
            change(Site::head_output, Operation::add, {1});
            change(Site::attention_output, Operation::zero);
            change(Site::resid_mid, Operation::scale, {3});
            change(Site::mlp_output, Operation::add, {-1});
            change(Site::resid_post, Operation::scale, {0.25f});
            auto forward = ForwardPass::start_with(changes, *trace);
            REQUIRE(forward);
            const auto changed = forward->finish();
            REQUIRE(changed);
            const auto text = std::make_shared<const ReadText>(eight_words, "a b c d e f g h");
            const auto read = std::make_shared<const ReadText>(
                std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g", "h", "i"}, "a b c d e f g h i");
            TextRun whole(*changed, text, (*trace)->encoder() ? read : nullptr, "tiny");
            const TextRun& run = whole.of(attention);
            const auto told = [&](Stage stage, Index row) {
                const auto why =
                    explain_run_cell(run, {attention, 1}, {.stage = stage, .row = row, .col = 2}, {});
                CAPTURE(attention, symbol(stage), row);
                REQUIRE(why);
                // The bound of operands_test.cpp; a norm after a change may magnify its rounding.
                CHECK((why->masked || std::abs(why->f32 - why->f64) <= 1e-5 * (1 + std::abs(why->f64))));
                check_calculated(*why);
                return std::ranges::any_of(why->steps, [](const Explained::Step& step) {
                    return step.arithmetic.find("from ") != std::string::npos;
                });
            };
            for (const Stage stage :
                 {Stage::resid_pre, Stage::q, Stage::k, Stage::v, Stage::weight, Stage::output,
                  Stage::attention_output, Stage::resid_mid, Stage::mlp_output}) {
                CAPTURE(symbol(stage));
                CHECK(told(stage, 3));
                CHECK_FALSE(told(stage, 1));
            }
            told(Stage::final_residual, 3);
            const auto weight =
                explain_run_cell(run, {attention, 1}, {.stage = Stage::weight, .row = 3, .col = 2}, {});
            REQUIRE(weight);
            CHECK(weight->note.starts_with("Changed here: score × 2; weight × 0.5."));
        }
    }
}
