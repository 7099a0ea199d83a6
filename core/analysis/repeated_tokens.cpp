#include "analysis/repeated_tokens.hpp"

#include "model/forward.hpp"
#include "tensor/random.hpp"

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

Result<std::vector<std::vector<RepeatedTokenScores>>> score_repeated_tokens(
    const std::shared_ptr<const Model>& model, Index period, Index sequences, Index first_id,
    std::uint64_t seed) {
    const ModelConfig& config = model->config();
    std::vector scores(static_cast<std::size_t>(config.layers),
                       std::vector<RepeatedTokenScores>(static_cast<std::size_t>(config.heads)));
    const double share = 1 / static_cast<double>(sequences);
    Random random(seed);
    for (Index sequence = 0; sequence < sequences; ++sequence) {
        std::vector<std::int32_t> ids =
            random_integers(random, static_cast<std::size_t>(period), static_cast<std::int32_t>(first_id),
                            static_cast<std::int32_t>(config.vocab_size));
        for (Index i = 0; i < period; ++i) ids.push_back(ids[static_cast<std::size_t>(i)]);
        const auto trace = run_forward(model, std::move(ids));
        if (!trace) return trace.error();
        for (std::size_t layer = 0; layer < scores.size(); ++layer)
            for (Index head = 0; head < config.heads; ++head) {
                const Record& record = (*trace)->layers()[layer].attention;
                RepeatedTokenScores& to = scores[layer][static_cast<std::size_t>(head)];
                HeadScoring scoring(
                    stage_map(record_of(*trace, static_cast<Index>(layer)), head, Stage::weight),
                    (*trace)->ids());
                while (scoring.step()) {
                }
                add(scoring.scores(), share, to.head);
                to.duplicate_stripe += share * stripe(record, head, period, period);
                to.induction_stripe += share * stripe(record, head, period, period - 1);
            }
    }
    return scores;
}

}  // namespace attn
