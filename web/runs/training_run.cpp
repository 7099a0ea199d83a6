#include "runs/training_run.hpp"

#include <algorithm>
#include <cmath>

#include "app/clock.hpp"
#include "io/safetensors.hpp"

namespace attn::app {

namespace {

constexpr std::size_t points_limit = 256, checkpoint_bytes_limit = 64'000'000;

// Removes every second item until few enough are left; those that stay are multiples of a longer stride.
template <class Item>
void thin(std::vector<Item>& items, std::size_t limit, std::int64_t& stride) {
    while (items.size() > limit) {
        stride *= 2;
        const std::int64_t newest = items.back().step;
        std::erase_if(items,
                      [&](const Item& item) { return item.step % stride != 0 && item.step != newest; });
    }
}

bool is_finite(const TrainingPoint& point) {
    return std::ranges::all_of(point.heads, [](const HeadPoint& head) {
        return std::isfinite(head.entropy) && std::isfinite(head.induction);
    });
}

}  // namespace

Result<TrainingRun> TrainingRun::start(TrainingPlan plan) {
    if (Status status = check(plan); !status) return status.error();
    Result<TrainingData> data = training_data(plan);
    if (!data) return data.error();
    TrainingRun run;
    run.plan_ = std::move(plan);
    run.data_ = std::make_shared<const TrainingData>(*std::move(data));
    if (Status status = run.begin(nullptr); !status) return status.error();
    return run;
}

Result<TrainingRun> TrainingRun::fork(const TrainingRun& from, TrainingPlan plan, std::int64_t latest) {
    if (Status status = check(plan); !status) return status.error();
    const std::int64_t common = std::min(common_steps(from.plan_, plan), latest);
    if (common == 0) return start(std::move(plan));
    TrainingRun run;
    run.plan_ = std::move(plan);
    run.data_ = from.data_;
    const auto upto = [&](std::int64_t step) { return step <= common; };
    std::ranges::copy_if(from.checkpoints_, std::back_inserter(run.checkpoints_), upto, &Checkpoint::step);
    if (from.trainer_ && upto(from.trainer_->steps_taken()))
        run.checkpoints_.push_back(
            {from.trainer_->steps_taken(),
             std::make_shared<const std::vector<std::byte>>(from.trainer_->checkpoint())});
    if (run.checkpoints_.empty()) return start(std::move(run.plan_));
    const Checkpoint newest = run.checkpoints_.back();
    const auto losses = from.losses().first(static_cast<std::size_t>(newest.step));
    run.losses_.assign(losses.begin(), losses.end());
    run.targets_ = from.targets_;
    for (const TrainingPoint& point : from.points_)
        if (point.step < newest.step) run.points_.push_back(point);
    std::erase_if(run.checkpoints_, [&](const Checkpoint& each) { return each.step == newest.step; });
    run.point_stride_ = from.point_stride_;
    run.checkpoint_stride_ = from.checkpoint_stride_;
    if (Status status = run.begin(&newest); !status) return status.error();
    return run;
}

Status TrainingRun::begin(const Checkpoint* from) {
    const std::int64_t step = from ? from->step : 0;
    if (Status status = train_from(step, from ? from->bytes.get() : nullptr); !status) return status;
    layout_ = trainer_->layout();
    return step % point_stride_ == 0 ? begin_measuring() : ok();
}

Status TrainingRun::train_from(std::int64_t step, const std::vector<std::byte>* checkpoint) {
    const auto config = config_json_of(plan_, data_->vocabulary, step);
    auto batches = data_->batches(plan_, plan_.values_at(step).seed);
    if (!batches) return batches.error();
    const TrainingSettings settings = settings_of(plan_, step);
    Result<Trainer> trainer = checkpoint ? Trainer::resume(config, settings, *std::move(batches), *checkpoint)
                                         : Trainer::start(config, settings, *std::move(batches));
    if (!trainer) return trainer.error();
    trainer_ = *std::move(trainer);
    return ok();
}

Status TrainingRun::enter_values() {
    const std::int64_t step = trainer_->steps_taken();
    if (std::ranges::find(plan_.changes, step, &TrainingChange::step) == plan_.changes.end()) return ok();
    const std::vector<std::byte> checkpoint = trainer_->checkpoint();
    return train_from(step, &checkpoint);
}

Status TrainingRun::begin_measuring() {
    auto model = trainer_->model();
    if (!model) return model.error();
    auto measuring = HeadMeasuring::start(*std::move(model), *data_);
    if (!measuring) return measuring.error();
    measuring_ = *std::move(measuring);
    return ok();
}

bool TrainingRun::advance(std::int64_t target, double budget_ms) {
    const double until = now_ms() + budget_ms;
    do {
        const bool more = trainer_ && trainer_->steps_taken() < std::min(target, plan_.steps);
        if (!measuring_ && !more) return false;
        work();
    } while (now_ms() < until);
    return true;
}

void TrainingRun::work() {
    if (measuring_) {
        const Result<bool> more = measuring_->step();
        if (!more) return fail(more.error());
        if (!*more) keep_point();
        return;
    }
    const Result<bool> done = trainer_->advance();
    if (!done) return fail(done.error());
    if (!*done) return;
    losses_.push_back(static_cast<float>(trainer_->last().loss));
    targets_ = trainer_->last().targets;
    const std::int64_t step = trainer_->steps_taken();
    Status status = enter_values();
    if (status && (step % point_stride_ == 0 || step == plan_.steps)) status = begin_measuring();
    if (!status) fail(status.error());
}

void TrainingRun::keep_point() {
    TrainingPoint point{trainer_->steps_taken(), measuring_->points()};
    measuring_.reset();
    if (!is_finite(point))
        return fail({"what the heads compute is no longer a finite number after step " +
                     std::to_string(point.step) + ": go back to a checkpoint and lower the learning rate"});
    points_.push_back(std::move(point));
    thin(points_, points_limit, point_stride_);
    const std::int64_t step = trainer_->steps_taken();
    if (step % checkpoint_stride_ != 0 && step != plan_.steps) return;
    checkpoints_.push_back({step, std::make_shared<const std::vector<std::byte>>(trainer_->checkpoint())});
    const std::size_t room = checkpoint_bytes_limit / checkpoints_.back().bytes->size();
    thin(checkpoints_, std::clamp<std::size_t>(room, 2, points_limit), checkpoint_stride_);
}

std::int64_t TrainingRun::bytes(std::set<const void*>& counted) const {
    std::int64_t bytes = std::ssize(losses_) * static_cast<std::int64_t>(sizeof(float));
    for (const Checkpoint& each : checkpoints_)
        if (counted.insert(each.bytes.get()).second) bytes += std::ssize(*each.bytes);
    if (trainer_ && !checkpoints_.empty()) bytes += std::ssize(*checkpoints_.back().bytes);
    return bytes;
}

void TrainingRun::fail(Error error) {
    failure_ = std::move(error);
    measuring_.reset();
    trainer_.reset();
}

std::int64_t TrainingRun::steps_taken() const {
    if (trainer_) return trainer_->steps_taken();
    return checkpoints_.empty() ? 0 : checkpoints_.back().step;
}

std::vector<std::int64_t> TrainingRun::checkpoints() const {
    std::vector<std::int64_t> steps;
    for (const Checkpoint& each : checkpoints_) steps.push_back(each.step);
    if (steps.empty() || steps.back() != steps_taken()) steps.push_back(steps_taken());
    return steps;
}

Result<std::shared_ptr<const Model>> TrainingRun::model_at(const Checkpoint& checkpoint) const {
    ModelFiles files;
    files.config = config_json_of(plan_, data_->vocabulary, checkpoint.step);
    const Result<ModelConfig> config = parse_model_config(files.config);
    if (!config) return config.error();
    const Result<SafetensorsFile> file = parse_safetensors(*checkpoint.bytes);
    if (!file) return file.error();
    Result<Tensor> parameters = file->tensor("parameters");
    if (!parameters) return parameters.error();
    zero_output_weights(*config, layout_, plan_.values_at(checkpoint.step).ablated, parameters->values());
    files.weights["model.safetensors"] = safetensors_of(layout_, parameters->values(), DType::f32);
    return Model::load(std::move(files));
}

std::int64_t TrainingRun::shown_step(std::int64_t step) const {
    if (checkpoints_.empty() || (trainer_ && step >= trainer_->steps_taken())) return steps_taken();
    const auto after = std::ranges::upper_bound(checkpoints_, step, {}, &Checkpoint::step);
    return after == checkpoints_.begin() ? after->step : std::prev(after)->step;
}

Result<TrainingView> TrainingRun::state_at(std::int64_t step) const {
    const std::int64_t at = shown_step(step);
    const auto kept = std::ranges::find(checkpoints_, at, &Checkpoint::step);
    const bool newest = trainer_ && at == trainer_->steps_taken();
    if (!newest && kept == checkpoints_.end()) return Error{"the run has no network to show"};
    auto model = newest ? trainer_->model() : model_at(*kept);
    if (!model) return model.error();
    auto probe = run_forward(*model, data_->probe);
    if (!probe) return probe.error();
    return TrainingView{at, *std::move(model), *std::move(probe)};
}

// The model's W_O is 0 for ablated heads, and its MLP is 0 if the plan has none.
std::vector<Tensor> TrainingRun::attention_gradients(const TrainingView& view) const {
    const TrainedNetwork network(*view.model, layout_, false);
    return network.attention_gradients(parameters_of(layout_, *view.model), data_->probe,
                                       data_->probe_targets, *network.activations(view.probe->tokens()));
}

}  // namespace attn::app
