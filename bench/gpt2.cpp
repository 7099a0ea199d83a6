#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "cases.hpp"
#include "model/families.hpp"
#include "model/forward.hpp"
#include "tensor/random.hpp"

namespace attn::bench {

namespace {

constexpr std::string_view config = R"({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024,
    "n_embd": 768, "n_layer": 12, "n_head": 12})";

Bytes bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

// Gains are about 1 and everything else about 0, so that no block drowns out what came before it.
void fill(const DeclaredWeight& weight, std::uint64_t seed, std::span<std::byte> bytes) {
    const bool gain = weight.name.ends_with(".weight") && weight.name.find("ln_") != std::string::npos;
    Random random(seed);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
        const auto value = static_cast<float>((random.uniform() - 0.5) * 0.07 + (gain ? 1 : 0));
        std::memcpy(&bytes[at], &value, sizeof value);
    }
}

// Returns a safetensors file with every tensor that the configuration calls for.
Bytes seeded_weights(const std::vector<DeclaredWeight>& declared) {
    nlohmann::json header;
    std::size_t end = 0;
    for (const DeclaredWeight& weight : declared) {
        const std::size_t begin = end;
        end += static_cast<std::size_t>(*element_count(weight.shape)) * sizeof(float);
        header[weight.name] = {{"dtype", "F32"}, {"shape", weight.shape}, {"data_offsets", {begin, end}}};
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const std::uint64_t size = text.size();
    Bytes file(sizeof size + text.size() + end);
    std::memcpy(file.data(), &size, sizeof size);
    std::ranges::copy(std::as_bytes(std::span(text)), file.begin() + sizeof size);

    auto rest = std::span(file).subspan(sizeof size + text.size());
    for (std::size_t i = 0; i < declared.size(); ++i) {
        const auto count = static_cast<std::size_t>(*element_count(declared[i].shape)) * sizeof(float);
        fill(declared[i], i, rest.first(count));
        rest = rest.subspan(count);
    }
    return file;
}

}  // namespace

Case gpt2(Index tokens) {
    const ModelConfig shape = *parse_model_config(bytes_of(config));
    ModelFiles files{.config = bytes_of(config), .index = {}, .weights = {}};
    files.weights["model.safetensors"] = seeded_weights(declared_weights(gpt2_rules(), shape));

    struct Data {
        std::shared_ptr<const Model> model;
        std::vector<std::int32_t> ids;
        std::shared_ptr<const Trace> trace;
        Tensor logits;
    };
    const auto data = std::make_shared<Data>(
        Data{*Model::load(std::move(files)), {}, nullptr, Tensor({1, shape.vocab_size})});
    Random random(1);
    for (Index i = 0; i < tokens; ++i)
        data->ids.push_back(
            static_cast<std::int32_t>(random.bits() % static_cast<std::uint64_t>(shape.vocab_size)));

    std::vector<Input> inputs{{"ids", {tokens}, std::as_bytes(std::span(data->ids))}};
    double per_token = 0;
    for (const Weight& weight : data->model->weights()) {
        inputs.push_back({weight.name, weight.shape, weight.bytes});
        if (weight.shape.size() == 2 && weight.name.starts_with("h."))
            per_token += static_cast<double>(2 * weight.shape[0] * weight.shape[1]);
    }
    const double attention = static_cast<double>(4 * shape.layers * shape.d_model) *
                             static_cast<double>(tokens * (tokens + 1) / 2);
    const double head = static_cast<double>(2 * shape.d_model * shape.vocab_size);

    const auto run = [=](const Kernels& kernels) {
        data->trace = nullptr;  // frees it before the next one takes as much memory
        data->trace = *run_forward(data->model, data->ids, kernels);
        const Tensor logits = data->trace->logits({tokens - 1, tokens});
        std::ranges::copy(logits.values(), data->logits.data());
    };
    return {"GPT-2 small n=" + std::to_string(tokens),
            static_cast<double>(tokens) * per_token + attention + head, run, std::move(inputs),
            data->logits.values()};
}

}  // namespace attn::bench
