#include "runs/text_run.hpp"

#include <algorithm>

#include "app/clock.hpp"
#include "model/reused_rows.hpp"

namespace attn::app {

namespace {

// This many rows of all heads are computed before anything is shown.
constexpr Index few_rows = 64;
constexpr double slice_operations = 400e6;  // about 15 ms at 30 GFLOP/s

}  // namespace

TextRun::TextRun(std::shared_ptr<const Trace> trace, std::shared_ptr<const ReadText> text,
                 const std::shared_ptr<const ReadText>& encoded, std::string model)
    : run(std::move(trace)),
      kind(encoded ? AttentionKind::decoder : AttentionKind::self),
      pieces(text->units.pieces()),
      words(text->units.words()),
      queries_(text),
      keys_(text),
      alike_{0, run->attentions()},
      whole_(this),
      model_(std::move(model)),
      version_(new_version()),
      predicted_(tokens() - 1) {
    if (!encoded) return;
    const ModelConfig& config = run->model()->config();
    const Index own = config.layers, cross = own + config.decoder_layers;
    alike_ = {own, cross};
    encoder_.reset(new TextRun(*this, AttentionKind::encoder, encoded, encoded, {0, own}));
    cross_.reset(new TextRun(*this, AttentionKind::cross, std::move(text), encoded, {cross, layers()}));
}

TextRun::TextRun(TextRun& whole, AttentionKind of, std::shared_ptr<const ReadText> queries,
                 std::shared_ptr<const ReadText> keys, Range alike)
    : run(whole.run),
      kind(of),
      pieces(queries->units.pieces()),
      words(queries->units.words()),
      queries_(std::move(queries)),
      keys_(std::move(keys)),
      alike_(alike),
      whole_(&whole),
      model_(whole.model_),
      version_(new_version()),
      predicted_(tokens() - 1) {}

TextRun& TextRun::of(Index layer) {
    for (TextRun* each : {whole_->encoder_.get(), whole_->cross_.get()})
        if (each && each->alike_.holds(layer)) return *each;
    return *whole_;
}

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

const DoubleRun* TextRun::in_double() const {
    auto& made = whole_->in_double_;
    if (!made && DoubleRun::repeats(*run)) made = std::make_unique<DoubleRun>(run);
    return made.get();
}

bool TextRun::step_double() {
    DoubleRun* made = whole_->in_double_.get();
    if (!made || made->done()) return false;
    made->step();
    return true;
}

std::string segment_name(std::int32_t segment) { return segment == 0 ? "A" : "B"; }

std::string TextRun::small_print(Index query) const {
    const auto at = static_cast<std::size_t>(query);
    const std::string id = std::to_string(ids()[at]);
    return kind != AttentionKind::self || run->segments().empty()
               ? id
               : id + " · " + segment_name(run->segments()[at]);
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
    if (before.run->encoder() == run->encoder()) kept_tokens_ = ReusedRows(*run, before.run.get()).at_end();
    const auto &here = words.tokens, &there = before.words.tokens;
    while (kept_words_ < std::min(std::ssize(here), std::ssize(there))) {
        const auto at = static_cast<std::size_t>(kept_words_);
        if (here[at] != there[at] || here[at].end > kept_tokens_) break;
        ++kept_words_;
    }
}

std::vector<Stage> TextRun::stages() const {
    const AttentionSpec& spec = record_at(alike_.begin).spec();
    std::vector<Stage> stages{Stage::raw, Stage::scaled};
    if (spec.softcap > 0) stages.push_back(Stage::capped);
    bool changed = false;  // edited scores are not the same as any other stage
    for (Index layer = alike_.begin; layer < alike_.end; ++layer)
        changed = changed || record_at(layer).spec().edits;
    if (!spec.bias.empty() || changed) stages.push_back(Stage::masked);
    stages.insert(stages.end(), {Stage::weight, Stage::contribution, Stage::projected});
    return stages;
}

HeadMaps TextRun::maps(const MapChoice& choice) const {
    if (auto groups = merged(choice))
        return [trace = run, sink = choice.sink, groups = *std::move(groups)](Index layer, Index head) {
            return merged_map_of(trace, layer, head, groups.queries, groups.keys, sink);
        };
    return [trace = run, choice](Index layer, Index head) {
        return map_of(trace, layer, head, choice.stage, choice.sink);
    };
}

Status TextJob::start(const std::shared_ptr<const Model>& model, const std::string& model_name,
                      SplitText text, SplitText written) {
    if (text.ids == text_.ids && written.ids == written_.ids && (run_ || running())) return ok();
    forward_.reset();
    next_.reset();
    text_ = std::move(text);
    written_ = std::move(written);
    model_ = model;
    model_name_ = model_name;
    if (ids().empty()) {
        run_ = {};
        return ok();
    }
    // A run with segments is bidirectional, so nothing of the previous run can be reused.
    const bool continues = run_ && run_->run->model() == model && text_.segments.empty() &&
                           (run_->run->encoder() || run_->run->ids().front() == ids().front());
    auto forward = continues ? ForwardPass::start(run_->run, ids(), slice_operations, written_.ids)
                             : ForwardPass::start(model, ids(), default_kernels(), slice_operations,
                                                  text_.segments, written_.ids);
    if (!forward) {
        text_.ids.clear();  // allows trying the same text again
        return forward.error();
    }
    forward_ = *std::move(forward);
    forward_ms_ = 0;
    return ok();
}

Status TextJob::change(const TextJob& of, const std::vector<Intervention>& interventions) {
    auto forward = ForwardPass::start_with(interventions, of.run_->run, slice_operations);
    if (!forward) return forward.error();
    next_.reset();
    text_ = of.text_;
    written_ = of.written_;
    model_ = of.model_;
    model_name_ = of.model_name_;
    forward_ = *std::move(forward);
    forward_ms_ = 0;
    changes_ = true;
    return ok();
}

std::int64_t TextJob::bytes() const {
    return ids().empty() ? 0 : trace_bytes(model_->config(), std::ssize(ids()), std::ssize(last_ids()));
}

Result<bool> TextJob::step() {
    if (forward_) return forward_step();
    const bool anew = changes_ || next_->run->encoder();
    if (catches_up_ && (anew ? next_->all_heads->step_maps() : next_->all_heads->catch_up())) return false;
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
    const auto read = [](const SplitText& split, Index number) {
        return std::make_shared<const ReadText>(split.pieces, split.text, number);
    };
    const bool two = (*trace)->encoder() != nullptr;
    next_ = std::make_unique<TextRun>(*trace, two ? read(written_, 1) : read(text_, 0),
                                      two ? read(text_, 0) : nullptr, model_name_);
    const bool anew = changes_ || two;
    if (run_ && !changes_) next_->follow(*run_);
    if (!overview_) return false;
    if (Status begun = next_->begin_overview(anew ? nullptr : run_.get()); !begun) {
        next_.reset();
        return begun.error();
    }
    // The maps of cross-attention change with every token of either text, and all maps change with an
    // intervention, so the maps of small runs are recomputed.
    const Index kept = run_ ? next_->kept_since(run_->version(), Unit::tokens) : 0;
    catches_up_ = anew ? run_ && std::ssize(text_.ids) + next_->tokens() <= few_rows
                       : kept > 0 && next_->tokens() - kept <= few_rows;
    return false;
}

}  // namespace attn::app
