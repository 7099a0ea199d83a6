// Implements the sample of texts: the user's own or, without them, seeded paragraphs like those that the
// bundled model was trained on. And the two sets of texts whose difference steers a run.
#include <algorithm>
#include <utility>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "subjects/sentence/sentence.hpp"
#include "subjects/sentence/special.hpp"
#include "train/sentences.hpp"

namespace attn::app {

namespace {

// Returns one line of a text after another.
std::function<std::optional<std::string>()> lines_of(std::string text) {
    return [text = std::move(text), at = std::size_t{0}]() mutable -> std::optional<std::string> {
        if (at >= text.size()) return std::nullopt;
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string line = text.substr(at, end - at);
        at = end + 1;
        return line;
    };
}

}  // namespace

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

Status SetContrast::apply(State& state) const {
    if (std::max(contrast.positive.size(), contrast.negative.size()) > longest_corpus)
        return Error{"Each set of texts has at most " + with_commas(static_cast<Index>(longest_corpus)) +
                     " characters."};
    state.edit<SentenceState>().contrast = contrast;
    return ok();
}

std::string SetContrast::describe(const State& before) const {
    return contrast.positive != sentence_of(before).contrast.positive ? "other positive texts"
                                                                      : "other negative texts";
}

SplitText SentenceSubject::split_text(std::string text) const {
    SplitText split;
    split.ids = visit().page().text_to_ids(text);
    split.pieces = visit().page().ids_to_text(split.ids);
    if (open_.model->config().segments > 1) split.segments = segments_of(split.ids, special_);
    split.text = std::move(text);
    return split;
}

// Splits as many texts as a CorpusRun takes.
std::vector<SplitText> SentenceSubject::split_texts(const NextLine& next) const {
    std::vector<SplitText> texts;
    Index tokens = 0;
    while (texts.size() < CorpusRun::most_texts && tokens < CorpusRun::most_tokens) {
        auto line = next();
        if (!line) break;
        if (line->empty()) continue;
        texts.push_back(split_text(*std::move(line)));
        tokens += std::ssize(texts.back().ids);
    }
    return texts;
}

CorpusRun* SentenceSubject::corpus() {
    if (!reads_texts()) return nullptr;
    if (corpus_ && corpus_of_ == now().corpus && corpus_->model() == open_.model) return &*corpus_;
    corpus_of_ = now().corpus;
    NextLine next = lines_of(corpus_of_.own);
    if (corpus_of_.own.empty())
        next = [writer = SentenceWriter(corpus_of_.seed)]() mutable {
            return std::optional(writer.paragraph());
        };
    corpus_.emplace(open_.model, split_texts(next), corpus_of_.seed);
    return &*corpus_;
}

std::array<CorpusRun*, 2> SentenceSubject::contrast() {
    std::array<CorpusRun*, 2> both{};
    if (!reads_texts()) return both;
    const std::array own{&now().contrast.positive, &now().contrast.negative};
    for (std::size_t i = 0; i < both.size(); ++i) {
        auto& set = contrast_[i];
        if (!set || set->texts != *own[i] || set->run.model() != open_.model)
            set.emplace(TextSet{*own[i], CorpusRun(open_.model, split_texts(lines_of(*own[i])), 0,
                                                   CorpusRun::most_bytes / 2)});
        both[i] = &set->run;
    }
    return both;
}

std::uint64_t SentenceSubject::texts_for(const SteeringDirection& direction) {
    if (direction.kind == SteeringDirection::Kind::many_texts) {
        const CorpusRun* texts = corpus();
        return texts && texts->done() ? texts->version() : 0;
    }
    if (direction.kind != SteeringDirection::Kind::contrast) return 0;
    const auto [positive, negative] = contrast();
    return positive && positive->done() && negative->done() ? positive->version() + negative->version() : 0;
}

ExampleSearch* SentenceSubject::examples(Index texts) {
    if (!reads_texts()) return nullptr;
    if (examples_ && examples_of_ == now().corpus && examples_->model() == open_.model) {
        examples_->read(texts);
        return &*examples_;
    }
    examples_of_ = now().corpus;
    ExampleSearch::NextText next;
    if (examples_of_.own.empty()) {
        next = [this, writer = SentenceWriter(examples_of_.seed)]() mutable {
            return std::optional(split_text(writer.paragraph()));
        };
    } else {
        next = [this, lines = lines_of(examples_of_.own)]() -> std::optional<SplitText> {
            auto line = lines();
            return line ? std::optional(split_text(*std::move(line))) : std::nullopt;
        };
    }
    examples_.emplace(open_.model, std::move(next), examples_of_.seed);
    examples_->read(texts);
    return &*examples_;
}

void SentenceSubject::open_text(const std::string& text, const Selection& chosen) {
    visit().perform(Together{{SetText{text}, Select{chosen}, OpenLens{usual_lens(state())}}});
    pending_.want(chosen);
}

OtherRuns SentenceSubject::other_runs(const RunChange* also) {
    const auto wanted = [&](bool (*needs)(const RunChange&)) {
        return (also && needs(*also)) || std::ranges::any_of(now().changes.all, [&](const RunChange& each) {
                   return each.on && needs(each);
               });
    };
    OtherRuns others{.beside = run_beside()};
    if (const CorpusRun* texts = wanted(needs_texts) ? corpus() : nullptr; texts && texts->done())
        others.texts = texts->traces();
    if (!wanted(needs_contrast)) return others;
    if (const auto [positive, negative] = contrast(); positive && positive->done() && negative->done()) {
        others.positive = positive->traces();
        others.negative = negative->traces();
    }
    return others;
}

std::vector<CorpusRun*> SentenceSubject::text_runs() {
    std::vector<CorpusRun*> all;
    if (corpus_) all.push_back(&*corpus_);
    for (auto& set : contrast_)
        if (set) all.push_back(&set->run);
    std::erase_if(all, [&](const CorpusRun* each) { return each->done() || each->model() != open_.model; });
    return all;
}

bool SentenceSubject::run_texts(double until_ms) {
    const std::vector<CorpusRun*> all = text_runs();
    for (CorpusRun* each : all)
        while (each->step())
            if (now_ms() >= until_ms) return true;
    if (!all.empty()) begin_changed();
    return false;
}

}  // namespace attn::app
