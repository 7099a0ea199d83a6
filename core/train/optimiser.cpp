#include "train/optimiser.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <utility>

#include "io/safetensors.hpp"
#include "kernels/workers.hpp"

namespace attn {

namespace {

Error out_of_range(const std::string& what, double value, std::string_view range) {
    return Error{what + " is " + std::to_string(value) + "; it has to be " + std::string(range)};
}

}  // namespace

double Schedule::at(std::int64_t step) const {
    if (step < warmup) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
    const double done = static_cast<double>(std::min(step, steps) - warmup) /
                        static_cast<double>(std::max<std::int64_t>(steps - warmup, 1));
    return final_rate + (rate - final_rate) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

Status check(const TrainingSettings& s) {
    const auto number = [](std::int64_t n) { return static_cast<double>(n); };
    if (s.batch < 1 || s.batch > 4096)
        return out_of_range("the batch", number(s.batch), "1 to 4,096 sequences");
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
    return ok();
}

Optimiser::Optimiser(ParameterLayout layout, ParameterBuffer initial, const TrainingSettings& settings,
                     const BackwardKernels& kernels)
    : layout_(std::move(layout)),
      parameters_(std::move(initial)),
      mean_(parameters_.size()),
      square_(parameters_.size()),
      settings_(settings),
      kernels_(&kernels) {}

Result<Optimiser::Step> Optimiser::step(double loss, std::span<const std::span<float>> gradients) {
    const std::span<float> gradient = gradients[0];
    constexpr Index block = 1 << 16;
    for_each_block(std::ssize(gradient), block, [&](Range range) {
        for (const std::span<float> part : gradients.subspan(1))
            for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i)
                gradient[i] += std::exchange(part[i], 0.0f);
    });
    const double norm = std::sqrt(kernels_->sum_of_squares(gradient));
    if (!std::isfinite(loss) || !std::isfinite(norm)) {
        std::ranges::fill(gradient, 0.0f);
        return Error{"the loss is no longer a finite number at step " + std::to_string(step_ + 1) +
                     ": go back to a checkpoint and lower the learning rate"};
    }
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
        kernels_->adamw(adam, part(parameters_), entry.in(std::span<const float>(gradient)), part(mean_),
                        part(square_));
    });
    std::ranges::fill(gradient, 0.0f);
    return Step{step_++, loss, norm, rate};
}

std::vector<std::byte> Optimiser::checkpoint() const {
    const Shape flat{layout_.size()};
    const auto tensor = [&](std::string name, const ParameterBuffer& values) {
        return TensorToWrite{std::move(name), DType::f32, flat, std::as_bytes(std::span(values))};
    };
    return write_safetensors(
        std::vector{tensor("parameters", parameters_), tensor("adam.m", mean_), tensor("adam.v", square_)},
        {{"steps_taken", std::to_string(step_)}});
}

Status Optimiser::restore(std::span<const std::byte> checkpoint) {
    const Result<SafetensorsFile> file = parse_safetensors(checkpoint);
    if (!file) return file.error();
    const auto& metadata = file->header.metadata;
    const auto steps = metadata.find("steps_taken");
    std::int64_t taken = -1;
    if (steps != metadata.end())
        std::from_chars(steps->second.data(), steps->second.data() + steps->second.size(), taken);
    if (taken < 0) return Error{"this file is not a checkpoint: it does not say how many steps were taken"};
    for (const auto& [name, buffer] : {std::pair{"parameters", &parameters_}, std::pair{"adam.m", &mean_},
                                       std::pair{"adam.v", &square_}}) {
        const Result<Tensor> tensor = file->tensor(name);
        if (!tensor) return tensor.error();
        if (tensor->size() != std::ssize(*buffer))
            return Error{"this checkpoint is of another network: " + std::string(name) + " has " +
                         std::to_string(tensor->size()) + " values instead of " +
                         std::to_string(buffer->size())};
        std::ranges::copy(tensor->values(), buffer->begin());
    }
    step_ = taken;
    return ok();
}

}  // namespace attn
