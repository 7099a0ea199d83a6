#include "train/trainer.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>

#include "model/forward.hpp"
#include "support/files.hpp"
#include "support/small_networks.hpp"
#include "support/threads.hpp"
#include "tensor/random.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Makes random tokens that repeat after a period of their own, so that positions alone do not determine them.
// Their first occurrences are not targets.
Batches repeats(Index vocabulary) {
    return [=](std::int64_t step, Index sequence, std::span<std::int32_t> ids,
               std::span<std::int32_t> targets) {
        Random random(mixed(7, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(sequence)));
        const std::size_t period = ids.size() / 4 + random.bits() % (ids.size() / 4 + 1);
        for (std::size_t i = 0; i < ids.size(); ++i)
            ids[i] = i < period
                         ? static_cast<std::int32_t>(random.bits() % static_cast<std::uint64_t>(vocabulary))
                         : ids[i - period];
        for (std::size_t i = 0; i < ids.size(); ++i)
            targets[i] = i < period ? -1 : ids[i + 1 < ids.size() ? i + 1 : i + 1 - period];
    };
}

TrainingSettings settings_of_small() {
    return {
        .batch = 4, .context = 16, .schedule = {.steps = 10, .warmup = 2, .rate = 1e-2, .final_rate = 1e-3}};
}

Trainer started(const TrainingSettings& settings) {
    auto trainer = Trainer::start(as_bytes(small_gpt2), settings, repeats(20));
    INFO((trainer ? "" : trainer.error().message));
    REQUIRE(trainer);
    return *std::move(trainer);
}

std::vector<float> trained(Trainer trainer, int steps) {
    for (int i = 0; i < steps; ++i) REQUIRE(trainer.step());
    return {trainer.parameters().begin(), trainer.parameters().end()};
}

}  // namespace

TEST_CASE("A run continues from its checkpoint to the same bits", "[unit][train]") {
    TrainingSettings settings = settings_of_small();
    settings.dropout = GENERATE(0.0, 0.2);
    const std::vector<float> whole = trained(started(settings), 6);

    Trainer first = started(settings);
    for (int i = 0; i < 3; ++i) REQUIRE(first.step());
    auto second = Trainer::resume(as_bytes(small_gpt2), settings, repeats(20), first.checkpoint());
    REQUIRE(second);
    CHECK(second->steps_taken() == 3);
    CHECK(trained(*std::move(second), 3) == whole);
}

TEST_CASE("The same seed gives the same weights, another seed others", "[unit][train]") {
    TrainingSettings settings = settings_of_small();
    const std::vector<float> once = trained(started(settings), 3);
    CHECK(trained(started(settings), 3) == once);
    settings.seed = 2;
    CHECK(trained(started(settings), 3) != once);
}

// A step between two positions is the same rotation everywhere, so their inner product depends only on the
// distance. The bound is 2e-6 of their length: 8 products of f32 waves.
TEST_CASE("Learned positions may begin as waves", "[unit][train]") {
    TrainingSettings settings = settings_of_small();
    settings.position_waves = 0.25;
    const Trainer trainer = started(settings);
    const auto* entry = trainer.layout().find("transformer.wpe.weight");
    if (!entry) entry = trainer.layout().find("wpe.weight");
    REQUIRE(entry);
    const auto table = entry->in(trainer.parameters());
    const Index d = entry->shape[1], n = entry->shape[0];
    const auto product = [&](Index a, Index b) {
        double sum = 0;
        for (Index i = 0; i < d; ++i)
            sum += static_cast<double>(table[static_cast<std::size_t>(a * d + i)]) *
                   static_cast<double>(table[static_cast<std::size_t>(b * d + i)]);
        return sum;
    };
    const double length = 0.25 * 0.25 * static_cast<double>(d) / 2;
    CHECK(std::abs(product(0, 0) - length) <= 2e-6 * length);
    for (Index distance = 0; distance < 4; ++distance)
        for (Index i = 0; i + distance < n; ++i)
            CHECK(std::abs(product(i, i + distance) - product(0, distance)) <= 2e-6 * length);
    CHECK(product(0, 1) < product(0, 0));
}

TEST_CASE("Parts of a step add up to the step", "[unit][train]") {
    const Threads threads(1);
    Trainer whole = started(settings_of_small()), in_parts = started(settings_of_small());
    const auto step = whole.step();
    REQUIRE(step);
    int parts = 0;
    for (bool done = false; !done; ++parts) {
        const auto advanced = in_parts.advance();
        REQUIRE(advanced);
        done = *advanced;
    }
    CHECK(parts == 4);
    CHECK(in_parts.last().loss == step->loss);
    CHECK(std::ranges::equal(whole.parameters(), in_parts.parameters()));
}

