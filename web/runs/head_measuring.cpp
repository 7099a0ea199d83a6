#include "runs/head_measuring.hpp"

#include "analysis/heads/repeated_tokens.hpp"

namespace attn::app {

Result<HeadMeasuring> HeadMeasuring::start(std::shared_ptr<const Model> model, const TrainingData& data) {
    HeadMeasuring m;
    m.data_ = &data;
    m.model_ = std::move(model);
    auto forward = ForwardPass::start(m.model_, data.probe);
    if (!forward) return forward.error();
    m.forward_ = *std::move(forward);
    const ModelConfig& config = m.model_->config();
    m.points_.resize(static_cast<std::size_t>(config.layers * config.heads));
    return m;
}

const Record& HeadMeasuring::record(const Trace& trace) const {
    return trace.layers()[next_ / static_cast<std::size_t>(model_->config().heads)].attention;
}

Result<bool> HeadMeasuring::step() {
    if (forward_) {
        if (forward_->step()) return true;
        auto trace = forward_->finish();
        if (!trace) return trace.error();
        forward_.reset();
        (probe_ ? repeated_ : probe_) = *std::move(trace);
        if (!repeated_ && !data_->repeated.empty()) {
            auto next = ForwardPass::start(model_, data_->repeated);
            if (!next) return next.error();
            forward_ = *std::move(next);
        }
        return true;
    }
    if (next_ == points_.size()) return false;
    const Index heads = model_->config().heads, head = static_cast<Index>(next_) % heads;
    if (scoring_.done())
        scoring_ =
            HeadScoring(stage_map(record_of(probe_, static_cast<Index>(next_) / heads), head, Stage::weight),
                        data_->probe);
    if (scoring_.step()) return true;
    const HeadScores scores = scoring_.scores();
    HeadPoint& point = points_[next_];
    point.previous_token = scores.previous_token;
    point.entropy = scores.entropy;
    if (repeated_) {
        const Index period = repeated_->tokens() / 2;
        point.induction = stripe(record(*repeated_), head, period, period - 1);
    }
    return ++next_ < points_.size();
}

}  // namespace attn::app
