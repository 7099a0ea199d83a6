// Checks that numbers of a run are recomputed in double from their inputs and from the weights in the files.
#include "model/explain.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "model/forward.hpp"
#include "unit/model/models.hpp"

using namespace attn;
using namespace attn::test;

namespace {

std::shared_ptr<const Trace> run_of(const std::string& name) {
    const auto trace = run_forward(load(golden_folder(name)), {1, 4, 2, 3, 4});
    REQUIRE(trace);
    return *trace;
}

// The bound is a few roundings of f32 relative to the sum of the terms' magnitudes.
double size_of(const LinearSum& sum) {
    double size = std::abs(sum.bias);
    for (const Term& term : sum.terms) size += std::abs(term.product());
    return size;
}

}  // namespace

TEST_CASE("a query component of GPT-2 is the normalised residual times c_attn, in double") {
    const auto trace = run_of("gpt2-f32");
    const Model& model = *trace->model();
    const Index d = model.config().d_model, heads = model.config().heads, d_k = model.config().head_dim;
    const Tensor w = to_tensor(*model.weight("h.1.attn.c_attn.weight")),
                 bias = to_tensor(*model.weight("h.1.attn.c_attn.bias"));
    const LayerTrace& layer = trace->layers()[1];
    int other_bits = 0;
    for (const Stage stage : {Stage::q, Stage::k, Stage::v})
        for (Index head = 0; head < heads; ++head)
            for (Index token = 0; token < trace->tokens(); ++token)
                for (Index a = 0; a < d_k; ++a) {
                    const Index part = stage == Stage::q ? 0 : stage == Stage::k ? 1 : 2;
                    const Index column = (part * heads + head) * d_k + a;
                    double sum = static_cast<double>(bias.values()[static_cast<std::size_t>(column)]);
                    for (Index b = 0; b < d; ++b)
                        sum += static_cast<double>(layer.attention_input.matrix()(token, b)) *
                               static_cast<double>(w.matrix()(b, column));
                    const VectorComponent why = explain_component(*trace, stage, 1, head, token, a);
                    CHECK(why.value() == Catch::Approx(sum).epsilon(1e-14).margin(1e-15));
                    const Tensor& run = stage == Stage::q   ? layer.attention.q()
                                        : stage == Stage::k ? layer.attention.k()
                                                            : layer.attention.v();
                    const auto f32 = static_cast<double>(run.heads().head(head)(token, a));
                    CHECK(std::abs(why.value() - f32) <= 1e-6 * size_of(why.own));
                    other_bits += why.value() != f32;
                }
    // A mere cast of the run's numbers would have the same bits.
    CHECK(other_bits > 50);
}

TEST_CASE("components of all families agree with the run, rotated or not") {
    for (const char* name : {"gpt2-untied-f16", "llama-sharded-bf16", "llama3-scaled-f32",
                             "mistral-window-f16", "qwen2-linear-f32"}) {
        INFO(name);
        const auto trace = run_of(name);
        const ModelConfig& config = trace->model()->config();
        const bool turns = !trace->model()->network().rotary.empty();
        for (const Stage stage : {Stage::q, Stage::k, Stage::v}) {
            const Record& record = trace->layers()[0].attention;
            const Tensor& run = stage == Stage::q ? record.q() : stage == Stage::k ? record.k() : record.v();
            for (Index head = 0; head < run.dim(0); ++head)
                for (Index token = 0; token < trace->tokens(); ++token)
                    for (Index a = 0; a < config.head_dim; ++a) {
                        const VectorComponent why = explain_component(*trace, stage, 0, head, token, a);
                        CHECK((why.partner_component >= 0) == (turns && stage != Stage::v));
                        CHECK(std::abs(why.value() - static_cast<double>(run.heads().head(head)(token, a))) <=
                              1e-6 * (size_of(why.own) + size_of(why.partner)));
                    }
        }
    }
}

TEST_CASE("norms are recomputed from the residual") {
    for (const char* name : {"gpt2-f32", "llama3-scaled-f32"}) {
        INFO(name);
        const auto trace = run_of(name);
        const LayerTrace& layer = trace->layers()[1];
        const Norm& norm = *trace->model()->network().blocks[1].attention_norm;
        const Index d = layer.resid_pre.dim(1);
        for (Index token = 0; token < trace->tokens(); ++token) {
            double mean = 0, square = 0;
            const float* x = layer.resid_pre.matrix().row(token);
            for (Index c = 0; c < d; ++c) mean += static_cast<double>(x[c]) / static_cast<double>(d);
            if (norm.kind == Norm::Kind::rms) mean = 0;
            for (Index c = 0; c < d; ++c)
                square += std::pow(static_cast<double>(x[c]) - mean, 2) / static_cast<double>(d);
            for (Index c = 0; c < d; ++c) {
                const Normalised why = explain_norm(norm, {x, static_cast<std::size_t>(d)}, c);
                CHECK(why.variance == Catch::Approx(square).epsilon(1e-13));
                CHECK(std::abs(why.value() - static_cast<double>(layer.attention_input.matrix()(token, c))) <=
                      1e-5 * (1 + std::abs(why.value())));
            }
        }
    }
}

TEST_CASE("a weight is found in its file") {
    const auto trace = run_of("llama-sharded-bf16");
    const Model& model = *trace->model();
    const WeightView& up = model.network().blocks[0].mlp.up.weight;
    const StoredAt at = stored_at(model, up, 3, 5);
    REQUIRE(at.weight);
    CHECK(at.weight->name == "layers.0.mlp.up_proj.weight");
    CHECK(at.byte == at.weight->offset + static_cast<std::size_t>(5 * up.in + 3) * 2);
    CHECK(element(up, 3, 5) == static_cast<double>(to_tensor(*at.weight).matrix()(5, 3)));
}
