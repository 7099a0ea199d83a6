// Measures what circuits over a vocabulary cost: a tile of their maps next to a tile of the scores of a run,
// which has as many cells of as many products.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "analysis/heads/circuit_maps.hpp"
#include "analysis/heads/composition.hpp"
#include "analysis/heads/copying.hpp"
#include "kernels/workers.hpp"
#include "model/forward.hpp"
#include "seeded_model.hpp"
#include "tensor/random.hpp"

using namespace attn;
using namespace attn::bench;

namespace {

constexpr int rounds = 9;
constexpr Index side = 256;

constexpr const char *bundled =
                         R"({"model_type": "gpt2", "vocab_size": 2048, "n_positions": 256, "n_embd": 160,
    "n_layer": 5, "n_head": 8})",
                     *gpt2_small = R"({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024,
    "n_embd": 768, "n_layer": 12, "n_head": 12})",
                     *smol = R"({"model_type": "llama", "vocab_size": 49152, "max_position_embeddings": 2048,
    "hidden_size": 576, "num_hidden_layers": 4, "num_attention_heads": 9, "num_key_value_heads": 3,
    "intermediate_size": 1536, "tie_word_embeddings": true})";

template <class F>
double milliseconds(F f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}
double middle(std::vector<double> values) {
    const auto at = values.begin() + std::ssize(values) / 2;
    std::ranges::nth_element(values, at);
    return *at;
}

template <class Job>
Job made(Result<Job> job) {
    if (!job) std::abort();
    while (job->step()) continue;
    return *std::move(job);
}

void measure(const char* name, const char* config) {
    const auto model = seeded_model(config);
    Random random(1);
    const auto trace =
        run_forward(model, random_integers(random, static_cast<std::size_t>(side), 0,
                                           static_cast<std::int32_t>(model->config().vocab_size)));
    if (!trace) std::abort();
    std::vector<double> factors;
    for (int round = 0; round < 3; ++round)
        factors.push_back(milliseconds([&] { made(CircuitJob::start(model, Circuit::qk, {0, 0})); }));
    const CircuitJob job = made(CircuitJob::start(model, Circuit::qk, {0, 0}));
    const MapPointer circuit = circuit_map(job.factors(), rotation_of(model->network(), 0, 1)),
                     scores = stage_map(record_of(*trace, 0), 0, Stage::raw);
    const Index end = circuit->queries();
    std::vector<double> tiles, beside, ratios;
    std::vector<float> cells(side * side);
    for (int round = 0; round < rounds; ++round) {
        beside.push_back(
            milliseconds([&] { scores->cells({{0, side}, {0, side}}, {cells.data(), side, side, side}); }));
        tiles.push_back(milliseconds(
            [&] { circuit->cells({{end - side, end}, {0, side}}, {cells.data(), side, side, side}); }));
        ratios.push_back(tiles.back() / beside.back());
    }
    std::printf("| %s | %.3f | %.3f | %.2f | %.0f |\n", name, middle(beside), middle(tiles), middle(ratios),
                middle(factors));
    std::fflush(stdout);
}

}  // namespace

int main() {
    set_thread_count(1);
    std::printf(
        "| QK circuit | 256 × 256 scores of a run, ms | a tile of as many tokens, ms | × | its factors, once "
        "a head, ms "
        "|\n| --- | --- | --- | --- | --- |\n");
    measure("the bundled model, 2,048 tokens", bundled);
    measure("GPT-2 small, 50,257 tokens", gpt2_small);
    measure("SmolLM's shape, grouped heads, rotary, 49,152 tokens", smol);
    const auto model = seeded_model(bundled);
    std::printf("\n| all heads of the bundled model | ms |\n| --- | --- |\n| copying scores | %.0f |\n",
                milliseconds([&] { made(CopyingJob::start(model)); }));
    std::printf("| composition of all pairs | %.0f |\n", milliseconds([&] {
                    CompositionJob all(*CircuitEnds::of(model));
                    while (all.step()) continue;
                }));
}
