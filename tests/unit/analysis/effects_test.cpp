#include "analysis/attribution/effects.hpp"

#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const LogitLoss seven_over_three{.raise = 7, .over = 3};
// Runs in slices of one token, or all at once.
const double one_token = 1, in_one_go = std::numeric_limits<double>::infinity();

std::shared_ptr<const Trace> read_by(const std::shared_ptr<const Model>& model) {
    const auto trace = run_text(model, {3, 1, 4, 1, 5, 9, 2, 6});
    REQUIRE(trace);
    return *trace;
}

template <class Job>
std::vector<double> all_of(Result<Job> job) {
    INFO((job ? "" : job.error().message));
    REQUIRE(job);
    float progress = 0;
    while (job->step()) {
        CHECK(job->progress() >= progress);
        progress = job->progress();
    }
    CHECK(job->progress() == 1);
    return {job->effects().begin(), job->effects().end()};
}

double target_of(const Trace& trace) {
    return loss_of(trace.logits({trace.tokens() - 1, trace.tokens()}).values(), seven_over_three);
}

}  // namespace

TEST_CASE("the effect of a head matches its own run, in every family", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = read_by(model);
        const auto variants = without_heads(*trace, Operation::zero);
        REQUIRE(std::ssize(variants) == trace->attentions() * model->config().heads);
        const auto effects = all_of(AblationEffects::start(trace, seven_over_three, variants, in_one_go));
        CHECK(all_of(AblationEffects::start(trace, seven_over_three, variants, one_token)) == effects);
        // Repeats the run with kernels in double from the first layer on, so that only the run's own rounding
        // differs.
        const auto exact = trace->encoder() ? run_forward(model, encoded_ids, reference_kernels(), {},
                                                          {trace->ids().begin(), trace->ids().end()})
                                            : run_forward(model, {trace->ids().begin(), trace->ids().end()},
                                                          reference_kernels());
        REQUIRE(exact);
        const auto in_double = all_of(AblationEffects::start(*exact, seven_over_three, variants, in_one_go));
        for (std::size_t i = 0; i < effects.size(); ++i) CHECK(std::abs(effects[i] - in_double[i]) < 1e-4);
        // Patching everything from the same run has no effect, and new changes are added to earlier ones.
        for (const double effect : all_of(AblationEffects::start(
                 trace, seven_over_three, without_heads(*trace, Operation::patch, {trace}), in_one_go)))
            CHECK(effect == 0);
        const auto changed = ForwardPass::start_with(variants.front(), trace)->finish();
        REQUIRE(changed);
        CHECK(std::abs(target_of(**changed) - target_of(*trace) - effects.front()) < 1e-12);
        const auto twice =
            all_of(AblationEffects::start(*changed, seven_over_three, {variants.front()}, in_one_go));
        CHECK(twice.front() == 0);
    }
}

TEST_CASE("the effects of all edges into the last token together match individual runs, in every family",
          "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = read_by(small_model(family));
        for (Index attention = 0; attention < trace->attentions(); ++attention) {
            CAPTURE(attention);
            const HeadIndex head{attention, 1};
            auto at_once = LastEdgeEffects::start(trace, seven_over_three, head, in_one_go);
            const AttentionKind kind = trace->attention(attention).place.kind;
            REQUIRE(static_cast<bool>(at_once) ==
                    (family.causal && kind != AttentionKind::encoder && kind != AttentionKind::cross));
            if (!at_once) {
                CHECK_THAT(at_once.error().message, ContainsSubstring("both directions"));
                continue;
            }
            const Index last = trace->tokens() - 1;
            CHECK(std::ranges::equal(at_once->keys(), seen_keys(*trace, head, last)));
            const auto one_by_one = all_of(AblationEffects::start(
                trace, seven_over_three, without_edges(*trace, head, last), in_one_go));
            const auto effects = all_of(std::move(at_once)),
                       sliced = all_of(LastEdgeEffects::start(trace, seven_over_three, head, one_token));
            REQUIRE(effects.size() == one_by_one.size());
            REQUIRE(sliced.size() == effects.size());
            // Logits are within ±20; in a batch, a variant's own key is added in another order than in a run
            // of its own.
            for (std::size_t i = 0; i < effects.size(); ++i) {
                CHECK(std::abs(effects[i] - one_by_one[i]) < 1e-4);
                CHECK(std::abs(effects[i] - sliced[i]) < 1e-4);
            }
        }
    }
}

