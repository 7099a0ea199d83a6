#include "subjects/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/format.hpp"
#include "text/words.hpp"

namespace attn::app {

namespace {

constexpr Index words_a_step = 256;

}  // namespace

void Vocabulary::follow(std::shared_ptr<const Model> model) {
    if (model == model_) return;
    model_ = std::move(model);
    bare_.clear();
    texts_.clear();
}

std::string Vocabulary::text(Subject& subject, std::int32_t id) const {
    if (const auto known = texts_.find(id); known != texts_.end()) return known->second;
    const std::vector<std::string> texts = subject.token_texts(std::array{id});
    if (texts.empty()) return "";
    return texts_[id] = on_one_line(texts.front());
}

std::string Vocabulary::name(Subject& subject, std::int32_t id) const {
    const std::string written = text(subject, id);
    return written.empty() ? "token " + std::to_string(id) : curly_quoted(bare(written));
}

std::vector<std::string> Vocabulary::names(Subject& subject, std::span<const std::int32_t> ids) const {
    std::vector<std::string> names, told;
    for (const std::int32_t id : ids) names.push_back(name(subject, id));
    const auto told_apart = [&](const std::vector<std::string>& by, std::size_t i) {
        return std::ranges::count(by, by[i]) == 1;
    };
    std::vector<std::string> written;
    for (const std::int32_t id : ids) written.push_back(curly_quoted(text(subject, id)));
    for (std::size_t i = 0; i < names.size(); ++i)
        told.push_back(told_apart(names, i)     ? names[i]
                       : told_apart(written, i) ? written[i]
                                                : names[i] + ", token " + std::to_string(ids[i]));
    return told;
}

std::string Vocabulary::bare(const std::string& text) {
    const std::vector<Word> words = words_of(std::array{text});
    return words.empty() || words.front().name.empty() ? text : words.front().name;
}

bool Vocabulary::read(Subject& subject) {
    const Index known = std::ssize(bare_);
    std::vector<std::int32_t> ids;
    for (Index id = known; id < std::min(known + words_a_step, size()); ++id)
        ids.push_back(static_cast<std::int32_t>(id));
    if (ids.empty()) return false;
    std::vector<std::string> texts = subject.token_texts(ids);
    texts.resize(ids.size());
    for (const std::string& each : texts) bare_.push_back(bare(each));
    return true;
}

std::optional<std::int32_t> Vocabulary::find(TokenSearch& search, std::span<const float> logits) const {
    if (!search.on || std::ssize(bare_) < size()) return std::nullopt;
    search.on = false;
    std::optional<std::int32_t> best;
    const std::string wanted = bare(search.typed);
    for (std::size_t id = 0; id < bare_.size(); ++id)
        if (bare_[id] == wanted && (!best || logits[id] > logits[static_cast<std::size_t>(*best)]))
            best = static_cast<std::int32_t>(id);
    if (!best) search.fault = "This model has no token “" + search.typed + "”. Type a shorter one.";
    return best;
}

}  // namespace attn::app
