#include "runs/mistaken_training.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attn::app {

namespace {

constexpr std::int64_t recent = 20;  // batches that a mean loss is of
constexpr Index held_out_sequences = 16;
// Batches of this step train nothing: steps count from 0.
constexpr std::int64_t held_out_step = -2;
constexpr double rope_base = 10000;  // the same is in config_json_of

std::shared_ptr<const TrainedAttention> attention_of(const Implementation& how) {
    const auto attention = std::make_shared<const MistakenAttention>(mistaken_training_case(), how);
    return std::make_shared<const TrainedAttention>(TrainedAttention{
        .forward = [attention](ConstMatrix qkv, MatrixView<float> to) { attention->forward(qkv, to); },
        .backward = [attention](ConstMatrix qkv, ConstMatrix d,
                                MatrixView<float> to) { attention->backward(qkv, d, to); }});
}

}  // namespace

const TrainingPlan& mistaken_training_plan() {
    static const TrainingPlan plan = [] {
        TrainingPlan of = training_preset("induction")->plan;
        of.vocabulary = of.context = 32;
        of.batch = 16;
        of.steps = 600;
        return of;
    }();
    return plan;
}

const AttentionCase& mistaken_training_case() {
    static const AttentionCase shape = [] {
        const TrainingPlan& plan = mistaken_training_plan();
        return causal_case(plan.heads, plan.heads, plan.context, plan.d_model / plan.heads, rope_base);
    }();
    return shape;
}

const PossibleMistake& mistake_in_training(Index mistake) {
    static const auto all = possible_mistakes({mistaken_training_case(), ""});
    return all[static_cast<std::size_t>(mistake)];
}

std::optional<Implementation> implementation_in_training(Index mistake, std::string_view detail) {
    const std::vector<MistakeVariant>& variants = mistake_in_training(mistake).variants;
    if (variants.empty()) return std::nullopt;
    const auto same = std::ranges::find(variants, detail, &MistakeVariant::detail);
    Implementation how = right_implementation(mistaken_training_case());
    (same == variants.end() ? variants.front() : *same).apply(how);
    return how;
}

Result<MistakenTraining> MistakenTraining::start(std::optional<Implementation> how) {
    const TrainingPlan& plan = mistaken_training_plan();
    Result<TrainingData> data = training_data(plan);
    if (!data) return data.error();
    Result<Batches> batches = data->batches(plan, plan.values.seed);
    if (!batches) return batches.error();
    MistakenTraining run;
    run.held_out_ = *batches;
    TrainedKernels kernels;
    if (how) run.attention_ = kernels.attention = attention_of(*how);
    Result<Trainer> trainer = Trainer::start(config_json_of(plan, data->vocabulary, 0), settings_of(plan, 0),
                                             *std::move(batches), kernels);
    if (!trainer) return trainer.error();
    run.trainer_ = *std::move(trainer);
    return run;
}

double MistakenTraining::mean_loss(std::int64_t step) const {
    const auto count = std::min(step, recent);
    const auto batches =
        losses().subspan(static_cast<std::size_t>(step - count), static_cast<std::size_t>(count));
    return std::accumulate(batches.begin(), batches.end(), 0.0) / static_cast<double>(count);
}

std::optional<std::int64_t> MistakenTraining::first_below(double loss) const {
    for (std::int64_t step = recent; step <= steps_taken(); ++step)
        if (mean_loss(step) < loss) return step;
    return std::nullopt;
}

Result<MistakenTraining::Measured> MistakenTraining::measure(const TrainedKernels& kernels) const {
    const TrainingPlan& plan = mistaken_training_plan();
    const Result<std::shared_ptr<const Model>> model = trainer_->model();
    if (!model) return model.error();
    const TrainedNetwork network(**model, trainer_->layout(), !plan.mlp, kernels);
    const auto kept = network.activations(plan.context);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(plan.context)), targets(ids.size());
    Measured sum;
    Index counted = 0;
    for (Index sequence = 0; sequence < held_out_sequences; ++sequence) {
        held_out_(held_out_step, sequence, ids, targets);
        const auto loss = network.loss(trainer_->parameters(), ids, targets, *kept);
        sum.loss += loss.sum;
        sum.right += static_cast<double>(loss.right);
        counted += std::ssize(targets) - std::ranges::count(targets, -1);
    }
    return Measured{sum.loss / static_cast<double>(counted), sum.right / static_cast<double>(counted)};
}

bool MistakenTraining::step() {
    if (done()) return false;
    const auto fail = [&](const Error& error) {
        failure_ = error;
        trainer_.reset();
        return false;
    };
    if (trainer_->steps_taken() < mistaken_training_plan().steps) {
        const Result<bool> done = trainer_->advance();
        if (!done) return fail(done.error());
        if (*done) losses_.push_back(static_cast<float>(trainer_->last().loss));
        return true;
    }
    if (!put_right_) {
        const auto with_right = measure({});
        if (!with_right) return fail(with_right.error());
        put_right_ = *with_right;
        return true;
    }
    const auto own = measure({.attention = attention_});
    if (!own) return fail(own.error());
    measured_ = *own;
    trainer_.reset();
    return false;
}

const MistakenTraining* MistakenTrainings::find(const std::optional<Implementation>& how) const {
    const auto found = std::ranges::find(runs_, how, &Run::how);
    return found == runs_.end() ? nullptr : &found->run;
}

MistakenTraining* MistakenTrainings::begun(const std::optional<Implementation>& how) {
    const auto found = std::ranges::find(runs_, how, &Run::how);
    if (found != runs_.end()) return &found->run;
    Result<MistakenTraining> run = MistakenTraining::start(how);
    return run ? &runs_.emplace_back(how, *std::move(run)).run : nullptr;
}

bool MistakenTrainings::step(const Implementation& how) {
    MistakenTraining *right = begun(std::nullopt), *run = begun(how);
    if (!right || !run) return false;
    const bool right_is_next = !right->done() && (run->done() || right->steps_taken() <= run->steps_taken());
    (right_is_next ? right : run)->step();
    return !right->done() || !run->done();
}

std::int64_t MistakenTrainings::steps_taken() const {
    std::int64_t sum = 0;
    for (const Run& each : runs_) sum += each.run.steps_taken() + each.run.done();
    return sum;
}

double guessing_loss() {
    return std::log(static_cast<double>(mistaken_training_plan().vocabulary - 1));  // without the separator
}

std::optional<double> MistakenTrainings::learned(const MistakenTraining& run, Learned number) const {
    if (!run.measured()) return std::nullopt;
    switch (number) {
        case Learned::loss: return run.measured()->loss;
        case Learned::predicted: return run.measured()->right;
        case Learned::right_loss: return run.put_right()->loss;
        case Learned::right_predicted: return run.put_right()->right;
        case Learned::share: {
            if (!right() || !right()->measured()) return std::nullopt;
            return (guessing_loss() - run.measured()->loss) / (guessing_loss() - right()->measured()->loss);
        }
        case Learned::half: break;
    }
    const auto step = run.first_below(guessing_loss() / 2);
    return step ? std::optional(static_cast<double>(*step)) : std::nullopt;
}

}  // namespace attn::app
