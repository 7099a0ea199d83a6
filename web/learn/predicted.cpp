#include "learn/predicted.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/derived.hpp"
#include "io/quote.hpp"
#include "subjects/subject.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app::learn {

namespace {

using lesson::Value;

// The texts of a model's tokens, without the marks of spaces, shared by the visit.
struct TokenTexts {
    Derived<std::shared_ptr<const Model>, std::vector<std::string>> of;
};
// The logits of one row of a trace.
struct RowLogits {
    struct Key {
        std::shared_ptr<const Trace> trace;
        Index row = 0;
        bool operator==(const Key&) const = default;
    };
    Derived<Key, std::vector<float>> now, before;
};

const std::vector<std::string>& texts_of(Visit& visit, Subject& subject,
                                         const std::shared_ptr<const Model>& model) {
    return visit.shared<TokenTexts>().of.of(model, [&] {
        std::vector<std::int32_t> ids(static_cast<std::size_t>(model->network().head.weight.out));
        std::iota(ids.begin(), ids.end(), 0);
        std::vector<std::string> texts = subject.token_texts(ids);
        for (std::string& text : texts) text = Vocabulary::bare(text);
        return texts;
    });
}

// The logits that predict the next token, before the changes to the run if `before`.
Result<const std::vector<float>*> logits_of(Visit& visit, bool before) {
    Subject& subject = subject_in(visit);
    const Attention* attention = subject.attention();
    std::shared_ptr<const Trace> trace = attention ? attention->trace() : nullptr;
    if (!trace) return Error{"No model predicts a token here."};
    if (before) {
        const TextModel* model = subject.text_model();
        if (auto unchanged = model ? model->unchanged() : nullptr) trace = std::move(unchanged);
    }
    RowLogits& kept = visit.shared<RowLogits>();
    const Index row = attention->logits_row();
    return &(before ? kept.before : kept.now).of({trace, row}, [&] {
        const Tensor logits = trace->logits({row, row + 1});
        return std::vector<float>(logits.values().begin(), logits.values().end());
    });
}

Result<std::size_t> token_of(Visit& visit, const std::vector<float>& logits, const Value& token) {
    if (const double* id = std::get_if<double>(&token)) {
        if (*id != std::floor(*id) || *id < 0 || *id >= static_cast<double>(logits.size()))
            return Error{"The model has no token of this number."};
        return static_cast<std::size_t>(*id);
    }
    const std::string* word = std::get_if<std::string>(&token);
    if (word == nullptr) return Error{"A token is a word, or its number in the vocabulary."};
    Subject& subject = subject_in(visit);
    const auto& texts = texts_of(visit, subject, subject.attention()->trace()->model());
    const std::string wanted = Vocabulary::bare(*word);
    std::optional<std::size_t> best;
    for (std::size_t id = 0; id < std::min(texts.size(), logits.size()); ++id)
        if (texts[id] == wanted && (!best || logits[id] > logits[*best])) best = id;
    if (!best) return Error{"The model has no token " + quote(*word) + "."};
    return *best;
}

double probability(const std::vector<float>& logits, std::size_t token) {
    const auto largest = static_cast<double>(*std::ranges::max_element(logits));
    double sum = 0;
    for (const float each : logits) sum += std::exp(static_cast<double>(each) - largest);
    return std::exp(static_cast<double>(logits[token]) - largest) / sum;
}

}  // namespace

Result<Value> predicted(Visit& visit, std::string_view what, const Value& token) {
    const auto now = logits_of(visit, false);
    if (!now) return now.error();
    const auto id = token_of(visit, **now, token);
    if (!id) return id.error();
    const auto logits = what.ends_with("_before") ? logits_of(visit, true) : now;
    if (!logits) return logits.error();
    const std::vector<float>& all = **logits;
    const auto own = all[*id];
    if (what.starts_with("logit")) return Value(static_cast<double>(own));
    if (what.starts_with("p")) return Value(probability(all, *id));
    return Value(1.0 +
                 static_cast<double>(std::ranges::count_if(all, [&](float each) { return each > own; })));
}

Result<Value> likeliest_token(Visit& visit) {
    const auto logits = logits_of(visit, false);
    if (!logits) return logits.error();
    Subject& subject = subject_in(visit);
    const auto& texts = texts_of(visit, subject, subject.attention()->trace()->model());
    const auto best = static_cast<std::size_t>(std::ranges::max_element(**logits) - (*logits)->begin());
    return Value(best < texts.size() ? texts[best] : std::to_string(best));
}

}  // namespace attn::app::learn
