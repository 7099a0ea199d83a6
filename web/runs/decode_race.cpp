#include "runs/decode_race.hpp"

#include "app/clock.hpp"

namespace attn::app {

namespace {

constexpr double race_slice_operations = 60e6;  // about 2 ms at 30 GFLOP/s
constexpr double long_enough_ms = 100;          // minimum for both sides together
constexpr int most_passes = 200;

}  // namespace

Result<DecodeRace> DecodeRace::start(std::shared_ptr<const Trace> trace) {
    if (!trace->network().causal) return Error{"A model that reads in both directions decodes nothing."};
    if (trace->tokens() < 2) return Error{"A text of one token leaves nothing to decode."};
    DecodeRace race(std::move(trace));
    auto running = race.run(race.trace_->tokens() - 1);
    if (!running) return running.error();
    race.running_ = *std::move(running);
    return race;
}

// Runs the text's first tokens.
Result<ForwardPass> DecodeRace::run(Index tokens) const {
    const auto part = trace_->ids().first(static_cast<std::size_t>(tokens));
    const std::vector<std::int32_t> ids(part.begin(), part.end());
    const Trace* encoder = trace_->encoder().get();
    if (!encoder) return ForwardPass::start(trace_->model(), ids, trace_->kernels(), race_slice_operations);
    return ForwardPass::start(trace_->model(), {encoder->ids().begin(), encoder->ids().end()},
                              trace_->kernels(), race_slice_operations, {}, ids);
}

bool DecodeRace::step_whole() {
    if (!running_) {
        auto begun = run(trace_->tokens());
        if (!begun) return true;
        running_ = *std::move(begun);
    }
    const double began = now_ms();
    const bool more = running_->step();
    if (!more) {
        const auto whole = running_->finish();
        running_.reset();
        (*whole)->logits({trace_->tokens() - 1, trace_->tokens()});
    }
    whole_ms_ += now_ms() - began;
    return !more;
}

bool DecodeRace::step_decoding() {
    if (!decoding_) {
        auto begun = Generator::start(before_, {});
        if (!begun) return true;
        decoding_ = *std::move(begun);
        if (!decoding_->next()) return true;
    }
    const double began = now_ms();
    const bool more = decoding_->step();
    step_ms_ += now_ms() - began;
    if (!more) decoding_.reset();
    return !more;
}

bool DecodeRace::step() {
    if (done_) return false;
    if (!before_) {
        if (running_->step()) return true;
        if (auto before = running_->finish()) before_ = *before;
        running_.reset();
        done_ = !before_;
        return !done_;
    }
    if (whole_next_) {
        whole_next_ = !step_whole();
        return true;
    }
    whole_next_ = step_decoding();
    if (!whole_next_) return true;
    if (++passes_ == 0) whole_ms_ = step_ms_ = 0;
    done_ = whole_ms_ + step_ms_ >= long_enough_ms || passes_ >= most_passes;
    return !done_;
}

}  // namespace attn::app
