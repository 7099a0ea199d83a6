#include "runs/corpus_run.hpp"

#include <algorithm>
#include <utility>

namespace attn::app {

CorpusRun::CorpusRun(std::shared_ptr<const Model> model, std::vector<SplitText> texts, std::uint64_t seed,
                     std::int64_t bytes_kept)
    : model_(std::move(model)), seed_(seed) {
    static std::uint64_t versions = 0;
    version_ = ++versions;
    const auto context = static_cast<std::size_t>(model_->config().context);
    Index tokens = 0;
    std::int64_t bytes = 0;
    for (SplitText& text : texts) {
        text.keep_first(context);
        if (text.ids.empty()) continue;
        const auto count = std::ssize(text.ids);
        const std::int64_t needed = trace_bytes(model_->config(), count);
        if (texts_.size() == most_texts || tokens + count > most_tokens || bytes + needed > bytes_kept) break;
        tokens += count;
        bytes += needed;
        texts_.push_back(std::move(text));
    }
}

bool CorpusRun::step() {
    if (done()) return false;
    if (!running_) {
        SplitText& text = texts_[run_.size()];
        auto begun =
            ForwardPass::start(model_, text.ids, default_kernels(), operations_of_a_frame, text.segments);
        if (!begun) {  // the model does not have these ids
            texts_.erase(texts_.begin() + std::ssize(run_));
            return !done();
        }
        running_ = *std::move(begun);
        return true;
    }
    if (running_->step()) return true;
    if (auto trace = running_->finish())
        run_.push_back(*std::move(trace));
    else
        texts_.erase(texts_.begin() + std::ssize(run_));
    running_.reset();
    return !done();
}

float CorpusRun::progress() const {
    if (texts_.empty()) return 1;
    return (static_cast<float>(run_.size()) + (running_ ? running_->progress() : 0)) /
           static_cast<float>(texts_.size());
}

Index CorpusRun::tokens() const {
    Index tokens = 0;
    for (const SplitText& text : texts_) tokens += std::ssize(text.ids);
    return tokens;
}

}  // namespace attn::app
