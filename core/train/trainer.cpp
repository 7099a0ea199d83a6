#include "train/trainer.hpp"

#include <algorithm>
#include <utility>

#include "io/model_config.hpp"
#include "io/safetensors.hpp"
#include "kernels/workers.hpp"
#include "tensor/random.hpp"

namespace attn {

namespace {

using KeptActivations = decltype(std::declval<TrainedNetwork>().activations(0));

Result<std::shared_ptr<const Model>> model_of(std::span<const std::byte> config_json,
                                              const ParameterLayout& layout,
                                              std::span<const float> parameters) {
    ModelFiles files;
    files.config.assign(config_json.begin(), config_json.end());
    files.weights["model.safetensors"] = safetensors_of(layout, parameters, DType::f32);
    return Model::load(std::move(files));
}

}  // namespace

// One thread's working data.
struct Trainer::Shard {
    KeptActivations kept;
    ParameterBuffer gradients;
    std::vector<std::int32_t> ids, targets;
    double loss = 0;
    Index counted = 0;  // how many targets
};

Status check(const TrainingSettings& s, const ModelConfig& config) {
    if (Status sound = check(s); !sound) return sound;
    if (s.context < 1 || s.context > config.context)
        return Error{"the context is " + std::to_string(s.context) + "; it has to be 1 to " +
                     std::to_string(config.context) + " tokens, as many as the model's positions"};
    for (const auto& [layer, head] : s.ablated)
        if (layer < 0 || layer >= config.layers || head < 0 || head >= config.heads)
            return Error{"head " + std::to_string(head) + " of layer " + std::to_string(layer) +
                         " cannot be left out: the network has " + std::to_string(config.layers) +
                         " layers of " + std::to_string(config.heads) + " heads, counted from 0"};
    return ok();
}

Result<Trainer> Trainer::start(std::span<const std::byte> config_json, const TrainingSettings& settings,
                               Batches batches, const TrainedKernels& kernels) {
    Trainer trainer;
    Result<ModelConfig> config = parse_model_config(config_json);
    if (!config) return config.error();
    if (Status sound = check(settings, *config); !sound) return sound.error();
    Result<ParameterLayout> layout = ParameterLayout::of(*config);
    if (!layout) return layout.error();

    trainer.config_json_.assign(config_json.begin(), config_json.end());
    trainer.config_ = *std::move(config);
    trainer.settings_ = settings;
    trainer.batches_ = std::move(batches);
    ParameterBuffer parameters = initial_parameters(*layout, trainer.config_, mixed(settings.seed, 0),
                                                    settings.initial_deviation, settings.position_waves);
    if (settings.attention_only)
        for (const auto& entry : layout->entries())
            if (entry.name.find(".mlp.") != std::string::npos)
                std::ranges::fill(entry.in(std::span(parameters)), 0.0f);
    trainer.optimiser_ = Optimiser(*std::move(layout), std::move(parameters), settings, *kernels.backward);

    Result<std::shared_ptr<const Model>> model = trainer.model();
    if (!model) return model.error();
    if (Status can = TrainedNetwork::check(**model); !can) return can.error();
    trainer.network_ = std::make_unique<TrainedNetwork>(**model, trainer.layout(), settings.attention_only,
                                                        kernels, settings.ablated);
    const auto tokens = static_cast<std::size_t>(settings.context);
    for (int i = 0; i < std::min<Index>(thread_count(), settings.batch); ++i)
        trainer.shards_.push_back(std::make_shared<Shard>(Shard{
            trainer.network_->activations(settings.context), ParameterBuffer(trainer.parameters().size()),
            std::vector<std::int32_t>(tokens), std::vector<std::int32_t>(tokens)}));
    return trainer;
}

Result<bool> Trainer::advance() {
    const Index threads = std::ssize(shards_), first = next_sequence_;
    const float weight = 1 / static_cast<float>(settings_.batch * settings_.context);
    next_sequence_ = std::min(first + threads, settings_.batch);
    for_each_task(next_sequence_ - first, [&](Index i) {
        Shard& shard = *shards_[static_cast<std::size_t>(i)];
        const Index sequence = first + i;
        batches_(steps_taken(), sequence, shard.ids, shard.targets);
        const Dropout dropout{static_cast<float>(settings_.dropout),
                              mixed(settings_.seed + 1, static_cast<std::uint64_t>(steps_taken()),
                                    static_cast<std::uint64_t>(sequence))};
        shard.loss += network_->gradient(parameters(), shard.ids, shard.targets, weight, dropout, *shard.kept,
                                         shard.gradients);
        shard.counted += std::ssize(shard.targets) - std::ranges::count(shard.targets, -1);
    });
    if (next_sequence_ < settings_.batch) return false;

    next_sequence_ = 0;
    double loss = 0;
    Index counted = 0;
    std::vector<std::span<float>> gradients;
    for (const auto& shard : shards_) gradients.emplace_back(shard->gradients);
    for (const auto& shard : shards_) {
        loss += std::exchange(shard->loss, 0);
        counted += std::exchange(shard->counted, 0);
    }
    const auto step = optimiser_.step(loss / static_cast<double>(std::max<Index>(counted, 1)), gradients);
    if (!step) return step.error();
    last_ = *step;
    last_.targets = counted;
    return true;
}

Result<Trainer::Step> Trainer::step() {
    for (;;) {
        const Result<bool> done = advance();
        if (!done) return done.error();
        if (*done) return last_;
    }
}

Evaluation Trainer::evaluate(std::span<const std::int32_t> ids) const {
    return attn::evaluate(*network_, parameters(), settings_.context, ids);
}

std::vector<std::byte> Trainer::weights(DType dtype) const {
    return safetensors_of(layout(), parameters_as_run(), dtype);
}

ParameterBuffer Trainer::parameters_as_run() const {
    ParameterBuffer run(parameters().begin(), parameters().end());
    zero_output_weights(config_, layout(), settings_.ablated, run);
    return run;
}

Result<std::shared_ptr<const Model>> Trainer::model() const {
    return model_of(config_json_, layout(), parameters_as_run());
}

Result<Trainer> Trainer::resume(std::span<const std::byte> config_json, const TrainingSettings& settings,
                                Batches batches, std::span<const std::byte> checkpoint) {
    Result<Trainer> trainer = start(config_json, settings, std::move(batches));
    if (!trainer) return trainer;
    if (Status restored = trainer->optimiser_.restore(checkpoint); !restored) return restored.error();
    return trainer;
}

}  // namespace attn
