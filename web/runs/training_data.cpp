#include "runs/training_data.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "app/format.hpp"
#include "tensor/random.hpp"
#include "text/bpe_train.hpp"
#include "text/utf8.hpp"
#include "train/data.hpp"
#include "train/repeats.hpp"
#include "train/sentences.hpp"
#include "train/symbols.hpp"

namespace attn::app {

namespace {

constexpr std::uint64_t probe_seed = 0x5eed;
constexpr std::size_t short_text = 4000;  // bytes
constexpr int sampled_paragraphs = 600;

SymbolTask symbol_task(TrainingTask task) {
    switch (task) {
        case TrainingTask::reversal: return SymbolTask::reversal;
        case TrainingTask::copying: return SymbolTask::copying;
        default: return SymbolTask::repeated;
    }
}

// Returns the tokenizer for generated sentences. Learning it takes a few milliseconds, so the last one is
// kept.
Result<std::shared_ptr<const Bpe>> sentence_tokenizer(Index vocabulary) {
    static std::shared_ptr<const Bpe> kept;
    static Index kept_for = 0;
    if (kept_for == vocabulary) return kept;
    SentenceWriter writer(probe_seed);
    std::string text;
    for (int i = 0; i < sampled_paragraphs; ++i) text += writer.paragraph() + "\n";
    const std::string_view view = text;
    Result<Bpe> bpe = train_bpe_up_to({&view, 1}, static_cast<int>(vocabulary), {});
    if (!bpe) return bpe.error();
    kept = std::make_shared<const Bpe>(*std::move(bpe));
    kept_for = vocabulary;
    return kept;
}

Status check_length(std::size_t tokens, const TrainingPlan& plan) {
    if (static_cast<Index>(tokens) > plan.context) return ok();
    return Error{"The text has " + std::to_string(tokens) + (tokens == 1 ? " token" : " tokens") +
                 "; training on sequences of " + std::to_string(plan.context) +
                 " needs more than that: paste more text, or make the sequences shorter."};
}

std::vector<std::int32_t> random_twice(Index vocabulary, Index first, Index context) {
    const Index period = std::min(context / 2, (vocabulary - first) / 2);
    if (period < 2) return {};
    Random random(probe_seed);
    const auto once = static_cast<std::size_t>(period);
    return repeated(random_integers(random, once, static_cast<std::int32_t>(first),
                                    static_cast<std::int32_t>(vocabulary)),
                    2 * once);
}

}  // namespace

std::string probe_text(const TrainingData& data) {
    std::string text;
    if (!data.tokenizer) {
        for (const std::string& symbol : data.probe_pieces) text += (text.empty() ? "" : " ") + symbol;
        return text;
    }
    text = data.tokenizer->decode(data.probe);
    while (!is_utf8(text)) text.pop_back();  // the text was cut within a character
    return text;
}

std::string piece_of(const TrainingData& data, std::int32_t id) {
    if (!data.tokenizer) return symbol_name(id);
    std::string storage;
    return std::string(well_formed(data.tokenizer->token(id), storage));
}

std::string symbol_name(std::int32_t id) {
    if (id == 0) return "|";
    if (id <= 26) return std::string(1, static_cast<char>('A' + id - 1));
    if (id <= 52) return std::string(1, static_cast<char>('a' + id - 27));
    return std::to_string(id);
}

bool reads_bytes(const TrainingPlan& plan) {
    return plan.task == TrainingTask::own_text && plan.text.size() < short_text;
}

Status check_text(const TrainingPlan& plan) {
    if (plan.task != TrainingTask::own_text) return ok();
    if (plan.text.empty()) return Error{"There is no text to train on yet: paste some."};
    return reads_bytes(plan) ? check_length(plan.text.size(), plan) : ok();
}

std::string symbols_told(Index vocabulary) {
    std::string text = symbol_name(0);
    for (const auto& [first, last] : {std::pair{1, 26}, {27, 52}, {53, INT32_MAX}}) {
        const auto end = static_cast<std::int32_t>(std::min<Index>(last, vocabulary - 1));
        if (first <= end) text += " " + symbol_name(first);
        if (first < end) text += (first + 1 < end ? " … " : " ") + symbol_name(end);
    }
    return text;
}

Result<TrainingData> training_data(const TrainingPlan& plan) {
    if (const Status sound = check_text(plan); !sound) return sound.error();
    TrainingData data;
    const auto context = static_cast<std::size_t>(plan.context);
    if (plan.task == TrainingTask::pronouns) {
        auto tokenizer = sentence_tokenizer(plan.vocabulary);
        if (!tokenizer) return tokenizer.error();
        data.tokenizer = *std::move(tokenizer);
        static const std::string sentence = held_out_pairs().front().text[0];
        data.probe = data.tokenizer->encode(sentence);
    } else if (plan.task == TrainingTask::own_text) {
        const std::string_view view = plan.text;
        auto bpe =
            train_bpe_up_to({&view, 1}, reads_bytes(plan) ? 256 : static_cast<int>(plan.vocabulary), {});
        if (!bpe) return bpe.error();
        data.tokenizer = std::make_shared<const Bpe>(*std::move(bpe));
        data.text = data.tokenizer->encode(plan.text);
        if (const Status long_enough = check_length(data.text.size(), plan); !long_enough)
            return long_enough.error();
        data.probe = data.text;
    } else {
        const auto batches = symbol_batches(symbol_task(plan.task), plan.vocabulary, probe_seed);
        if (!batches) return batches.error();
        data.probe.resize(context);
        data.probe_targets.resize(context);
        (*batches)(-1, 0, data.probe, data.probe_targets);
    }
    data.vocabulary = data.tokenizer ? data.tokenizer->vocabulary_size() : plan.vocabulary;
    if (data.probe.size() > context) data.probe.resize(context);
    if (data.tokenizer) {
        data.probe_targets.assign(data.probe.begin() + 1, data.probe.end());
        data.probe_targets.push_back(-1);
    }
    for (const std::int32_t id : data.probe) data.probe_pieces.push_back(piece_of(data, id));
    data.repeated = random_twice(data.vocabulary, data.tokenizer ? 0 : 1, plan.context);
    return data;
}

Result<Batches> TrainingData::batches(const TrainingPlan& plan, std::uint64_t seed) const {
    if (plan.task == TrainingTask::pronouns)
        return mixed_batches(tokenizer, {}, plan.context, 0,
                             {.text = 0, .sentences = 1, .repeated_text = 0, .repeated_random = 0}, seed);
    if (plan.task == TrainingTask::own_text) return mixed_batches(tokenizer, text, plan.context, 0, {}, seed);
    return symbol_batches(symbol_task(plan.task), plan.vocabulary, seed);
}

}  // namespace attn::app
