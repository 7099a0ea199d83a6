#include <catch_amalgamated.hpp>

#include "maps/map.hpp"
#include "model/forward.hpp"
#include "support/files.hpp"
#include "support/small_networks.hpp"
#include "train/symbols.hpp"
#include "train/trainer.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;

namespace {

const std::vector<std::int32_t> foretold{1, -1, 1, 5, 9, -1, 6, 5, 3, 5, 8, -1};
constexpr double counting = 9;

struct Differentiated {
    Trainer trainer;
    std::shared_ptr<const Trace> trace;
    TrainedNetwork network;
    std::vector<Tensor> gradients;  // for the attention of each layer

    std::unique_ptr<TrainedNetwork::Activations, void (*)(TrainedNetwork::Activations*)> activations() const {
        return network.activations(16);
    }
};

Differentiated differentiated(std::string_view config, std::vector<HeadIndex> ablated = {}) {
    TrainingSettings settings{.batch = 2, .context = 16, .schedule = {.steps = 10, .warmup = 2}};
    settings.initial_deviation = 0.2;  // makes losses depend on attention
    settings.ablated = ablated;
    auto trainer = Trainer::start(as_bytes(config), settings, *symbol_batches(SymbolTask::repeated, 20, 1));
    REQUIRE(trainer);
    const auto model = trainer->model();
    REQUIRE(model);
    const auto trace = run_forward(*model, read_ids);
    REQUIRE(trace);
    TrainedNetwork network(**model, trainer->layout(), false, {}, ablated);
    auto gradients =
        network.attention_gradients(trainer->parameters(), read_ids, foretold, *network.activations(16));
    return {*std::move(trainer), *trace, std::move(network), std::move(gradients)};
}

// Returns where W_Q, W_K or W_V (0, 1, 2) holds the number that connects input `from` and output `to`.
std::size_t place_in_projection(const Differentiated& d, Index layer, int which, Index from, Index to) {
    const ModelConfig& config = d.trainer.config();
    const std::string number = std::to_string(layer);
    if (config.family == Family::gpt2) {  // [d, 3 d]
        const auto* entry = d.trainer.layout().find("h." + number + ".attn.c_attn.weight");
        return static_cast<std::size_t>(entry->offset + from * 3 * config.d_model + which * config.d_model +
                                        to);
    }
    static constexpr std::string_view names[] = {"q_proj", "k_proj", "v_proj"};  // [out, d]
    const auto* entry =
        d.trainer.layout().find("layers." + number + ".self_attn." + std::string(names[which]) + ".weight");
    return static_cast<std::size_t>(entry->offset + to * config.d_model + from);
}

// Returns dL/dA of every head of a layer, [heads][n · n].
std::vector<std::vector<float>> maps_of(const Differentiated& d, Index layer, GradientBy by) {
    const auto record = record_of(d.trace, layer);
    const Tensor& all = d.gradients[static_cast<std::size_t>(layer)];
    std::vector<std::vector<float>> maps;
    for (Index head = 0; head < record->heads(); ++head) {
        const auto size = static_cast<std::size_t>(record->queries() * record->d_v());
        const auto map =
            gradient_map(record, head,
                         Tensor({record->queries(), record->d_v()},
                                all.values().subspan(static_cast<std::size_t>(head) * size, size)),
                         by);
        REQUIRE(map);
        maps.push_back(cells_of(**map));
    }
    return maps;
}

}  // namespace

