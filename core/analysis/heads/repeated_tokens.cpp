#include "analysis/heads/repeated_tokens.hpp"

#include <limits>
#include <utility>

namespace attn {

namespace {

void add(const HeadScores& from, double share, HeadScores& to) {
    for (const auto field : {&HeadScores::previous_token, &HeadScores::current_token,
                             &HeadScores::first_token, &HeadScores::duplicate_token, &HeadScores::induction,
                             &HeadScores::distance, &HeadScores::entropy, &HeadScores::spread})
        to.*field += share * from.*field;
}

}  // namespace

double stripe(const Record& record, Index head, Index period, Index back) {
    double sum = 0;
    for (Index query = period; query < 2 * period; ++query) {
        float weight = 0;
        record.stage(Stage::weight, head, {query, query + 1}, {query - back, query - back + 1}, {&weight, 1});
        sum += static_cast<double>(weight);
    }
    return sum / static_cast<double>(period);
}

Result<RepeatedTokens> RepeatedTokens::start(std::shared_ptr<const Model> model, Index period,
                                             Index sequences, Index first_id, std::uint64_t seed) {
    RepeatedTokens all;
    const ModelConfig& config = model->config();
    all.scores_.assign(static_cast<std::size_t>(config.attentions()),
                       std::vector<RepeatedTokenScores>(static_cast<std::size_t>(config.heads)));
    all.model_ = std::move(model);
    all.period_ = period;
    all.sequences_ = sequences;
    all.first_id_ = first_id;
    all.random_ = Random(seed);
    if (const Status begun = all.begin_sequence(); !begun) return begun.error();
    return all;
}

Status RepeatedTokens::begin_sequence() {
    std::vector<std::int32_t> ids =
        random_integers(random_, static_cast<std::size_t>(period_), static_cast<std::int32_t>(first_id_),
                        static_cast<std::int32_t>(model_->config().vocab_size));
    for (Index i = 0; i < period_; ++i) ids.push_back(ids[static_cast<std::size_t>(i)]);
    std::vector<std::int32_t> decoder_ids;
    if (model_->config().decoder_layers > 0) {
        decoder_ids = ids;
        decoder_ids[0] = decoder_ids[static_cast<std::size_t>(period_)] = model_->config().start_id;
    }
    auto forward = ForwardPass::start(model_, std::move(ids), default_kernels(), operations_of_a_frame, {},
                                      std::move(decoder_ids));
    if (!forward) return forward.error();
    forward_ = *std::move(forward);
    next_ = 0;
    return ok();
}

Result<bool> RepeatedTokens::step() {
    if (forward_) {
        if (forward_->step()) return true;
        auto trace = forward_->finish();
        if (!trace) return trace.error();
        forward_.reset();
        trace_ = *std::move(trace);
        return true;
    }
    if (sequence_ == sequences_) return false;
    const ModelConfig& config = model_->config();
    measure(next_ / config.heads, next_ % config.heads);
    if (++next_ < config.attentions() * config.heads) return true;
    trace_.reset();
    if (++sequence_ == sequences_) return false;
    if (const Status begun = begin_sequence(); !begun) return begun.error();
    return true;
}

void RepeatedTokens::measure(Index layer, Index head) {
    const double share = 1 / static_cast<double>(sequences_);
    RepeatedTokenScores& to = scores_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
    const LayerAttention of = trace_->attention(layer);
    const bool of_one_text = of.place.kind != AttentionKind::cross;
    HeadScoring scoring(stage_map(record_of(trace_, layer), head, Stage::weight),
                        of_one_text ? std::make_shared<const TokenCopies>(of.queries.ids()) : nullptr);
    while (scoring.step()) {
    }
    add(scoring.scores(), share, to.head);
    const auto mean_stripe = [&](Index back) {
        return of_one_text ? stripe(of.record(), head, period_, back)
                           : std::numeric_limits<double>::quiet_NaN();
    };
    to.duplicate_stripe += share * mean_stripe(period_);
    to.induction_stripe += share * mean_stripe(period_ - 1);
}

Result<RepeatedTokenTable> score_repeated_tokens(const std::shared_ptr<const Model>& model, Index period,
                                                 Index sequences, Index first_id, std::uint64_t seed) {
    auto all = RepeatedTokens::start(model, period, sequences, first_id, seed);
    if (!all) return all.error();
    for (;;) {
        const auto more = all->step();
        if (!more) return more.error();
        if (!*more) return all->scores();
    }
}

}  // namespace attn
