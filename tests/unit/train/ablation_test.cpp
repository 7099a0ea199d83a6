#include "train/ablation.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "model/forward.hpp"
#include "support/files.hpp"
#include "support/small_networks.hpp"
#include "tensor/random.hpp"
#include "train/symbols.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::vector<std::int32_t> ablation_targets{1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9};

Trainer trainer_of(std::string_view config, std::vector<HeadIndex> ablated = {}) {
    TrainingSettings settings{
        .batch = 2, .context = 16, .schedule = {.steps = 10, .warmup = 2, .rate = 1e-2, .final_rate = 1e-3}};
    settings.initial_deviation = 0.2;
    settings.ablated = std::move(ablated);
    auto trainer = Trainer::start(as_bytes(config), settings, *symbol_batches(SymbolTask::repeated, 20, 1));
    INFO((trainer ? "" : trainer.error().message));
    REQUIRE(trainer);
    return *std::move(trainer);
}

struct Pass {
    double loss = 0;
    ParameterBuffer gradients;
};

Pass pass(std::string_view config, std::span<const float> parameters, std::span<const HeadIndex> ablated) {
    const Trainer trainer = trainer_of(config);
    const TrainedNetwork network(**trainer.model(), trainer.layout(), false, {}, ablated);
    Pass p{0, ParameterBuffer(parameters.size())};
    p.loss = network.gradient(parameters, read_ids, ablation_targets, 1, {}, *network.activations(16),
                              p.gradients);
    return p;
}

}  // namespace

TEST_CASE("An ablated head is one whose output weights are 0, forward and backward", "[unit][train]") {
    const std::string_view config = GENERATE(small_gpt2, small_llama);
    const std::vector<HeadIndex> ablated{{0, 1}, {1, 0}};
    const Trainer trainer = trainer_of(config);
    const ParameterBuffer whole(trainer.parameters().begin(), trainer.parameters().end());
    ParameterBuffer zeroed = whole;
    zero_output_weights(trainer.config(), trainer.layout(), ablated, zeroed);
    CHECK(zeroed != whole);

    const Pass without = pass(config, whole, ablated), with_zeros = pass(config, zeroed, {});
    CHECK(without.loss == with_zeros.loss);
    CHECK(without.loss != pass(config, whole, {}).loss);
    // The gradients are the same except for W_O, whose zeroed part would grow again.
    for (const auto& entry : trainer.layout().entries()) {
        const bool w_o = entry.name.ends_with("attn.c_proj.weight") || entry.name.ends_with("o_proj.weight");
        for (Index i = 0; i < entry.size; ++i) {
            const auto at = static_cast<std::size_t>(entry.offset + i);
            INFO(entry.name << " " << i);
            if (!w_o)
                REQUIRE(without.gradients[at] == with_zeros.gradients[at]);
            else if (zeroed[at] == 0)
                REQUIRE(without.gradients[at] == 0);
            else
                REQUIRE(without.gradients[at] == with_zeros.gradients[at]);
        }
    }
}

TEST_CASE("An ablated head's weights do not matter and get no gradient: central differences",
          "[unit][train]") {
    const std::string_view config = GENERATE(small_gpt2, small_llama);
    const std::vector<HeadIndex> ablated{{0, 1}};
    const Trainer trainer = trainer_of(config);
    ParameterBuffer parameters(trainer.parameters().begin(), trainer.parameters().end());
    const Pass here = pass(config, parameters, ablated);
    const TrainedNetwork network(**trainer.model(), trainer.layout(), false, {}, ablated);
    const auto kept = network.activations(16);
    Random random(5);
    for (const auto& entry : trainer.layout().entries()) {
        const auto at = static_cast<std::size_t>(
            entry.offset + static_cast<Index>(random.bits() % static_cast<std::uint64_t>(entry.size)));
        const float was = parameters[at], h = 1e-2f;
        parameters[at] = was + h;
        const double up = network.loss(parameters, read_ids, ablation_targets, *kept).sum;
        parameters[at] = was - h;
        const double down = network.loss(parameters, read_ids, ablation_targets, *kept).sum;
        parameters[at] = was;
        INFO(entry.name);
        // Losses are about 40 in f32 (1e-5), divided by 2h; h²/6 is multiplied by a third
        // derivative of order 1 to 100.
        CHECK_THAT(static_cast<double>(here.gradients[at]),
                   Catch::Matchers::WithinAbs((up - down) / (2 * static_cast<double>(h)), 5e-3) ||
                       Catch::Matchers::WithinRel((up - down) / (2 * static_cast<double>(h)), 1e-2));
    }
}

TEST_CASE("A network trained with an ablated head runs as it was trained", "[unit][train]") {
    const std::string_view config = GENERATE(small_gpt2, small_llama);
    Trainer trainer = trainer_of(config, {{1, 1}});
    for (int i = 0; i < 3; ++i) REQUIRE(trainer.step());
    const auto model = trainer.model();
    REQUIRE(model);
    const auto trace = run_forward(*model, read_ids);
    REQUIRE(trace);
    const Tensor logits = (*trace)->logits({0, std::ssize(read_ids)});
    double loss = 0;
    for (Index i = 0; i < std::ssize(read_ids); ++i) {
        double sum = 0;
        for (Index v = 0; v < 20; ++v) sum += std::exp(static_cast<double>(logits.matrix()(i, v)));
        loss += std::log(sum) -
                static_cast<double>(logits.matrix()(i, ablation_targets[static_cast<std::size_t>(i)]));
    }
    const std::vector<HeadIndex> ablated{{1, 1}};
    // Both are sums of 12 losses in f32, of logits below 10.
    CHECK_THAT(pass(config, trainer.parameters(), ablated).loss, Catch::Matchers::WithinAbs(loss, 1e-4));
    CHECK(std::abs(pass(config, trainer.parameters(), {}).loss - loss) > 1e-3);
}

TEST_CASE("A head that does not exist cannot be ablated", "[unit][train]") {
    TrainingSettings settings;
    settings.context = 16;
    settings.ablated = {GENERATE(HeadIndex{2, 0}, HeadIndex{0, 2}, HeadIndex{-1, 0}, HeadIndex{0, -1})};
    const auto trainer =
        Trainer::start(as_bytes(small_gpt2), settings, *symbol_batches(SymbolTask::copying, 20, 1));
    REQUIRE(!trainer);
    CHECK_THAT(trainer.error().message, ContainsSubstring("2 layers of 2 heads"));
}
