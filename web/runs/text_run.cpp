#include "runs/text_run.hpp"

#include <algorithm>

#include "app/clock.hpp"

namespace attn::app {

namespace {

// So many rows of all heads are made before anything is shown of them.
constexpr Index few_rows = 64;
constexpr double slice_operations = 400e6;  // about 15 ms at 30 GFLOP/s

}  // namespace

TextRun::TextRun(std::shared_ptr<const Trace> trace, std::vector<std::string> names, const std::string& text,
                 std::string model)
    : run(std::move(trace)),
      pieces(std::move(names)),
      words(word_axis(pieces, text)),
      model_(std::move(model)),
      version_(new_version()),
      predicted_(tokens() - 1) {}

Status TextRun::begin_overview(const TextRun* before) {
    predict(tokens() - 1);
    auto heads = HeadOverview::start(run);
    if (!heads) return heads.error();
    all_heads = *std::move(heads);
    if (before && before->all_heads && kept_tokens_ > 0)
        all_heads->take_over(*before->all_heads, kept_tokens_);
    return ok();
}

void TextRun::predict(Index token) {
    if (logits.size() > 0 && token == predicted_) return;
    predicted_ = token;
    logits = run->logits({token, token + 1});
}

std::string segment_name(std::int32_t segment) { return segment == 0 ? "A" : "B"; }

std::string TextRun::small_print(Index query) const {
    const auto at = static_cast<std::size_t>(query);
    const std::string id = std::to_string(ids()[at]);
    return run->segments().empty() ? id : id + " · " + segment_name(run->segments()[at]);
}

std::map<std::string, std::string> TextRun::source() const {
    std::map<std::string, std::string> source{{"model", model_}};
    for (const std::int32_t segment : run->segments()) {
        std::string& types = source["token_types"];
        types += (types.empty() ? "" : ",") + std::to_string(segment);
    }
    return source;
}

void TextRun::follow(const TextRun& before) {
    if (before.run->model() != run->model()) return;
    before_ = before.version_;
    kept_tokens_ = same_beginning(*before.run, ids());
    const auto &here = words.tokens, &there = before.words.tokens;
    while (kept_words_ < std::min(std::ssize(here), std::ssize(there))) {
        const auto at = static_cast<std::size_t>(kept_words_);
        if (here[at] != there[at] || here[at].end > kept_tokens_) break;
        ++kept_words_;
    }
}

std::vector<Stage> TextRun::stages() const {
    const AttentionSpec& spec = record_at(0).spec();
    std::vector<Stage> stages{Stage::raw, Stage::scaled};
    if (spec.softcap > 0) stages.push_back(Stage::capped);
    if (!spec.bias.empty()) stages.push_back(Stage::masked);
    stages.insert(stages.end(), {Stage::weight, Stage::contribution, Stage::projected});
    return stages;
}

HeadMaps TextRun::maps(const MapChoice& choice) const {
    return [trace = run, choice, tokens = shows_words(choice) ? words.tokens : std::vector<Range>{}](
               Index layer, Index head) {
        return tokens.empty() ? map_of(trace, layer, head, choice.stage, choice.sink)
                              : word_map_of(trace, layer, head, tokens, choice.sink);
    };
}

Status TextJob::start(const std::shared_ptr<const Model>& model, const std::string& model_name,
                      std::vector<std::int32_t> ids, std::vector<std::int32_t> segments,
                      std::vector<std::string> pieces, std::string text) {
    if (ids == ids_ && (run_ || running())) return ok();
    forward_.reset();
    next_.reset();
    ids_ = std::move(ids);
    pieces_ = std::move(pieces);
    text_ = std::move(text);
    model_ = model_name;
    if (ids_.empty()) {
        run_ = {};
        return ok();
    }
    // A run with segments looks both ways, so there is nothing to keep of the one before.
    const bool continues =
        run_ && run_->run->model() == model && run_->ids().front() == ids_.front() && segments.empty();
    auto forward =
        continues ? Forward::start(run_->run, ids_, slice_operations)
                  : Forward::start(model, ids_, default_kernels(), slice_operations, std::move(segments));
    if (!forward) {
        ids_.clear();  // so that the same text can be tried again
        return forward.error();
    }
    forward_ = *std::move(forward);
    forward_ms_ = 0;
    return ok();
}

Result<bool> TextJob::step() {
    if (forward_) return forward_step();
    if (catches_up_ && next_->all_heads->catch_up()) return false;
    run_ = std::move(next_);
    return true;
}

Result<bool> TextJob::forward_step() {
    const double began = now_ms();
    const bool more = forward_->step();
    forward_ms_ += now_ms() - began;
    if (more) return false;
    auto trace = forward_->finish();
    forward_.reset();
    if (!trace) return trace.error();
    next_ = std::make_unique<TextRun>(*trace, pieces_, text_, model_);
    if (run_) next_->follow(*run_);
    if (!overview_) return false;
    if (Status begun = next_->begin_overview(run_.get()); !begun) {
        next_.reset();
        return begun.error();
    }
    const Index kept = run_ ? next_->kept_since(run_->version(), false) : 0;
    catches_up_ = kept > 0 && next_->tokens() - kept <= few_rows;
    return false;
}

}  // namespace attn::app