TEST_CASE("The trained network is the one that runs", "[unit][train]") {
    Trainer trainer = started(settings_of_small());
    for (int i = 0; i < 3; ++i) REQUIRE(trainer.step());
    const std::vector<std::int32_t> ids{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
    const auto evaluated = trainer.evaluate(ids);
    CHECK(evaluated.targets == 10);

    const auto model = trainer.model();
    REQUIRE(model);
    const auto trace = run_forward(*model, {ids.begin(), ids.end() - 1});
    REQUIRE(trace);
    const Tensor logits = (*trace)->logits({0, 10});
    double loss = 0;
    for (Index i = 0; i < 10; ++i) {
        double sum = 0;
        for (Index v = 0; v < 20; ++v) sum += std::exp(static_cast<double>(logits.matrix()(i, v)));
        loss += std::log(sum) - static_cast<double>(logits.matrix()(i, ids[static_cast<std::size_t>(i + 1)]));
    }
    // Both are in f32, of logits below 10.
    CHECK_THAT(evaluated.loss, Catch::Matchers::WithinAbs(loss / 10, 1e-5));
}

TEST_CASE("An evaluation predicts every token of a long text once", "[unit][train]") {
    Trainer trainer = started(settings_of_small());
    std::vector<std::int32_t> ids(static_cast<std::size_t>(GENERATE(1, 2, 9, 16, 17, 18, 25, 100)), 5);
    CHECK(trainer.evaluate(ids).targets == std::ssize(ids) - 1);
}

TEST_CASE("Attention alone leaves the MLP at zero", "[unit][train]") {
    TrainingSettings settings = settings_of_small();
    settings.attention_only = true;
    Trainer trainer = started(settings);
    for (int i = 0; i < 3; ++i) REQUIRE(trainer.step());
    for (const auto& entry : trainer.layout().entries())
        if (entry.name.find(".mlp.") != std::string::npos)
            for (const float value : entry.in(trainer.parameters())) REQUIRE(value == 0);
}

TEST_CASE("A rate that breaks the network is reported, and the weights stay finite", "[unit][train]") {
    TrainingSettings settings = settings_of_small();
    settings.schedule.rate = 1e30;
    Trainer trainer = started(settings);
    std::string said;
    for (int i = 0; i < 10 && said.empty(); ++i)
        if (const auto step = trainer.step(); !step) said = step.error().message;
    CHECK_THAT(
        said, ContainsSubstring("no longer a finite number") && ContainsSubstring("lower the learning rate"));
    CHECK(trainer.steps_taken() > 0);
}

TEST_CASE("Invalid settings are named", "[unit][train]") {
    struct Wrong {
        void (*spoil)(TrainingSettings&);
        std::string says;
    };
    const Wrong wrong = GENERATE(values<Wrong>({
        {[](TrainingSettings& s) { s.schedule.rate = 0; }, "the learning rate is 0"},
        {[](TrainingSettings& s) { s.schedule.rate = std::numeric_limits<double>::infinity(); },
         "the learning rate is inf"},
        {[](TrainingSettings& s) { s.schedule.rate = std::nan(""); }, "the learning rate is nan"},
        {[](TrainingSettings& s) { s.schedule.final_rate = 1; }, "the final learning rate is 1"},
        {[](TrainingSettings& s) { s.schedule.steps = 0; }, "the number of steps is 0"},
        {[](TrainingSettings& s) { s.schedule.warmup = -1; }, "the warm-up is -1"},
        {[](TrainingSettings& s) { s.batch = 0; }, "the batch is 0"},
        {[](TrainingSettings& s) { s.context = 17; }, "1 to 16 tokens"},
        {[](TrainingSettings& s) { s.dropout = 1; }, "dropout is 1"},
        {[](TrainingSettings& s) { s.beta1 = 1; }, "beta1 is 1"},
        {[](TrainingSettings& s) { s.beta2 = -0.5; }, "beta2 is -0.5"},
        {[](TrainingSettings& s) { s.clip = -1; }, "the gradient's limit is -1"},
        {[](TrainingSettings& s) { s.weight_decay = -1; }, "weight decay is -1"},
        {[](TrainingSettings& s) { s.position_waves = 2; }, "the amplitude of the positions' waves is 2"},
    }));
    TrainingSettings settings = settings_of_small();
    wrong.spoil(settings);
    const auto trainer = Trainer::start(as_bytes(small_gpt2), settings, repeats(20));
    REQUIRE(!trainer);
    CHECK_THAT(trainer.error().message, ContainsSubstring(wrong.says));
}

TEST_CASE("A checkpoint of another network, or an invalid one, is refused", "[unit][train]") {
    const auto resumed = [](std::span<const std::byte> checkpoint) {
        const auto trainer =
            Trainer::resume(as_bytes(small_gpt2), settings_of_small(), repeats(20), checkpoint);
        return trainer ? std::string() : trainer.error().message;
    };
    CHECK_THAT(resumed(as_bytes("nothing of the kind")), ContainsSubstring("safetensors"));
    CHECK_THAT(resumed(started(settings_of_small()).weights(DType::f32)),
               ContainsSubstring("not a checkpoint"));
    const std::string wider = std::string(small_gpt2).replace(small_gpt2.find("20"), 2, "21");
    auto other = Trainer::start(as_bytes(wider), settings_of_small(), repeats(20));
    REQUIRE(other);
    CHECK_THAT(resumed(other->checkpoint()), ContainsSubstring("of another network"));
}
