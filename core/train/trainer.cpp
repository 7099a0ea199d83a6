#include "train/trainer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

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

Error out_of_range(std::string what, double value, std::string_view range) {
    return Error{what + " is " + std::to_string(value) + "; it has to be " + std::string(range)};
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

double Schedule::at(std::int64_t step) const {
    if (step < warmup) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
    const double done = static_cast<double>(std::min(step, steps) - warmup) /
                        static_cast<double>(std::max<std::int64_t>(steps - warmup, 1));
    return final_rate + (rate - final_rate) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

Status check(const TrainingSettings& s, const ModelConfig& config) {
    const auto number = [](std::int64_t n) { return static_cast<double>(n); };
    if (s.batch < 1 || s.batch > 4096)
        return out_of_range("the batch", number(s.batch), "1 to 4,096 sequences");
    if (s.context < 1 || s.context > config.context)
        return out_of_range(
            "the context", number(s.context),
            "1 to " + std::to_string(config.context) + " tokens, as many as the model's positions");
    if (s.schedule.steps < 1)
        return out_of_range("the number of steps", number(s.schedule.steps), "1 or more");
    if (s.schedule.warmup < 0)
        return out_of_range("the warm-up", number(s.schedule.warmup), "0 steps or more");
    if (!(s.schedule.rate > 0) || !std::isfinite(s.schedule.rate))
        return out_of_range("the learning rate", s.schedule.rate, "more than 0");
    if (!(s.schedule.final_rate >= 0) || s.schedule.final_rate > s.schedule.rate)
        return out_of_range("the final learning rate", s.schedule.final_rate, "from 0 to the learning rate");
    if (!(s.dropout >= 0 && s.dropout < 1))
        return out_of_range("dropout", s.dropout, "0 or more and less than 1");
    if (!(s.clip >= 0)) return out_of_range("the gradient's limit", s.clip, "0 for none, or more");
    if (!(s.beta1 >= 0 && s.beta1 < 1)) return out_of_range("beta1", s.beta1, "0 or more and less than 1");
    if (!(s.beta2 >= 0 && s.beta2 < 1)) return out_of_range("beta2", s.beta2, "0 or more and less than 1");
    if (!(s.initial_deviation > 0 && s.initial_deviation <= 1))
        return out_of_range("the initial deviation", s.initial_deviation, "above 0 and at most 1");
    if (!(s.position_waves >= 0 && s.position_waves <= 1))
        return out_of_range("the amplitude of the positions' waves", s.position_waves, "0 to 1");
    if (!(s.weight_decay >= 0)) return out_of_range("weight decay", s.weight_decay, "0 or more");
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
    trainer.kernels_ = kernels;
    Result<ModelConfig> config = parse_model_config(config_json);
    if (!config) return config.error();
    if (Status sound = check(settings, *config); !sound) return sound.error();
    Result<ParameterLayout> layout = ParameterLayout::of(*config);
    if (!layout) return layout.error();

    trainer.config_json_.assign(config_json.begin(), config_json.end());
    trainer.config_ = *std::move(config);
    trainer.settings_ = settings;
    trainer.batches_ = std::move(batches);
    trainer.layout_ = *std::move(layout);
    trainer.parameters_ = initial_parameters(trainer.layout_, trainer.config_, mixed(settings.seed, 0),
                                             settings.initial_deviation, settings.position_waves);
    if (settings.attention_only)
        for (const auto& entry : trainer.layout_.entries())
            if (entry.name.find(".mlp.") != std::string::npos)
                std::fill_n(trainer.parameters_.begin() + entry.offset, entry.size, 0.0f);
    trainer.mean_.resize(trainer.parameters_.size());
    trainer.square_.resize(trainer.parameters_.size());

    Result<std::shared_ptr<const Model>> model = trainer.model();
    if (!model) return model.error();
    if (Status can = TrainedNetwork::check(**model); !can) return can.error();
    trainer.network_ = std::make_unique<TrainedNetwork>(**model, trainer.layout_, settings.attention_only,
                                                        kernels, settings.ablated);
    const auto tokens = static_cast<std::size_t>(settings.context);
    for (int i = 0; i < std::min<Index>(thread_count(), settings.batch); ++i)
        trainer.shards_.push_back(std::make_shared<Shard>(Shard{
            trainer.network_->activations(settings.context), ParameterBuffer(trainer.parameters_.size()),
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
        batches_(step_, sequence, shard.ids, shard.targets);
        const Dropout dropout{static_cast<float>(settings_.dropout),
                              mixed(settings_.seed + 1, static_cast<std::uint64_t>(step_),
                                    static_cast<std::uint64_t>(sequence))};
        shard.loss += network_->gradient(parameters_, shard.ids, shard.targets, weight, dropout, *shard.kept,
                                         shard.gradients);
        shard.counted += std::ssize(shard.targets) - std::ranges::count(shard.targets, -1);
    });
    if (next_sequence_ < settings_.batch) return false;

    next_sequence_ = 0;
    double loss = 0;
    Index counted = 0;
    ParameterBuffer& sum = shards_[0]->gradients;
    for (const auto& shard : shards_) {
        loss += std::exchange(shard->loss, 0);
        counted += std::exchange(shard->counted, 0);
    }
    constexpr Index block = 1 << 16;
    for_each_block(std::ssize(sum), block, [&](Range range) {
        for (std::size_t shard = 1; shard < shards_.size(); ++shard)
            for (Index i = range.begin; i < range.end; ++i)
                sum[static_cast<std::size_t>(i)] += shards_[shard]->gradients[static_cast<std::size_t>(i)];
    });
    const double norm = std::sqrt(kernels_.backward->sum_of_squares(sum));
    const bool finite = std::isfinite(loss) && std::isfinite(norm);
    if (finite) finish_step(loss / static_cast<double>(std::max<Index>(counted, 1)), norm);
    for (const auto& shard : shards_) std::ranges::fill(shard->gradients, 0.0f);
    if (!finite)
        return Error{"the loss is no longer a finite number at step " + std::to_string(step_ + 1) +
                     ": go back to a checkpoint and lower the learning rate"};
    return true;
}

void Trainer::finish_step(double loss, double norm) {
    const double rate = settings_.schedule.at(step_), step = static_cast<double>(step_ + 1);
    const AdamW shared{.rate = static_cast<float>(rate),
                       .beta1 = static_cast<float>(settings_.beta1),
                       .beta2 = static_cast<float>(settings_.beta2),
                       .epsilon = static_cast<float>(settings_.epsilon),
                       .weight_decay = 0,
                       .correction1 = static_cast<float>(1 - std::pow(settings_.beta1, step)),
                       .correction2 = static_cast<float>(1 - std::pow(settings_.beta2, step)),
                       .gradient_factor = settings_.clip > 0 && norm > settings_.clip
                                              ? static_cast<float>(settings_.clip / norm)
                                              : 1.0f};
    const auto entries = layout_.entries();
    for_each_task(std::ssize(entries), [&](Index i) {
        const auto& entry = entries[static_cast<std::size_t>(i)];
        const auto part = [&](ParameterBuffer& all) { return entry.in(std::span(all)); };
        AdamW adam = shared;
        adam.weight_decay = entry.shape.size() > 1 ? static_cast<float>(settings_.weight_decay) : 0;
        kernels_.backward->adamw(adam, part(parameters_), part(shards_[0]->gradients), part(mean_),
                                 part(square_));
    });
    last_ = {step_, loss, norm, rate};
    ++step_;
}

Result<Trainer::Step> Trainer::step() {
    for (;;) {
        const Result<bool> done = advance();
        if (!done) return done.error();
        if (*done) return last_;
    }
}

Evaluation Trainer::evaluate(std::span<const std::int32_t> ids) const {
    return attn::evaluate(*network_, parameters_, settings_.context, ids);
}

std::vector<std::byte> Trainer::weights(DType dtype) const {
    return safetensors_of(layout_, parameters_as_run(), dtype);
}

ParameterBuffer Trainer::parameters_as_run() const {
    ParameterBuffer parameters = parameters_;
    zero_output_weights(config_, layout_, settings_.ablated, parameters);
    return parameters;
}

Result<std::shared_ptr<const Model>> Trainer::model() const {
    return model_of(config_json_, layout_, parameters_as_run());
}

std::vector<std::byte> Trainer::checkpoint() const {
    const Shape flat{layout_.size()};
    const auto tensor = [&](std::string name, const ParameterBuffer& values) {
        return TensorToWrite{std::move(name), DType::f32, flat, std::as_bytes(std::span(values))};
    };
    return write_safetensors(
        std::vector{tensor("parameters", parameters_), tensor("adam.m", mean_), tensor("adam.v", square_)},
        {{"steps_taken", std::to_string(step_)}});
}

Result<Trainer> Trainer::resume(std::span<const std::byte> config_json, const TrainingSettings& settings,
                                Batches batches, std::span<const std::byte> checkpoint) {
    Result<Trainer> trainer = start(config_json, settings, std::move(batches));
    if (!trainer) return trainer;
    const Result<SafetensorsFile> file = parse_safetensors(checkpoint);
    if (!file) return file.error();
    const auto& metadata = file->header.metadata;
    const auto steps = metadata.find("steps_taken");
    std::int64_t taken = -1;
    if (steps != metadata.end())
        std::from_chars(steps->second.data(), steps->second.data() + steps->second.size(), taken);
    if (taken < 0) return Error{"this file is not a checkpoint: it does not say how many steps were taken"};
    for (const auto& [name, buffer] :
         {std::pair{"parameters", &trainer->parameters_}, std::pair{"adam.m", &trainer->mean_},
          std::pair{"adam.v", &trainer->square_}}) {
        const Result<Tensor> tensor = file->tensor(name);
        if (!tensor) return tensor.error();
        if (tensor->size() != std::ssize(*buffer))
            return Error{"this checkpoint is of another network: " + std::string(name) + " has " +
                         std::to_string(tensor->size()) + " values instead of " +
                         std::to_string(buffer->size())};
        std::ranges::copy(tensor->values(), buffer->begin());
    }
    trainer->step_ = taken;
    return trainer;
}

}  // namespace attn
