#include "runs/example_search.hpp"

#include <utility>

namespace attn::app {

ExampleSearch::ExampleSearch(std::shared_ptr<const Model> model, NextText next, std::uint64_t seed)
    : model_(std::move(model)), next_(std::move(next)), examples_(seed) {
    static std::uint64_t versions = 0;
    version_ = ++versions;
}

// Takes one text, and begins it if the model can read it.
void ExampleSearch::begin_text() {
    auto text = next_();
    ended_ = !text;
    if (!text) return;
    ++taken_;
    if (text->ids.empty()) return;
    text->keep_first(static_cast<std::size_t>(model_->config().context));
    auto begun =
        ForwardPass::start(model_, text->ids, default_kernels(), operations_of_a_frame, text->segments);
    if (!begun) return;  // the model does not have these ids
    running_ = *std::move(begun);
    texts_.push_back(*std::move(text));
    reads_ = true;
}

bool ExampleSearch::step() {
    if (done()) return false;
    if (!reads_) {
        begin_text();
        return !done();
    }
    if (running_) {
        if (running_->step()) return true;
        auto trace = running_->finish();
        running_.reset();
        if (trace)
            examples_.begin(*std::move(trace), std::ssize(texts_) - 1);
        else
            reads_ = false;
        return !done();
    }
    reads_ = examples_.step();
    return !done();
}

float ExampleSearch::progress() const {
    if (done()) return 1;
    return static_cast<float>(taken_ - (reads_ ? 1 : 0)) / static_cast<float>(count_);
}

}  // namespace attn::app
