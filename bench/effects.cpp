// Measures what the effects of heads and of edges cost, next to forward passes over the same text. Prints a
// table for bench/results/effects.md.
#include "analysis/attribution/effects.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "kernels/workers.hpp"
#include "seeded_model.hpp"
#include "tensor/random.hpp"

using namespace attn;
using namespace attn::bench;

namespace {

constexpr int rounds = 5;
constexpr double in_one_go = std::numeric_limits<double>::infinity();

// The shape of the page's own model, and of GPT-2 small.
constexpr const char *bundled =
                         R"({"model_type": "gpt2", "vocab_size": 2048, "n_positions": 256, "n_embd": 160,
    "n_layer": 5, "n_head": 8})",
                     *gpt2_small = R"({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024,
    "n_embd": 768, "n_layer": 12, "n_head": 12})";

template <class F>
double seconds(F f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::ranges::nth_element(values, middle);
    return *middle;
}

std::shared_ptr<const Trace> run(const std::shared_ptr<const Model>& model,
                                 const std::vector<std::int32_t>& ids) {
    auto trace = run_forward(model, ids);
    if (!trace) std::abort();
    return *trace;
}

template <class Job>
void finish(Result<Job> job) {
    if (!job) std::abort();
    while (job->step()) {
    }
}

// Each round times a forward pass with the logits that are asked about, then the effects.
template <class F>
void measure(const char* what, const char* config, Index tokens, double passes, F effects) {
    const auto model = seeded_model(config);
    Random random(1);
    const std::vector<std::int32_t> ids = random_integers(random, static_cast<std::size_t>(tokens), 0, 2048);
    const LogitLoss target{.raise = 7, .over = 3};
    const auto trace = run(model, ids);
    std::vector<double> pass_times, effect_times, ratios;
    for (int round = 0; round < rounds; ++round) {
        pass_times.push_back(seconds([&] { run(model, ids)->logits({tokens - 1, tokens}); }));
        effect_times.push_back(seconds([&] { effects(trace, target); }));
        ratios.push_back(effect_times.back() / pass_times.back() / passes);
    }
    std::printf("| %s | %.1f | %.2f | %.0f | %.2f |\n", what, median(pass_times) * 1e3,
                median(effect_times) * 1e3, passes, median(ratios));
    std::fflush(stdout);
}

}  // namespace

int main() {
    set_thread_count(1);
    const auto heads = [](const std::shared_ptr<const Trace>& trace, const LogitLoss& target) {
        finish(AblationEffects::start(trace, target, without_heads(*trace, Operation::zero), in_one_go));
    };
    const auto edges = [](const std::shared_ptr<const Trace>& trace, const LogitLoss& target) {
        finish(LastEdgeEffects::start(trace, target, {0, 0}, in_one_go));
    };
    std::printf("| effects | a pass, ms | all, ms | passes | × these |\n| --- | --- | --- | --- | --- |\n");
    measure("all heads of the bundled model, 14 tokens", bundled, 14, 41, heads);
    measure("all heads of GPT-2 small, 64 tokens", gpt2_small, 64, 145, heads);
    measure("all edges into the last of 256 tokens in a head of GPT-2 small's first layer", gpt2_small, 256,
            1, edges);
}
