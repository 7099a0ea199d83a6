// Compares ten steps of training with PyTorch, computed in double by tests/golden/training/generate.py.
#include <catch_amalgamated.hpp>
#include <filesystem>

#include "io/npy.hpp"
#include "support/files.hpp"
#include "train/trainer.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;

namespace {

Tensor load(const std::filesystem::path& file) {
    const auto bytes = read_file(file);
    const auto array = parse_npy(bytes);
    INFO(file);
    REQUIRE(array);
    auto tensor = to_tensor(*array);
    REQUIRE(tensor);
    return *std::move(tensor);
}

}  // namespace

TEST_CASE("One step of training, and ten, match PyTorch", "[unit][train][golden]") {
    const std::string name = GENERATE("gpt2", "llama");
    CAPTURE(name);
    const auto folder = source_dir() / "tests" / "golden" / "training" / name;
    const Tensor ids = load(folder / "ids.npy"), losses = load(folder / "losses.npy"),
                 norms = load(folder / "norms.npy");
    const Index batch = ids.dim(1), context = ids.dim(2) - 1;
    const Batches batches = [&](std::int64_t step, Index sequence, std::span<std::int32_t> inputs,
                                std::span<std::int32_t> targets) {
        const float* row = ids.data() + (step * batch + sequence) * (context + 1);
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            inputs[i] = static_cast<std::int32_t>(row[i]);
            targets[i] = static_cast<std::int32_t>(row[i + 1]);
        }
    };
    const TrainingSettings settings{
        .batch = batch,
        .context = context,
        .schedule = {.steps = 10, .warmup = 3, .rate = 0.004, .final_rate = 0.001},
        .beta2 = 0.95,
        .epsilon = 1e-5,
        .weight_decay = 0.1,
        .clip = 0.9};
    auto trainer = Trainer::start(read_file(folder / "config.json"), settings, batches);
    REQUIRE(trainer);
    for (const auto& entry : trainer->layout().entries())
        std::ranges::copy(load(folder / "start" / (entry.name + ".npy")).values(),
                          entry.in(trainer->parameters()).begin());

    for (std::size_t i = 0; i < 10; ++i) {
        const auto step = trainer->step();
        REQUIRE(step);
        CAPTURE(i);
        // f32 sums of a few hundred terms below 10 are off by about 1e-6; later steps also by the
        // consequences.
        CHECK_THAT(step->loss, WithinAbs(static_cast<double>(losses.values()[i]), 1e-5));
        CHECK_THAT(step->gradient_norm, WithinAbs(static_cast<double>(norms.values()[i]), 2e-5));
        if (i != 0 && i != 9) continue;
        for (const auto& entry : trainer->layout().entries()) {
            const Tensor expected = load(folder / ("after_" + std::to_string(i + 1)) / (entry.name + ".npy"));
            const std::span<const float> found = entry.in(trainer->parameters());
            double most = 0;
            for (std::size_t a = 0; a < found.size(); ++a)
                most = std::max(most, static_cast<double>(std::abs(found[a] - expected.values()[a])));
            CAPTURE(entry.name);
            // A step moves a weight by up to 0.004. If its gradient is near epsilon, 1e-5, it moves by
            // gradient / epsilon of that, and its gradient is off by about 1e-7.
            CHECK_THAT(most, WithinAbs(0, i == 0 ? 1e-5 : 2e-4));
        }
    }
}
