// Runs one text through a model; a job does the work in slices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/double_run.hpp"
#include "model/forward.hpp"
#include "runs/attention.hpp"
#include "text/words.hpp"

namespace attn::app {

// A text as its model's tokenizer split it. There are as many segments as ids, or none.
struct SplitText {
    std::vector<std::int32_t> ids;
    std::vector<std::int32_t> segments = {};
    std::vector<std::string> pieces;  // the text of each token
    std::string text;                 // helps to find where words begin and end

    void keep_first(std::size_t tokens) {
        if (ids.size() <= tokens) return;
        ids.resize(tokens);
        pieces.resize(tokens);
        if (!segments.empty()) segments.resize(tokens);
    }
};

// The texts of a run's tokens.
struct ReadText {
    // `number` counts texts: an encoder's is 0, its decoder's 1.
    ReadText(std::vector<std::string> names, const std::string& text, Index number = 0)
        : units(std::move(names), text, number) {}
    TextUnits units;
};

// A run does not change, except that the overview of its heads and the logits are added once computed. For an
// encoder–decoder it is the decoder's self-attention: queries and keys are the decoder's tokens. The
// encoder's attention and the cross-attention stand beside it and share the rest with it.
class TextRun final : public Attention {
  public:
    TextRun(std::shared_ptr<const Trace> trace, std::vector<std::string> tokens, const std::string& text,
            std::string model)
        : TextRun(std::move(trace), std::make_shared<const ReadText>(std::move(tokens), text), nullptr,
                  std::move(model)) {}
    // `encoded` is the encoder's text; null without an encoder.
    TextRun(std::shared_ptr<const Trace> trace, std::shared_ptr<const ReadText> text,
            const std::shared_ptr<const ReadText>& encoded, std::string model);

    const std::shared_ptr<const Trace> run;
    const AttentionKind kind;
    const std::vector<std::string>& pieces;  // [n], texts of the queries
    const UnitAxis& words;
    std::optional<HeadOverview> all_heads;  // covers the whole run, as do the logits
    Tensor logits;                          // [1, vocabulary], for the predicted token
    bool of_training = false;               // the text is a sequence from a training's data

    // Returns the part of the run that this layer belongs to.
    TextRun& of(Index layer) override;
    MergedHeads& merged_heads() override {
        return whole_ == this ? Attention::merged_heads() : whole_->merged_heads();
    }
    const TextRun& whole() const { return *whole_; }

    // Starts the overview of all heads, and computes the logits of the last token. The overview of the
    // previous run is reused for the tokens that both begin with.
    Status begin_overview(const TextRun* before = nullptr);
    const Record& record_at(Index layer) const { return run->attention(layer).record(); }
    Index tokens() const { return std::ssize(pieces); }
    // Computes the logits of this token instead.
    void predict(Index token);
    Index predicted() const override {
        return kind == AttentionKind::encoder ? tokens() - 1 : whole_->predicted_;
    }

    Index logits_row() const override { return whole_->predicted_; }

    // Returns the run repeated in double precision, which starts when first requested; null if such a run is
    // not repeated (DoubleRun::repeats).
    const DoubleRun* in_double() const;
    bool step_double();  // does a slice; false if there was nothing to do

    // Remembers what it has in common with the run that it replaces.
    void follow(const TextRun& before);