// W_V acts only through the weighted values: dL/dW_V[a, b] = Σ over the heads that share it and queries i of
// dO_i[b] Σ_j A_ij x_j[a]. The rows Σ_j A_ij x_j are linearly independent (12 of them, of width 16), so if
// heads share nothing, no other dO gives the same numbers.
TEST_CASE("The attention gradient is that of the mean loss: central differences through W_V",
          "[unit][train]") {
    const std::string_view config = GENERATE(small_gpt2, small_llama);
    const Differentiated d = differentiated(config);
    const auto kept = d.activations();
    ParameterBuffer parameters(d.trainer.parameters().begin(), d.trainer.parameters().end());
    const auto mean_loss = [&] {
        return d.network.loss(parameters, read_ids, foretold, *kept).sum / counting;
    };
    double largest = 0;
    for (Index layer = 0; layer < 2; ++layer) {
        const auto record = record_of(d.trace, layer);
        const Tensor& by_output = d.gradients[static_cast<std::size_t>(layer)];
        REQUIRE(by_output.shape() == Shape{2, 12, 8});
        const ConstMatrix x = d.trace->layers()[static_cast<std::size_t>(layer)].attention_input.matrix();
        for (Index to = 0; to < record->kv_heads() * 8; ++to)
            for (Index from = 0; from < 16; ++from) {
                double expected = 0;
                for (Index head = 0; head < 2; ++head) {
                    if (record->kv_head(head) != to / 8) continue;
                    for (Index i = 0; i < 12; ++i) {
                        const std::vector<float> weights = record->weights(head, i);
                        double mixed = 0;
                        for (Index j = 0; j <= i; ++j)
                            mixed += static_cast<double>(weights[static_cast<std::size_t>(j)]) *
                                     static_cast<double>(x(j, from));
                        expected += mixed * static_cast<double>(by_output.heads().head(head)(i, to % 8));
                    }
                }
                const std::size_t at = place_in_projection(d, layer, 2, from, to);
                const float was = parameters[at], h = 1e-2f;
                parameters[at] = was + h;
                const double up = mean_loss();
                parameters[at] = was - h;
                const double down = mean_loss();
                parameters[at] = was;
                largest = std::max(largest, std::abs(expected));
                INFO("layer " << layer << ", W_V[" << from << ", " << to << "]");
                // Losses are about 4 in f32 (5e-7), divided by 2h; h²/6 is multiplied by a
                // third derivative of order 10.
                REQUIRE_THAT(expected, WithinAbs((up - down) / (2 * static_cast<double>(h)), 3e-4));
            }
    }
    CHECK(largest > 0.05);
}

// dL/dW_Q[a, c] = Σ_i x_i[a] dq_i[c] with dq_i = scale Σ_j dS_ij k_j: this compares the map of dS with the
// kernels' backward pass, which makes no map.
TEST_CASE("The map of the score gradient gives the gradient of W_Q", "[unit][train]") {
    const Differentiated d = differentiated(small_gpt2);
    ParameterBuffer by_kernels(d.trainer.parameters().size());
    d.network.gradient(d.trainer.parameters(), read_ids, foretold, static_cast<float>(1 / counting), {},
                       *d.activations(), by_kernels);
    double largest = 0;
    for (Index layer = 0; layer < 2; ++layer) {
        const auto record = record_of(d.trace, layer);
        const auto maps = maps_of(d, layer, GradientBy::score);
        const ConstMatrix x = d.trace->layers()[static_cast<std::size_t>(layer)].attention_input.matrix();
        for (Index to = 0; to < 16; ++to) {
            const auto& map = maps[static_cast<std::size_t>(to / 8)];
            std::vector<double> d_q;
            for (Index i = 0; i < 12; ++i) {
                double sum = 0;
                for (Index j = 0; j <= i; ++j)
                    sum += static_cast<double>(map[static_cast<std::size_t>(i * 12 + j)]) *
                           static_cast<double>(record->k().heads().head(to / 8)(j, to % 8));
                d_q.push_back(sum * static_cast<double>(record->scale()));
            }
            for (Index from = 0; from < 16; ++from) {
                double expected = 0;
                for (Index i = 0; i < 12; ++i)
                    expected += static_cast<double>(x(i, from)) * d_q[static_cast<std::size_t>(i)];
                largest = std::max(largest, std::abs(expected));
                // Sums of some hundred terms below 1 in f32.
                REQUIRE_THAT(static_cast<double>(by_kernels[place_in_projection(d, layer, 0, from, to)]),
                             WithinAbs(expected, 1e-5));
            }
        }
    }
    CHECK(largest > 0.01);
}

TEST_CASE("An ablated head's attention gradient is 0, like that of a head whose output weights are 0",
          "[unit][train]") {
    const Differentiated d = differentiated(small_gpt2, {{1, 0}});
    ParameterBuffer zeroed(d.trainer.parameters().begin(), d.trainer.parameters().end());
    zero_output_weights(d.trainer.config(), d.trainer.layout(), std::vector<HeadIndex>{{1, 0}}, zeroed);
    const TrainedNetwork whole(*d.trace->model(), d.trainer.layout(), false);
    CHECK(whole.attention_gradients(zeroed, read_ids, foretold, *d.activations()) == d.gradients);
    const auto all_zero = [&](Index head) {
        const ConstMatrix own = d.gradients[1].heads().head(head);
        return std::all_of(own.row(0), own.row(0) + 12 * 8, [](float g) { return g == 0; });
    };
    CHECK(all_zero(0));
    CHECK(!all_zero(1));
}

TEST_CASE("If no target counts, the attention gradient is 0", "[unit][train]") {
    const Differentiated d = differentiated(small_llama);
    const std::vector<std::int32_t> none(12, -1);
    for (const Tensor& layer :
         d.network.attention_gradients(d.trainer.parameters(), read_ids, none, *d.activations()))
        CHECK(std::ranges::all_of(layer.values(), [](float g) { return g == 0; }));
}
