// Measures a forward pass of every family next to that of Llama, whose widths all have. Families differ in
// how much they compute, so times are compared for each multiply-add. Prints a table for
// bench/results/families.md.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/workers.hpp"
#include "model/forward.hpp"
#include "model/network.hpp"
#include "seeded_model.hpp"
#include "tensor/random.hpp"

using namespace attn;
using namespace attn::bench;

namespace {

constexpr Index tokens = 256;
constexpr int rounds = 15;

// What the published configurations of these families have, but for the sizes.
constexpr std::string_view sizes = R"("vocab_size": 1000, "max_position_embeddings": 512, "hidden_size": 512,
    "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 1536)";
struct Listed {
    const char* name;
    std::string config;
};
std::string with(const char* family, const char* more = "") {
    return R"({"model_type": ")" + std::string(family) + R"(", )" + std::string(sizes) + more + "}";
}
const std::vector<Listed> listed{
    {"Llama", with("llama")},
    {"GPT-2", R"({"model_type": "gpt2", "vocab_size": 1000, "n_positions": 512, "n_embd": 512, "n_layer": 4,
        "n_head": 8, "n_inner": 1536})"},
    {"Qwen3", with("qwen3", R"(, "num_key_value_heads": 8, "head_dim": 64)")},
    {"Gemma", with("gemma", R"(, "num_key_value_heads": 8, "head_dim": 64)")},
    {"Gemma 2", with("gemma2", R"(, "num_key_value_heads": 8, "head_dim": 64, "query_pre_attn_scalar": 64,
        "sliding_window": 512)")},
    {"Gemma 3",
     with("gemma3_text", R"(, "num_key_value_heads": 8, "head_dim": 64, "query_pre_attn_scalar": 64,
        "sliding_window": 512)")},
    {"Phi-3", with("phi3", R"(, "num_key_value_heads": 8, "original_max_position_embeddings": 512)")},
    {"OLMo 2", with("olmo2", R"(, "num_key_value_heads": 8)")},
    {"Mixtral, 2 of 8 experts", with("mixtral", R"(, "num_key_value_heads": 8)")},
    {"StableLM", with("stablelm", R"(, "num_key_value_heads": 8)")},
    {"Phi", with("phi")},
    {"GPT-NeoX (Pythia)", with("gpt_neox")},
    {"GPT-J", R"({"model_type": "gptj", "vocab_size": 1000, "n_positions": 512, "n_embd": 512, "n_layer": 4,
        "n_head": 8, "n_inner": 1536, "rotary_dim": 32})"},
    {"Falcon", with("falcon", R"(, "multi_query": false, "ffn_hidden_size": 1536)")},
    {"Falcon, one key/value head", with("falcon", R"(, "ffn_hidden_size": 1536)")},
    {"Mistral, a window of 128", with("mistral", R"(, "num_key_value_heads": 8, "sliding_window": 128)")},
    {"OPT", with("opt", R"(, "ffn_dim": 1536)")},
    {"BERT", with("bert")},
    {"RoBERTa", with("roberta")},
    {"DistilBERT",
     R"({"model_type": "distilbert", "vocab_size": 1000, "max_position_embeddings": 512, "dim": 512,
        "n_layers": 4, "n_heads": 8, "hidden_dim": 1536})"},
    {"T5, as many tokens read as written", R"({"model_type": "t5", "vocab_size": 1000, "n_positions": 512,
        "d_model": 512, "d_kv": 64, "num_heads": 8, "num_layers": 2, "num_decoder_layers": 2, "d_ff": 1536})"},
};

// Counts the matrices that every token goes through, the scores and the sums of values; two operations each.
double operations(const Model& model) {
    const ModelConfig& config = model.config();
    const auto n = static_cast<double>(tokens);
    double sum = 0;
    for (const Weight& weight : model.weights()) {
        const bool looked_up = std::ranges::any_of(weight.axes, [](const std::string& axis) {
            return axis == "vocabulary" || axis == "position" || axis == "segment" || axis == "bucket";
        });
        if (weight.shape.size() != 2 || looked_up) continue;
        const bool of_expert = weight.name.find("experts") != std::string::npos;
        const double share =
            of_expert ? static_cast<double>(config.experts_per_token) / static_cast<double>(config.experts)
                      : 1;
        sum += share * 2 * n * static_cast<double>(weight.shape[0] * weight.shape[1]);
    }
    const auto layers = static_cast<double>(config.layers),
               decoders = static_cast<double>(config.decoder_layers);
    const double all = n * n;
    // Each query sees as many keys as its window has; the first queries have fewer.
    const auto seen_by = [&](Index window) {
        double keys = 0;
        for (Index query = 1; query <= tokens; ++query)
            keys += static_cast<double>(window > 0 ? std::min(query, window) : query);
        return keys;
    };
    const double behind = seen_by(config.windows.front());  // for every layer, or wider than the text
    const double seen = model.network().encoder  ? layers * all + decoders * (behind + all)
                        : model.network().causal ? layers * behind
                                                 : layers * all;
    return sum + 4 * seen * static_cast<double>(config.heads * config.head_dim);
}

double seconds(const std::shared_ptr<const Model>& model, const std::vector<std::int32_t>& ids) {
    const auto start = std::chrono::steady_clock::now();
    const auto decoder_ids = model->network().encoder ? ids : std::vector<std::int32_t>();
    if (!run_forward(model, ids, default_kernels(), {}, decoder_ids)) std::abort();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::ranges::nth_element(values, middle);
    return *middle;
}

}  // namespace

int main() {
    set_thread_count(1);
    Random random(1);
    std::vector<std::int32_t> ids;
    for (Index i = 0; i < tokens; ++i) ids.push_back(static_cast<std::int32_t>(random.below(1000)));
    std::vector<std::shared_ptr<const Model>> models;
    for (const Listed& one : listed) models.push_back(seeded_model(one.config));
    for (const auto& model : models) seconds(model, ids);

    std::vector<std::vector<double>> times(models.size()), ratios(models.size());
    const double llama_operations = operations(*models[0]);
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < models.size(); ++i) {
            const double llama = seconds(models[0], ids) / llama_operations;  // each beside one of its own
            const double time = seconds(models[i], ids);
            times[i].push_back(time);
            ratios[i].push_back(time / operations(*models[i]) / llama);
        }
    }
    std::printf("| family | ms | GFLOP | × Llama's time, per operation |\n| --- | --- | --- | --- |\n");
    for (std::size_t i = 0; i < models.size(); ++i)
        std::printf("| %s | %.1f | %.2f | %.2f |\n", listed[i].name, median(times[i]) * 1e3,
                    operations(*models[i]) / 1e9, median(ratios[i]));
}
