#include "app/sentence_run.hpp"

#include "app/clock.hpp"

namespace attn::app {

namespace {
std::uint64_t versions = 0;
}

void SentenceJob::clear() { *this = {}; }

Status SentenceJob::start(const std::shared_ptr<const Model>& model, std::vector<std::int32_t> ids,
                          std::vector<std::string> pieces, std::string text) {
    if (ids == ids_ && (run_.trace || forward_)) return ok();
    forward_.reset();
    ids_ = std::move(ids);
    pieces_ = std::move(pieces);
    text_ = std::move(text);
    if (ids_.empty()) {
        run_ = {};
        return ok();
    }
    auto forward = Forward::start(model, ids_);
    if (!forward) {
        ids_.clear();  // the same text may be tried again
        return forward.error();
    }
    forward_ = *std::move(forward);
    forward_ms_ = 0;
    return ok();
}

Result<bool> SentenceJob::step() {
    const double began = now_ms();
    const bool more = forward_->step();
    forward_ms_ += now_ms() - began;
    if (more) return false;
    auto trace = forward_->finish();
    forward_.reset();
    if (!trace) return trace.error();
    run_ = {*trace, pieces_, word_axis(pieces_, text_), {}, {}, ++versions};
    return true;
}

Status SentenceJob::begin_overview() {
    const Index n = run_.trace->tokens();
    run_.logits = run_.trace->logits({n - 1, n});
    auto heads = HeadOverview::start(run_.trace);
    if (!heads) return heads.error();
    run_.heads = *std::move(heads);
    return ok();
}

}  // namespace attn::app
