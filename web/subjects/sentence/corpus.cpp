// Implements the sample of texts: the user's own or, without them, seeded paragraphs like those that the
// bundled model was trained on.
#include <algorithm>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/sentence/sentence.hpp"
#include "subjects/sentence/special.hpp"
#include "train/sentences.hpp"

namespace attn::app {

Status SetCorpus::apply(State& state) const {
    if (corpus.own.size() > longest_corpus)
        return Error{"Texts of one’s own have at most " + with_commas(static_cast<Index>(longest_corpus)) +
                     " characters together."};
    if (corpus.seed >= corpus_seed_limit)
        return Error{"A seed is from 0 to " + std::to_string(corpus_seed_limit - 1) + "."};
    state.edit<SentenceState>().corpus = corpus;
    return ok();
}

std::string SetCorpus::describe(const State& before) const {
    return corpus.seed != sentence_of(before).corpus.seed ? "texts of seed " + std::to_string(corpus.seed)
                                                          : "other texts to stand for many";
}

CorpusRun* SentenceSubject::corpus() {
    if (!open_.model || !awaited_.empty() || writes_another()) return nullptr;
    if (corpus_ && corpus_of_ == now().corpus && corpus_->model() == open_.model) return &*corpus_;
    std::vector<SplitText> texts;
    Index tokens = 0;
    const auto add = [&](std::string text) {
        SplitText split;
        split.ids = visit().page().text_to_ids(text);
        split.pieces = visit().page().ids_to_text(split.ids);
        if (open_.model->config().segments > 1) split.segments = segments_of(split.ids, special_);
        split.text = std::move(text);
        tokens += std::ssize(split.ids);
        texts.push_back(std::move(split));
    };
    const auto full = [&] {
        return texts.size() >= CorpusRun::most_texts || tokens >= CorpusRun::most_tokens;
    };
    corpus_of_ = now().corpus;
    if (corpus_of_.own.empty()) {
        SentenceWriter writer(corpus_of_.seed);
        while (!full()) add(writer.paragraph());
    } else {
        for (const std::string_view line : split(corpus_of_.own, '\n'))
            if (!line.empty() && !full()) add(std::string(line));
    }
    corpus_.emplace(open_.model, std::move(texts), corpus_of_.seed);
    return &*corpus_;
}

std::vector<std::shared_ptr<const Trace>> SentenceSubject::corpus_runs() {
    const bool wanted = std::ranges::any_of(now().changes.all, [](const RunChange& each) {
        return each.on && each.operation == Operation::mean_of_texts;
    });
    const CorpusRun* texts = wanted ? corpus() : nullptr;
    return texts && texts->done() ? texts->traces() : std::vector<std::shared_ptr<const Trace>>{};
}

bool SentenceSubject::run_corpus(double until_ms) {
    if (!corpus_ || corpus_->done() || corpus_->model() != open_.model) return false;
    while (corpus_->step())
        if (now_ms() >= until_ms) return true;
    begin_changed();
    return false;
}

}  // namespace attn::app
