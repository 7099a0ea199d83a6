// Tests a run in double precision: against PyTorch's in float64, which tests/golden/model/generate.py rounded
// to f32 once, and against the run in f32 for every family.
#include "model/double_run.hpp"

#include <cmath>

#include "model/forward.hpp"
#include "models.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// A deviation up to this comes from rounding the same number to f32.
constexpr double rounding = 0x1p-24 * (1 + 1e-6);

struct KeptStage {
    const char* name;  // in a Trace, after "layers.0."
    Stage stage;
    bool of_heads = false;
};
constexpr KeptStage kept_stages[] = {{"residual_in", Stage::resid_pre},
                                     {"attention_input", Stage::attention_input},
                                     {"attention.q", Stage::q, true},
                                     {"attention.k", Stage::k, true},
                                     {"attention.v", Stage::v, true},
                                     {"attention.output", Stage::output, true},
                                     {"attention_output", Stage::attention_output},
                                     {"attention_between", Stage::attention_between},
                                     {"residual_middle", Stage::resid_mid},
                                     {"mlp_input", Stage::mlp_input},
                                     {"expert_weights", Stage::expert_weight},
                                     {"mlp_hidden", Stage::mlp_hidden},
                                     {"mlp_output", Stage::mlp_output},
                                     {"mlp_between", Stage::mlp_between}};

void finish(DoubleRun& run) {
    while (run.step()) continue;
    CHECK(run.done());
    CHECK(run.progress() == Catch::Approx(1));
}

// Passes each number of a tensor to the callback, together with that of the double run.
void compare(const DoubleRun& run, Index attention, const KeptStage& kept, const Tensor& tensor,
             const std::function<void(double exact, double shown)>& check) {
    const Record& record = run.run()->attention(attention).record();
    const bool of_kv = kept.stage == Stage::k || kept.stage == Stage::v;
    const Index heads = kept.of_heads ? tensor.dim(0) : 1, group = of_kv ? record.heads() / heads : 1;
    for (Index head = 0; head < heads; ++head) {
        const ConstMatrix rows = kept.of_heads ? tensor.heads().head(head) : tensor.matrix();
        for (Index row = 0; row < rows.rows; ++row)
            for (Index col = 0; col < rows.cols; ++col) {
                const auto exact = run.value(attention, kept.stage, head * group, row, col);
                REQUIRE(exact);
                check(*exact, static_cast<double>(rows(row, col)));
            }
    }
}

}  // namespace

TEST_CASE("the double run matches PyTorch's in float64, to the last bit of an f32", "[golden][model]") {
    for (const char* name : {"gpt2-f32", "gpt2-untied-f16", "llama-sharded-bf16", "llama3-scaled-f32",
                             "qwen2-linear-f32", "mistral-window-f16"}) {
        CAPTURE(name);
        const Bytes bytes = read_file(golden_folder(name) / "expect.safetensors");
        const auto file = parse_safetensors(bytes);
        REQUIRE(file);
        const auto expected = [&](const std::string& tensor) {
            auto found = file->tensor(tensor);
            REQUIRE(found);
            return *std::move(found);
        };
        std::vector<std::int32_t> ids;
        const Tensor given = expected("ids");
        for (const float id : given.values()) ids.push_back(static_cast<std::int32_t>(id));
        const auto trace = run_forward(load(golden_folder(name)), ids);
        REQUIRE(trace);
        REQUIRE(DoubleRun::repeats(**trace));
        DoubleRun run(*trace);
        finish(run);
        const auto same = [](double exact, double rounded) {
            if (std::abs(exact - rounded) > rounding * std::abs(exact) + 1e-45) CHECK(exact == rounded);
        };
        for (std::size_t layer = 0; layer < (*trace)->layers().size(); ++layer)
            for (const KeptStage& kept : kept_stages) {
                const std::string tensor = "layers." + std::to_string(layer) + "." + kept.name;
                CAPTURE(tensor);
                if (auto found = file->tensor(tensor))
                    compare(run, static_cast<Index>(layer), kept, *found, same);
                else
                    CHECK((kept.stage == Stage::attention_between || kept.stage == Stage::mlp_between ||
                           kept.stage == Stage::expert_weight));
            }
        compare(run, 0, {"final_residual", Stage::final_residual}, expected("final_residual"), same);
        compare(run, 0, {"final_norm", Stage::final_norm}, expected("final_norm"), same);
        compare(run, 0, {"logits", Stage::logit}, expected("logits"), same);
    }
}

