// Tests attention with a mistake as a network learns with it: what it computes against ImplementationRun,
// which diagnoses the mistake, and its gradient against finite differences of that.
#include "analysis/check/mistaken_attention.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/check/mistakes.hpp"
#include "support/numbers.hpp"
#include "tensor/random.hpp"
#include "train/trainer.hpp"

using namespace attn;
using namespace attn::test;

namespace {

constexpr Index tokens = 8, width = 4;  // no tile of 4 leaves a remainder

AttentionCase with_numbers(AttentionCase shape, const Tensor& qkv) {
    const ConstMatrix from = qkv.matrix();
    Index column = 0;
    for (Array4* part : {&shape.q, &shape.k, &shape.v})
        for (Index h = 0; h < part->heads; ++h, column += part->cols)
            for (Index i = 0; i < part->rows; ++i)
                for (Index c = 0; c < part->cols; ++c)
                    part->row(0, h, i)[static_cast<std::size_t>(c)] =
                        static_cast<double>(from(i, column + c));
    return shape;
}

std::vector<double> outputs(const AttentionCase& given, const Implementation& how) {
    ImplementationRun run(given, how);
    std::vector<double> all;
    for (Index i = 0; i < given.queries(); ++i) {
        const auto row = run.merged_row(0, i);
        all.insert(all.end(), row.begin(), row.end());
    }
    return all;
}
double loss(const AttentionCase& given, const Implementation& how, std::span<const double> by) {
    const std::vector<double> all = outputs(given, how);
    double sum = 0;
    for (std::size_t e = 0; e < all.size(); ++e) sum += by[e] * all[e];
    return sum;
}

struct Made {
    std::string name;
    Implementation how;
};
std::vector<Made> all_made(const AttentionCase& shape) {
    std::vector<Made> all{{"right", right_implementation(shape)}};
    for (const Mistake& mistake : mistakes())
        for (const MistakeVariant& variant : mistake.variants(shape)) {
            Made made{std::string(mistake.key) + " " + variant.detail, right_implementation(shape)};
            variant.apply(made.how);
            if (made.how.inputs.swap == InputReading::Swap::none) all.push_back(std::move(made));
        }
    return all;
}

}  // namespace

TEST_CASE("a mistake in training computes what diagnoses compute, and its gradient is that of differences") {
    const Index kv_heads = GENERATE(2, 4);
    const AttentionCase shape = causal_case(4, kv_heads, tokens, width, 10000);
    const Tensor qkv = random_tensor({tokens, (4 + 2 * kv_heads) * width}, 11);
    const Tensor d_output = random_tensor({tokens, 4 * width}, 12);
    const std::vector<double> by(d_output.values().begin(), d_output.values().end());
    const std::vector<Made> all = all_made(shape);
    CHECK(all.size() > 35);
    int broken = 0;
    for (const auto& [name, how] : all) {
        CAPTURE(name, kv_heads);
        const MistakenAttention attention(shape, how);
        Tensor output({tokens, 4 * width});
        attention.forward(qkv.matrix(), output.matrix());
        const std::vector<double> right = outputs(with_numbers(shape, qkv), how);
        double off = 0, most = 0;
        bool finite = true;
        for (std::size_t e = 0; e < right.size(); ++e) {
            finite = finite && std::isfinite(right[e]);
            REQUIRE(std::isnan(right[e]) == std::isnan(output.values()[e]));
            if (!finite) continue;
            off = std::max(off, std::abs(static_cast<double>(output.values()[e]) - right[e]));
            most = std::max(most, std::abs(right[e]));
        }
        CHECK(off <= 1e-7 * most);  // outputs are rounded to f32 once
        if (!finite) {
            ++broken;
            continue;
        }
        Tensor d_qkv({tokens, (4 + 2 * kv_heads) * width});
        attention.backward(qkv.matrix(), d_output.matrix(), d_qkv.matrix());
        // The step's error is of order 1e-10, and the gradient is rounded to f32. A finite mask's value is
        // rounded to its format, which differences do not see through where that is not f64.
        const bool rounds =
            how.masking == Implementation::Masking::finite && how.mask_format != NumberFormat::f64;
        constexpr double step = 1e-5;
        double largest = 0, error = 0;
        AttentionCase moved = with_numbers(shape, qkv);
        Index column = 0;
        for (Array4* part : {&moved.q, &moved.k, &moved.v})
            for (Index h = 0; h < part->heads; ++h, column += width)
                for (Index i = 0; i < tokens; ++i)
                    for (Index c = 0; c < width; ++c) {
                        double& x = part->row(0, h, i)[static_cast<std::size_t>(c)];
                        const double before = x;
                        x = before + step;
                        const double forward = loss(moved, how, by);
                        x = before - step;
                        const double back = loss(moved, how, by);
                        x = before;
                        const double expected = (forward - back) / (2 * step);
                        largest = std::max(largest, std::abs(expected));
                        error = std::max(
                            error, std::abs(static_cast<double>(d_qkv.matrix()(i, column + c)) - expected));
                    }
        CHECK(largest > 0);
        if (!rounds) CHECK(error <= 1e-6 * largest);
    }
    CHECK(broken >= 1);  // rows without a key, as NaN
}

TEST_CASE("a network that learns with the right attention in double learns what the kernels teach it") {
    const std::string config = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": false,
        "torch_dtype": "float32", "vocab_size": 17, "max_position_embeddings": 8, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "intermediate_size": 1})";
    const AttentionCase shape = causal_case(4, 2, tokens, width, 10000);
    const MistakenAttention attention(shape, right_implementation(shape));
    const auto as_trained = std::make_shared<const TrainedAttention>(TrainedAttention{
        .forward = [&](ConstMatrix qkv, MatrixView<float> to) { attention.forward(qkv, to); },
        .backward = [&](ConstMatrix qkv, ConstMatrix d,
                        MatrixView<float> to) { attention.backward(qkv, d, to); }});
    TrainingSettings settings;
    settings.batch = 2;
    settings.context = tokens;
    settings.initial_deviation = 0.2;
    settings.attention_only = true;
    const Batches batches = [](std::int64_t step, Index sequence, std::span<std::int32_t> ids,
                               std::span<std::int32_t> targets) {
        Random random(mixed(7, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(sequence)));
        for (std::size_t i = 0; i < ids.size(); ++i) {
            ids[i] = static_cast<std::int32_t>(random.below(17));
            targets[i] = static_cast<std::int32_t>(random.below(17));
        }
    };
    const auto bytes = std::as_bytes(std::span(config));
    auto right = Trainer::start(bytes, settings, batches),
         ours = Trainer::start(bytes, settings, batches, {.attention = as_trained});
    REQUIRE(right);
    REQUIRE(ours);
    for (int step = 0; step < 5; ++step) {
        const auto a = right->step(), b = ours->step();
        REQUIRE(a);
        REQUIRE(b);
        // Losses and gradients of f32 sums of some twenty products, in another order.
        CHECK(a->loss == Catch::Approx(b->loss).epsilon(1e-5));
        CHECK(a->gradient_norm == Catch::Approx(b->gradient_norm).epsilon(1e-4));
    }
}