    std::uint64_t version() const override { return version_; }
    Index kept_since(std::uint64_t version, Unit unit) const override {
        return version != before_     ? 0
               : unit == Unit::tokens ? kept_tokens_
               : unit == Unit::words  ? kept_words_
                                      : 0;
    }
    Index layers() const override { return run->attentions(); }
    Layers numbering() const override { return {layers(), run->model()->config().decoder_layers}; }
    Range alike() const override { return alike_; }
    Index heads() const override { return record_at(0).heads(); }
    Index queries() const override { return tokens(); }
    Index keys() const override { return std::ssize(keys_->units.pieces()); }
    const std::vector<std::string>& query_names() const override { return pieces; }
    const std::vector<std::string>& key_names() const override { return keys_->units.pieces(); }
    bool one_line() const override { return kind != AttentionKind::cross; }
    const TextUnits& query_text() const override { return queries_->units; }
    const TextUnits& key_text() const override { return keys_->units; }
    std::span<const std::int32_t> ids() const override { return run->attention(alike_.begin).queries.ids(); }
    std::span<const std::int32_t> key_ids() const override { return run->attention(alike_.begin).keys.ids(); }
    std::string small_print(Index query) const override;
    std::vector<Stage> stages() const override;
    Stage stage_for(Stage chosen) const override { return chosen; }
    HeadMaps maps(const MapChoice& choice) const override;
    std::shared_ptr<const Record> record(Index layer) const override { return record_of(run, layer); }
    HeadOverview* overview() override { return whole_->all_heads ? &*whole_->all_heads : nullptr; }
    std::shared_ptr<const Trace> trace() const override { return run; }
    std::map<std::string, std::string> source() const override;
    std::string title() const override { return model_; }
    const char* measured_on() const override {
        return of_training ? "on the sequence shown" : "on this text";
    }
    std::string instead() const override { return "save one head's window, or shorten the text"; }

  private:
    TextRun(TextRun& whole, AttentionKind kind, std::shared_ptr<const ReadText> queries,
            std::shared_ptr<const ReadText> keys, Range alike);

    std::shared_ptr<const ReadText> queries_, keys_;
    Range alike_;
    TextRun* whole_;
    std::unique_ptr<TextRun> encoder_, cross_;
    std::string model_;
    std::uint64_t version_;
    Index predicted_;
    std::uint64_t before_ = 0;  // version of the previous run
    Index kept_tokens_ = 0, kept_words_ = 0;
    mutable std::unique_ptr<DoubleRun> in_double_;  // covers the whole run
};

// Names a segment as Devlin et al. 2019 (arXiv 1810.04805) do: "A" or "B".
std::string segment_name(std::int32_t segment);

class TextJob {
  public:
    explicit TextJob(bool overview) : overview_(overview) {}
    void clear() { *this = TextJob(overview_); }
    // Without ids there is nothing to show. The existing run stays until the new one is complete, which
    // continues it as far as their tokens are the same. An encoder–decoder's written tokens begin with its
    // start token.
    Status start(const std::shared_ptr<const Model>& model, const std::string& model_name, SplitText text,
                 SplitText written = {});
    // Runs another job's text, whose run is complete, under interventions.
    Status change(const TextJob& of, const std::vector<Intervention>& interventions);
    bool running() const { return forward_ || next_; }
    // Does a slice; returns true when the run has just become complete. If it is longer or shorter by a few
    // tokens, its overview is already as complete as the previous one, so that no picture disappears and
    // returns.
    Result<bool> step();

    TextRun* run() const { return run_.get(); }
    const std::vector<std::int32_t>& ids() const {
        return text_.ids;
    }  // job of the run, or of the run in progress
    // The tokens that a decoder has written, or else the text's.
    const std::vector<std::int32_t>& last_ids() const { return written_.ids.empty() ? ids() : written_.ids; }
    std::int64_t bytes() const;  // memory of that run
    float progress() const { return forward_ ? forward_->progress() : 1; }
    // Returns the computing time of the last forward pass, without the frames drawn between its slices.
    double forward_ms() const { return forward_ms_; }

  private:
    Result<bool> forward_step();

    bool overview_;
    SplitText text_, written_;
    std::shared_ptr<const Model> model_;
    std::string model_name_;
    std::optional<ForwardPass> forward_;
    double forward_ms_ = 0;
    std::unique_ptr<TextRun> run_, next_;
    bool changes_ = false;  // nothing of the previous run can be reused
    bool catches_up_ = false;
};

}  // namespace attn::app
