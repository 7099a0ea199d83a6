#include "analysis/heads/smaller_runs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attn {

namespace {

constexpr double slice_operations = 60e6;  // about 2 ms at 30 GFLOP/s

std::vector<double> probabilities_of(std::span<const float> logits) {
    const auto most = static_cast<double>(*std::ranges::max_element(logits));
    std::vector<double> all;
    double sum = 0;
    for (const float each : logits) sum += all.emplace_back(std::exp(static_cast<double>(each) - most));
    for (double& each : all) each /= sum;
    return all;
}

double relative_change(ConstMatrix changed, ConstMatrix before) {
    double off = 0, whole = 0;
    for (Index r = 0; r < before.rows; ++r)
        for (Index c = 0; c < before.cols; ++c) {
            const auto was = static_cast<double>(before(r, c)),
                       difference = static_cast<double>(changed(r, c)) - was;
            off += difference * difference;
            whole += was * was;
        }
    return std::sqrt(off / whole);
}

}  // namespace

double Smaller::mean_change() const {
    return std::accumulate(changes.begin(), changes.end(), 0.0) / static_cast<double>(changes.size());
}

SmallerRuns::SmallerRuns(std::shared_ptr<const Trace> trace, Index row,
                         std::shared_ptr<LatentFactors> factors)
    : trace_(std::move(trace)),
      row_(row),
      factors_(std::move(factors)),
      most_(factors_ ? factors_->most_rank() : trace_->model()->config().kv_heads) {
    if (shares()) {
        settings_ = shared_head_counts(trace_->model()->config());
        settings_.erase(settings_.begin());  // the unchanged run
        return;
    }
    for (Index rank = 1; rank < most_; rank *= 2) settings_.push_back(rank);
    settings_.push_back(most_);
}

Index SmallerRuns::nearest(Index asked) const {
    if (asked == 0) asked = most_ / 2;
    if (!shares()) return std::clamp(asked, Index{1}, most_);
    if (asked >= most_ || settings_.empty()) return 0;
    return *std::ranges::min_element(settings_, {}, [&](Index each) { return std::abs(each - asked); });
}

Index SmallerRuns::kept(Index setting) const {
    const ModelConfig& config = trace_->model()->config();
    return setting == 0 ? cached_numbers(config, config.kv_heads)
           : shares()   ? cached_numbers(config, setting)
                        : cached_attentions(config) * setting;
}

const Smaller* SmallerRuns::at(Index setting) const {
    const auto found = done_.find(setting);
    return found == done_.end() ? nullptr : &found->second;
}

double SmallerRuns::progress() const {
    if (!work_) return 1;
    if (work_->loss) return 0.8 + 0.2 * work_->loss->progress();
    if (work_->trace) return 0.7;
    if (work_->forward) return 0.2 + 0.5 * static_cast<double>(work_->forward->progress());
    return work_->model ? 0.2 * static_cast<double>(work_->model->progress()) : 0;
}

void SmallerRuns::begin(Index setting) {
    work_.emplace(Work{.setting = setting});
    if (setting == 0)
        work_->trace = trace_;
    else
        work_->model.emplace(shares() ? SmallerModel::shared(trace_->model(), setting)
                                      : SmallerModel::latent(factors_, setting));
}

bool SmallerRuns::run() {
    Work& work = *work_;
    if (work.forward) {
        if (work.forward->step()) return true;
        auto made = work.forward->finish();
        work.forward.reset();
        if (!made) return false;
        if (!work.changed && !trace_->interventions().empty()) {
            work.changed = true;
            auto with = ForwardPass::start_with(trace_->interventions(), *made, slice_operations);
            if (!with) return false;
            work.forward.emplace(*std::move(with));
            return true;
        }
        work.trace = *std::move(made);
        return true;
    }
    if (work.model->step()) return true;
    const auto ids_of = [](const Trace& trace) {
        return std::vector<std::int32_t>(trace.ids().begin(), trace.ids().end());
    };
    const Trace& read = trace_->encoder() ? *trace_->encoder() : *trace_;
    auto begun = ForwardPass::start(work.model->finish(), ids_of(read), trace_->kernels(), slice_operations,
                                    {read.segments().begin(), read.segments().end()},
                                    trace_->encoder() ? ids_of(*trace_) : std::vector<std::int32_t>{});
    if (!begun) return false;
    work.forward.emplace(*std::move(begun));
    return true;
}

void SmallerRuns::compare() {
    const auto number = std::ssize(work_->made.changes);
    work_->made.changes.push_back(
        relative_change(work_->trace->attention(number).run.attention_output.matrix(),
                        trace_->attention(number).run.attention_output.matrix()));
}

void SmallerRuns::finish() {
    Smaller& made = work_->made;
    made.loss = work_->loss->value();
    made.probabilities = probabilities_of(work_->trace->logits({row_, row_ + 1}).values());
    if (const Smaller* before = at(0))
        for (std::size_t i = 0; i < made.probabilities.size(); ++i)
            made.moved += std::abs(made.probabilities[i] - before->probabilities[i]) / 2;
    done_.emplace(work_->setting, std::move(made));
    work_.reset();
}

bool SmallerRuns::step(Index wanted) {
    if (!factored()) {
        factors_->step();
        return true;
    }
    if (at(wanted)) last_ = wanted;
    if (work_ && work_->setting != 0 && work_->setting != wanted && !at(wanted)) work_.reset();
    if (!work_) {
        const auto missing = std::ranges::find_if(settings_, [&](Index each) { return !at(each); });
        if (!at(0))
            begin(0);
        else if (!at(wanted))
            begin(wanted);
        else if (missing != settings_.end())
            begin(*missing);
        else
            return false;
        return true;
    }
    if (!work_->trace) {
        if (run()) return true;
        // The run succeeded before with the same text, so a number must have become infinite or NaN.
        Smaller none;
        none.loss = none.moved = std::numeric_limits<double>::quiet_NaN();
        none.changes.assign(static_cast<std::size_t>(trace_->attentions()), none.loss);
        none.probabilities.assign(at(0)->probabilities.size(), none.loss);
        done_.emplace(work_->setting, std::move(none));
        work_.reset();
        return true;
    }
    if (std::ssize(work_->made.changes) < trace_->attentions()) {
        compare();
        return true;
    }
    if (!work_->loss) work_->loss.emplace(work_->trace, slice_operations);
    if (work_->loss->step()) return true;
    finish();
    return true;
}

}  // namespace attn