TEST_CASE("a vector patched from another text has its run's effect, and from its own text none",
          "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = read_by(model);
        const auto twin = run_text(model, {3, 1, 7, 1, 5, 9, 2, 6});
        REQUIRE(twin);
        // The text itself, because an encoder reads another.
        const Index first = trace->encoder() ? trace->encoder()->attentions() : 0;
        const Range layers{first, first + std::ssize(trace->layers())}, tokens{1, 4};
        for (const Site site : {Site::resid_pre, Site::attention_output, Site::mlp_output}) {
            CAPTURE(info(site).name);
            const auto variants = with_patches(layers, tokens, site, *twin);
            REQUIRE(std::ssize(variants) == layers.size() * tokens.size());
            const auto effects = all_of(AblationEffects::start(trace, seven_over_three, variants, in_one_go));
            for (std::size_t i = 0; i < variants.size(); ++i) {
                const Index layer = layers.begin + static_cast<Index>(i) / tokens.size(),
                            token = tokens.begin + static_cast<Index>(i) % tokens.size();
                CHECK(variants[i].front().attention == layer);
                const ConstMatrix there = numbers_at(**twin, layer, site).head(0);
                Intervention set = variants[i].front();
                set.from.clear();
                set.edit.operation = Operation::set;
                set.edit.values.assign(there.row(token), there.row(token) + there.cols);
                const auto changed = ForwardPass::start_with({set}, trace)->finish();
                REQUIRE(changed);
                CHECK(std::abs(target_of(**changed) - target_of(*trace) - effects[i]) < 1e-12);
            }
            for (const double effect : all_of(AblationEffects::start(
                     trace, seven_over_three, with_patches(layers, tokens, site, trace), in_one_go)))
                CHECK(effect == 0);
        }
    }
}

TEST_CASE("effects that cannot be computed are refused in one sentence", "[analysis]") {
    const auto trace = read_by(small_model(small_families.front()));
    CHECK(AblationEffects::start(trace, {.raise = 20, .over = {}}, {}).error().message ==
          "Token 20 is outside the vocabulary of 20.");
    CHECK_THAT(AblationEffects::start(trace, seven_over_three, {{{.attention = 9}}}).error().message,
               ContainsSubstring("no attention 9"));
    CHECK(all_of(AblationEffects::start(trace, seven_over_three, {})).empty());
    CHECK_THAT(LastEdgeEffects::start(trace, seven_over_three, {0, 2}).error().message,
               ContainsSubstring("no head 2"));
    CHECK_THAT(LastEdgeEffects::start(trace, {.raise = 1, .over = {}, .row = 2}, {0, 0}).error().message,
               ContainsSubstring("changes no logits before it"));
    const auto changed = ForwardPass::start_with({{.attention = 0}}, trace)->finish();
    REQUIRE(changed);
    CHECK_THAT(LastEdgeEffects::start(*changed, seven_over_three, {0, 0}).error().message,
               ContainsSubstring("was changed"));
}

TEST_CASE("an ablated token equals one hidden by the model's own mask, in every family", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = read_by(model);
        const auto variants = without_tokens(*trace, 7);
        const Index encoded = trace->encoder() ? trace->encoder()->tokens() : 0;
        REQUIRE(std::ssize(variants) == trace->tokens() + encoded);
        const auto effects = all_of(AblationEffects::start(trace, seven_over_three, variants, in_one_go));
        if (trace->encoder()) continue;
        for (const Index token : {Index{0}, Index{4}, Index{7}}) {
            std::vector<std::uint8_t> others(static_cast<std::size_t>(trace->tokens()), 1);
            others[static_cast<std::size_t>(token)] = 0;
            // The model's layers have windows of their own, so a mask in their place does not fit all of
            // them.
            const bool windowed = std::ranges::any_of(model->network().blocks,
                                                      [](const Block& each) { return each.window > 0; });
            if (windowed) continue;
            const Mask hidden = mask_of(model->network().blocks.front()) & Mask::painted({1, 1, 8, others});
            auto forward = ForwardPass::start_under(hidden, model, {trace->ids().begin(), trace->ids().end()},
                                                    trace->kernels());
            REQUIRE(forward);
            const auto without = forward->finish();
            REQUIRE(without);
            CHECK(std::abs(effects[static_cast<std::size_t>(token)] -
                           (target_of(**without) - target_of(*trace))) < 1e-5);
        }
    }
    const auto model = small_model(small_families.front());
    CHECK(without_tokens(*read_by(model), 3).size() == 4);
}