TEST_CASE("the double run of every family equals its run without f32's roundings", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = run_text(small_model(family), {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8});
        REQUIRE(trace);
        REQUIRE(DoubleRun::repeats(**trace));
        DoubleRun run(*trace);
        finish(run);
        double most = 0;
        const auto near = [&](double exact, double f32) {
            // Some hundred roundings of f32, in numbers of up to a few tens.
            const double off = std::abs(exact - f32) / (1 + std::abs(exact));
            most = std::max(most, off);
            if (!(off < 2e-5)) CHECK(exact == f32);
        };
        for (Index attention = 0; attention < (*trace)->attentions(); ++attention) {
            CAPTURE(attention);
            const LayerAttention at = (*trace)->attention(attention);
            const LayerTrace& layer = at.queries.layers()[static_cast<std::size_t>(at.place.layer)];
            const Tensor* tensors[] = {
                &at.run.resid_pre,        &at.run.attention_input,   &at.record().q(),
                &at.record().k(),         &at.record().v(),          &at.record().output(),
                &at.run.attention_output, &at.run.attention_between, &layer.resid_mid,
                &layer.mlp_input,         &layer.expert_weights,     &layer.mlp_hidden,
                &layer.mlp_output,        &layer.mlp_between};
            for (std::size_t i = 0; i < std::size(kept_stages); ++i) {
                CAPTURE(kept_stages[i].name);
                if (tensors[i]->size() > 0) compare(run, attention, kept_stages[i], *tensors[i], near);
            }
            for (const Stage stage : {Stage::raw, Stage::scaled, Stage::masked, Stage::weight,
                                      Stage::contribution, Stage::exponential}) {
                CAPTURE(symbol(stage));
                for (Index key = 0; key < at.record().keys(); ++key) {
                    const auto exact = run.value(attention, stage, 1, 3, key);
                    REQUIRE(exact);
                    if (!std::isfinite(*exact)) continue;
                    const double shown = stage == Stage::exponential
                                             ? static_cast<double>(softmax_row(at.record(), 1, 3)
                                                                       .exponential(at.record().cell(
                                                                           Stage::masked, 1, 3, key)))
                                             : static_cast<double>(at.record().cell(stage, 1, 3, key));
                    near(*exact, shown);
                }
            }
            near(*run.value(attention, Stage::row_max, 1, 3, 0),
                 static_cast<double>(softmax_row(at.record(), 1, 3).max));
            CHECK_FALSE(run.value(attention, Stage::weight, 1, 99, 0));
            CHECK_FALSE(run.value(attention, Stage::q, 1, 0, 99));
            CHECK_FALSE(run.value(attention, Stage::w_q, 1, 0, 0));
        }
        const Network& network = (*trace)->network();
        const Index last = (*trace)->tokens() - 1;
        const Tensor logits = (*trace)->logits({last, last + 1});
        double sum = 0;
        for (Index id = 0; id < network.head.weight.out; ++id) {
            near(*run.value(0, Stage::logit, 0, last, id), static_cast<double>(logits.data()[id]));
            sum += run.probability(last, id);
        }
        CHECK(sum == Catch::Approx(1).epsilon(1e-12));
        CHECK(most > 1e-9);  // there is an error to show
    }
}

TEST_CASE("the double run has the mask and the interventions of its run, at every site of every family",
          "[model]") {
    constexpr std::array sites{Site::resid_pre, Site::q,           Site::k,
                               Site::v,         Site::score,       Site::mask,
                               Site::weight,    Site::head_output, Site::attention_output,
                               Site::resid_mid, Site::mlp_output,  Site::resid_post};
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = run_text(model, {3, 1, 4, 1, 5, 9, 2, 6});
        REQUIRE(trace);
        for (Index attention = 0; attention < (*trace)->attentions(); ++attention)
            for (const Site site : sites) {
                CAPTURE(attention, info(site).key);
                Intervention each{.attention = attention,
                                  .site = site,
                                  .edit = {.rows = {3, 4}, .columns = {1, 2}, .operation = Operation::scale}};
                each.edit.values = {-2};
                if (site == Site::mask) each.edit = {.rows = {3, 4}, .columns = {1, 2}};
                auto forward = ForwardPass::start_with({each}, *trace);
                REQUIRE(forward);
                const auto changed = forward->finish();
                REQUIRE(changed);
                DoubleRun run(*changed);
                finish(run);
                const auto rows = (*changed)->final_residual().matrix();
                const auto before = (*trace)->final_residual().matrix();
                double most = 0, moved = 0;
                for (Index row = 0; row < rows.rows; ++row)
                    for (Index col = 0; col < rows.cols; ++col) {
                        const double shown = static_cast<double>(rows(row, col));
                        const auto exact =
                            run.value((*trace)->attentions() - 1, Stage::final_residual, 0, row, col);
                        REQUIRE(exact);
                        most = std::max(most, std::abs(*exact - shown) / (1 + std::abs(shown)));
                        moved = std::max(moved, std::abs(shown - static_cast<double>(before(row, col))));
                    }
                CHECK(most < 5e-5);
                CHECK(moved > 1e-4);
            }
        if (!model->network().encoder) {
            auto forward = ForwardPass::start_under(Mask::everything(), model, {3, 1, 4, 1, 5, 9, 2, 6});
            REQUIRE(forward);
            const auto masked = forward->finish();
            REQUIRE(masked);
            DoubleRun run(*masked);
            finish(run);
            compare(run, 0, {"final_residual", Stage::final_residual}, (*masked)->final_residual(),
                    [](double exact, double f32) {
                        CHECK(std::abs(exact - f32) < 2e-5 * (1 + std::abs(exact)));
                    });
        }
    }
}
