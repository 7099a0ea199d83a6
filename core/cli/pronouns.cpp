#include "cli/pronouns.hpp"

#include <algorithm>
#include <cmath>

#include "model/forward.hpp"
#include "train/sentences.hpp"

namespace attn {

namespace {

// Returns the tokens that contain any of these bytes of the text.
Range tokens_of(const Bpe& tokenizer, std::span<const std::int32_t> ids, Range bytes) {
    Range tokens{-1, -1};
    Index begin = 0;
    for (Index i = 0; i < std::ssize(ids); ++i) {
        const Index end = begin + std::ssize(tokenizer.token(ids[static_cast<std::size_t>(i)]));
        if (tokens.begin < 0 && end > bytes.begin) tokens.begin = i;
        if (begin < bytes.end) tokens.end = i + 1;
        begin = end;
    }
    return tokens;
}

double weight_on(const Record& record, Index head, Index query, Range keys) {
    std::vector<float> weights(static_cast<std::size_t>(keys.size()));
    record.stage(Stage::weight, head, {query, query + 1}, keys, weights);
    double sum = 0;
    for (const float weight : weights) sum += static_cast<double>(weight);
    return sum;
}

// Returns ln p of the words after the prompt.
Result<double> likelihood(const std::shared_ptr<const Model>& model, const Bpe& tokenizer,
                          const std::string& prompt, const std::string& words) {
    std::vector<std::int32_t> ids = tokenizer.encode(prompt);
    const Index first = std::ssize(ids);
    for (const std::int32_t id : tokenizer.encode(words)) ids.push_back(id);
    const Index n = std::ssize(ids);
    const auto trace = run_forward(model, ids);
    if (!trace) return trace.error();
    const Tensor logits = (*trace)->logits({first - 1, n - 1});
    double sum = 0;
    for (Index row = 0; row < logits.dim(0); ++row) {
        const std::span<const float> values{logits.matrix().row(row),
                                            static_cast<std::size_t>(logits.dim(1))};
        const auto most = static_cast<double>(std::ranges::max(values));
        double all = 0;
        for (const float value : values) all += std::exp(static_cast<double>(value) - most);
        const auto id = static_cast<std::size_t>(ids[static_cast<std::size_t>(first + row)]);
        sum += static_cast<double>(values[id]) - most - std::log(all);
    }
    return sum;
}

}  // namespace

Result<PronounScores> score_pronouns(const std::shared_ptr<const Model>& model, const Bpe& tokenizer) {
    const ModelConfig& config = model->config();
    const std::vector<PronounPair> pairs = held_out_pairs();
    PronounScores scores;
    scores.pairs = std::ssize(pairs);
    for (Index layer = 0; layer < config.layers; ++layer)
        for (Index head = 0; head < config.heads; ++head) scores.heads.push_back({layer, head});

    const double share = 1 / static_cast<double>(pairs.size());
    for (const PronounPair& pair : pairs) {
        std::vector<int> right(scores.heads.size());
        int preferred = 0;
        for (std::size_t twin = 0; twin < 2; ++twin) {
            const std::vector<std::int32_t> ids = tokenizer.encode(pair.text[twin]);
            const Index pronoun = tokens_of(tokenizer, ids, pair.pronoun[twin]).begin;
            const Range meant = tokens_of(tokenizer, ids, pair.mention[twin]),
                        other = tokens_of(tokenizer, ids, pair.mention[1 - twin]);
            const auto trace = run_forward(model, ids);
            if (!trace) return trace.error();
            for (std::size_t i = 0; i < scores.heads.size(); ++i) {
                const Index layer = scores.heads[i].layer, head = scores.heads[i].head;
                const Record& record = (*trace)->layers()[static_cast<std::size_t>(layer)].attention;
                right[i] += weight_on(record, head, pronoun, meant) > weight_on(record, head, pronoun, other);
            }
            const auto likely = likelihood(model, tokenizer, pair.prompt[twin], " " + pair.noun[twin]);
            const auto unlikely = likelihood(model, tokenizer, pair.prompt[twin], " " + pair.noun[1 - twin]);
            if (!likely) return likely.error();
            if (!unlikely) return unlikely.error();
            preferred += *likely > *unlikely;
        }
        scores.preferred += preferred * share / 2;
        scores.preferred_in_both += preferred == 2 ? share : 0;
        for (std::size_t i = 0; i < right.size(); ++i) {
            scores.heads[i].right += right[i] * share / 2;
            scores.heads[i].flipped += right[i] == 2 ? share : 0;
        }
    }
    if (!scores.heads.empty()) scores.best = *std::ranges::max_element(scores.heads, {}, &PronounHead::right);
    return scores;
}

}  // namespace attn
