#include <algorithm>
#include <memory>

#include "cases.hpp"
#include "tensor/random.hpp"
#include "train/trainer.hpp"

namespace attn::bench {

namespace {

constexpr std::string_view config = R"({"model_type": "gpt2", "vocab_size": 2048, "n_positions": 256,
    "n_embd": 160, "n_layer": 5, "n_head": 8, "tie_word_embeddings": true})";
constexpr Index batch = 12, context = 256;

const BackwardKernels& backward_of(const Kernels& kernels) {
    const auto all = all_backward();
    const auto same = std::ranges::find(all, kernels.name, &BackwardKernels::name);
    return same == all.end() ? default_backward() : **same;
}

// Counts matrix products three times, once forward and twice backward; for attention, two products
// forward and five backward.
double operations(const ParameterLayout& layout, const ModelConfig& shape) {
    double matrices = 0;
    for (const auto& entry : layout.entries())
        if (entry.shape.size() == 2 && entry.name != "wpe.weight")
            matrices += static_cast<double>(entry.size);
    const double cells =
        static_cast<double>(shape.layers * batch) * static_cast<double>(context * (context + 1) / 2);
    return 6 * matrices * static_cast<double>(batch * context) +
           14 * cells * static_cast<double>(shape.d_model);
}

}  // namespace

Case training() {
    struct Data {
        std::vector<std::int32_t> ids;
        ParameterBuffer start;
        std::unique_ptr<Trainer> trainer;
        float loss = 0;
    };
    const auto data = std::make_shared<Data>();
    Random random(1);
    for (Index i = 0; i < batch * (context + 1); ++i)
        data->ids.push_back(static_cast<std::int32_t>(random.bits() % 2048));
    const Batches batches = [ids = std::span<const std::int32_t>(data->ids)](
                                std::int64_t, Index sequence, std::span<std::int32_t> inputs,
                                std::span<std::int32_t> targets) {
        const auto row = ids.subspan(static_cast<std::size_t>(sequence * (context + 1)), context + 1);
        std::ranges::copy(row.first(context), inputs.begin());
        std::ranges::copy(row.last(context), targets.begin());
    };
    const TrainingSettings settings{
        .batch = batch, .context = context, .schedule = {.warmup = 0, .final_rate = 1e-3}};
    const auto started = [=](const TrainedKernels& kernels) {
        return std::make_unique<Trainer>(
            *Trainer::start(std::as_bytes(std::span(config)), settings, batches, kernels));
    };
    const auto first = started({});
    data->start.assign(first->parameters().begin(), first->parameters().end());
    std::vector<Input> inputs{{"ids", {batch, context + 1}, std::as_bytes(std::span(data->ids))}};
    for (const auto& entry : first->layout().entries())
        inputs.push_back({entry.name, entry.shape, std::as_bytes(entry.in(std::span(data->start)))});
    const auto run = [=](const Kernels& kernels) {
        if (data->trainer) {
            static_cast<void>(data->trainer->step());
            return;
        }
        data->trainer = started({&kernels, &backward_of(kernels)});
        data->loss = static_cast<float>(data->trainer->step()->loss);
    };
    return {
        "training", operations(first->layout(), first->config()), run, std::move(inputs), {&data->loss, 1}};
}

}  // namespace attn::bench
