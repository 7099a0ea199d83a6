#include <algorithm>
#include <memory>

#include "cases.hpp"
#include "model/forward.hpp"
#include "seeded_model.hpp"
#include "tensor/random.hpp"

namespace attn::bench {

namespace {

constexpr std::string_view config = R"({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024,
    "n_embd": 768, "n_layer": 12, "n_head": 12})";

}  // namespace

Case gpt2(Index tokens) {
    struct Data {
        std::shared_ptr<const Model> model;
        std::vector<std::int32_t> ids;
        std::shared_ptr<const Trace> trace;
        Tensor logits;
    };
    const auto model = seeded_model(config);
    const ModelConfig& shape = model->config();
    const auto data = std::make_shared<Data>(Data{model, {}, nullptr, Tensor({1, shape.vocab_size})});
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
