// Measures what the effects of heads and of edges, the sources of scores and graphs of logits cost, next to
// forward passes over the same text. Prints a table for bench/results/effects.md.
#include "analysis/attribution/effects.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "analysis/attribution/path_proof.hpp"
#include "analysis/attribution/row_sources.hpp"
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

std::shared_ptr<const PathGraph> path_graph(const std::shared_ptr<const Trace>& trace,
                                            const LogitLoss& target) {
    auto graph = PathGraph::start(trace, target);
    if (!graph) std::abort();
    while (graph->step()) {
    }
    return std::make_shared<const PathGraph>(*std::move(graph));
}
// A graph with its proof, as lens Paths computes them: to the first picture, which has the proof of the
// smallest graph with a share, or to the end, when graphs of all sizes are measured.
template <bool to_end>
void path_proof(const std::shared_ptr<const Trace>& trace, const LogitLoss& target) {
    PathProof proof(path_graph(trace, target));
    if (!proof.replace_rest({})) std::abort();
    while (proof.step(0.6) && (to_end || !proof.at(PathMeasure::random, proof.taken()))) {
    }
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
    // The last head of the last layer, between the text's last token and one in its middle.
    const auto place_in = [](const std::shared_ptr<const Trace>& trace) {
        const Index last = trace->attentions() - 1;
        return ScorePlace{trace, last, trace->attention(last).record().heads() - 1, trace->tokens() - 1,
                          trace->tokens() / 2};
    };
    const auto score = [&](const std::shared_ptr<const Trace>& trace, const LogitLoss&) {
        finish(Result(ScoreTerms(place_in(trace))));
    };
    const auto row = [&](const std::shared_ptr<const Trace>& trace, const LogitLoss&) {
        finish(Result(RowSources(place_in(trace))));
    };
    measure("all sources of a score in the bundled model's last layer, 14 tokens", bundled, 14, 1, score);
    measure("all sources of a score in GPT-2 small's last layer, 64 tokens", gpt2_small, 64, 1, score);
    measure("all sources of a row's keys in GPT-2 small's last layer, 64 tokens", gpt2_small, 64, 1, row);
    const auto graph = [](const std::shared_ptr<const Trace>& trace, const LogitLoss& target) {
        path_graph(trace, target);
    };
    measure("the graph of a logit in the bundled model, 14 tokens", bundled, 14, 1, graph);
    measure("the same with the proof of the smallest graph", bundled, 14, 1, path_proof<false>);
    measure("the same with graphs of all sizes", bundled, 14, 1, path_proof<true>);
    measure("the graph of a logit in GPT-2 small, 64 tokens", gpt2_small, 64, 1, graph);
    measure("the same with the proof of the smallest graph", gpt2_small, 64, 1, path_proof<false>);
    measure("the same with graphs of all sizes", gpt2_small, 64, 1, path_proof<true>);
}
