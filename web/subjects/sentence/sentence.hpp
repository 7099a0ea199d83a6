// Runs the user's own text through a real transformer.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/generate.hpp"
#include "runs/text_run.hpp"
#include "subjects/explain_measured.hpp"
#include "subjects/explain_sums.hpp"
#include "subjects/head_ladder.hpp"
#include "subjects/sentence/changed_run.hpp"
#include "subjects/sentence/changes.hpp"
#include "subjects/sentence/commands.hpp"
#include "subjects/sentence/generation.hpp"
#include "subjects/sentence/model_intake.hpp"
#include "subjects/sentence/model_slot.hpp"
#include "subjects/sentence/pending_selection.hpp"
#include "subjects/sentence/special.hpp"
#include "subjects/sentence/twins.hpp"
#include "subjects/subject.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app {

LinkRows sentence_links();
bool sentence_may_select(const State& state, const Selection& selection);
bool sentence_may_pin(const State& state, const RunCell& cell);
bool sentence_has_second(const State& state);

// Letters typed without a longer pause share one undo step.
inline constexpr double typing_pause_ms = 1000;

// A model and its runs together may take this much of a heap that ends at 2 GB.
inline constexpr std::int64_t run_bytes_limit = 1'900'000'000;

class SentenceSubject final : public Subject, private Comparing, private TextModel, private Translating {
  public:
    explicit SentenceSubject(Visit& visit);

    const std::shared_ptr<const Model>& model() const { return open_.model; }
    const std::string& model_name() const { return open_.name; }
    // The run under the user's interventions, unless the unchanged one is wanted.
    TextRun* run() const { return shows_changed() ? changed_.job.run() : sentence_.run(); }
    TextRun* unchanged_run() const { return sentence_.run(); }
    // The part of the run that has the chosen head, which may belong to the other text.
    TextRun* chosen_run() const;
    TextRun* compared_run() const;
    // Returns the run that a cell belongs to.
    TextRun* run_of(const CellRef& cell) const { return cell.second() ? compared_run() : chosen_run(); }
    // Names the model that a link or undo needs while it is loaded from the site or the hub, or trained
    // again; empty if there is none.
    const std::string& awaited_model() const { return awaited_; }
    // Lists the symbols that a network trained here on symbols reads; empty for other models.
    const std::string& alphabet();
    bool load_model();
    void model_failed();

    // The most likely tokens by plain softmax, and their texts: the next tokens or, in a bidirectional model,
    // the tokens that fit at a position.
    struct Next {
        std::vector<Candidate> candidates;
        std::vector<std::string> pieces;
        // The distribution after top-k, top-p and temperature, for a model that continues a text.
        std::vector<double> drawn;  // the probability of drawing each candidate
        Index kept = 0;             // tokens that may be drawn
    };
    const Next& next_tokens() const { return next_; }
    // False for a bidirectional model, which fills in masks.
    bool continues_text() const;
    // Says whether the model reads one text and writes another.
    bool writes_another() const { return open_.model && open_.model->config().decoder_layers > 0; }
    // Masked tokens of the run.
    std::vector<Index> masked() const { return masked_tokens(run()->ids(), special_); }
    // Returns the word that mask_word() would mask: the chosen one or, if nothing is masked, the predicted
    // token's. Nothing if that is a special token, or if the model has no mask token.
    std::optional<Index> maskable_word() const;
    void mask_word();             // writes a mask for each of its tokens
    Status may_generate() const;  // says whether one more token is possible
    void generate_step() {
        if (run() && continues_text()) generation_.request_step();
    }
    // A decoder that has finished starts again.
    void play(bool on) override;
    bool playing() const override { return generation_.playing(); }
    // Appends a token that the user chose, or replaces the predicted one.
    void choose_next(std::int32_t id);

    // Puts another text into the sentence box. If the last word was chosen, the last word stays chosen.
    void replace_text(const std::string& text);
    // Puts both texts into their boxes and chooses the word.
    void compare(const Pair& pair);

    Attention* attention() override { return awaited_.empty() ? chosen_run() : nullptr; }
    Attention* attention_of(Index layer) override {
        return attention() ? &run()->of(std::min(layer, run()->layers() - 1)) : nullptr;
    }
    Comparing* comparing() override { return this; }
    TextModel* text_model() override { return this; }
    Translating* translating() override { return writes_another() && awaited_.empty() ? this : nullptr; }
    Offer offer_translation() const override;
    Attention* second() override {
        TextRun* second = compared_run();
        return second ? &second->of(std::min(state().selection.layer, second->layers() - 1)) : nullptr;
    }
    std::shared_ptr<const Trace> unchanged() const override {
        return shows_changed() ? sentence_.run()->run : nullptr;
    }
    HeadCount head_count() override;
    std::vector<Offer> offers() const override;
    std::vector<Request> requests() override;
    std::optional<Offer> offer_second() const override;
    std::optional<Offer> offer_alone() const override;
    std::string second_wanted() const override;
    std::optional<Offer> offer_without(const HeadIndex& head) const override;
    std::optional<Offer> offer_repetition() const override;
    Result<Command> add_to_query(const HeadIndex& head, Index query,
                                 std::span<const float> by) const override;
    std::optional<Steering> steering() const override;
    Command steer(const Steering& steering) const override;
    Result<SteeredRun> steered(const Steering& steering) override;
    std::optional<Command> reads(const std::string& text, const std::string& second) const override;
    std::optional<Command> translates(const Translated& first, const Translated& second) const override;
    const NamedHeads* named_heads() override { return awaited_.empty() ? naming_.heads() : nullptr; }
    std::vector<std::string> token_texts(std::span<const std::int32_t> ids) override {
        return visit().page().ids_to_text(ids);
    }
    CorpusRun* corpus() override;
    void draw_corpus() override;
    std::uint64_t texts_for(const SteeringDirection& direction) override;
    void draw_contrast() override;
    ExampleSearch* examples(Index texts) override;
    void draw_sample() override;
    void open_text(const std::string& text, const Selection& chosen) override;
    const Ladder* ladder() override;
    std::optional<Explained> explain_at(const CellPlace& place) override;
    std::string status() override;
    Guide guide() const override { return numbers_guide; }
    bool draw_controls(const Drawing& drawing, bool brief) override;
    bool draw_in_tabs(const Drawing& drawing, bool brief, float width) override;
    void draw_head(const Drawing& drawing) override;
    void draw_beside(const Drawing& drawing, float width) override;
    void draw_comparison(const Drawing& drawing) override;
    void draw_change(const CellPlace& place, const Explained& why) override;
    std::pair<std::string, std::string> comparison_names() override;

    void receive(State& state, const State& here, Change how) override;
    void follow(const State& before, Change how) override;
    void fit_selection() override;
    void fit_spans();
    std::optional<State> home(const Opening& opening) const override;
    bool work(Urgency urgency, double until_ms) override;
    bool awaits_model() const override { return !awaited_.empty(); }
    bool busy() const override { return progress().has_value() || playing(); }
    std::optional<Progress> progress() const override;
    std::uint64_t milestones() const override;
    std::optional<TextBox> text_box() const override;
    std::optional<LowerBox> lower_box(Box which) const override;
    void text_typed(Box box, const std::string& text) override;
    void tokens(TokenizedText text) override;
    FileIntake* intake(FileKind kind) override { return kind == FileKind::model ? &files_ : nullptr; }
    std::string probe() const override;
    std::string probe_logits() const override;

  private:
    // Takes model files from the page.
    struct Files final : FileIntake {
        SentenceSubject& subject;
        explicit Files(SentenceSubject& s) : subject(s) {}
        void name(const std::string& folder, bool reads_alike) override {
            subject.intake_.name(folder, reads_alike);
        }
        Result<std::byte*> buffer(const std::string& file, std::uint64_t size) override {
            return subject.intake_.buffer(file, size);
        }
        Result<std::uint64_t> check_header(const std::string& file, std::uint64_t written) override {
            return subject.intake_.check_header(file, written);
        }
        Status add_rounded(const std::string& file, std::uint64_t size,
                           std::span<const std::byte> bytes) override {
            return subject.intake_.add_rounded(file, size, bytes);
        }
        std::string tokenizer() const override { return subject.intake_.told_tokenizer(); }
        Result<std::vector<std::int32_t>> encode(std::string_view text, bool ends) const override {
            return subject.tokenizer_ ? subject.tokenizer_->encode(text, ends)
                                      : FileIntake::encode(text, ends);
        }
        bool arrived() override { return subject.load_model(); }
        void discard() override { subject.intake_.discard(); }
        void failed() override { subject.model_failed(); }
        Index context() const override {
            return subject.open_.model ? subject.open_.model->config().context : 0;
        }
    };

    TextRun* translation() const override { return run(); }
    std::optional<double> aligned(HeadIndex head) const override;
    Command texts(const std::string& text, const std::string& written) const override;

    const SentenceState& now() const { return state().of<SentenceState>(); }
    bool is_open() const { return state().subject == sentence_subject; }
    bool models_are_bundled() const {
        const State* home = visit().home();
        return home && !sentence_of(*home).model.empty();
    }
    bool await_model(const SentenceState& wanted, const std::string& otherwise);
    void name_open_model(SentenceState& sentence) const;
    bool prepare_awaited(double until_ms);
    bool awaits_training() const;
    bool text_is_own() const;
    void model_chosen(bool keeps_written);
    void set_text(const std::string& text);
    void set_written(const std::string& text);
    // Says whether the last token is chosen, after which the text continues.
    bool last_is_chosen() const;
    void compare_typed(Box box, const std::string& text);
    void start_both(TextJob& job);
    bool compares_models() const { return now().compared && now().compared->model; }
    // Another model may compute the run beside the sentence's; null while none is open.
    const std::shared_ptr<const Model>& model_of(const TextJob& job) const {
        return &job == &compared_ && compares_models() ? beside_.model : open_.model;
    }
    std::string name_of_model(const TextJob& job) const {
        return shown_name(&job == &compared_ && compares_models() ? beside_.name : open_.name);
    }
    std::int64_t model_bytes() const { return open_.bytes() + beside_.bytes(); }
    bool open_beside(ModelIntake::Loaded loaded);
    // Says whether the text's run is in progress.
    bool computing() const { return sentence_.running() || changed_.job.running(); }
    bool shows_changed() const {
        return changed_.job.run() && now().changes.any_on() && !now().changes.before;
    }
    void begin_changed();
    // Says whether the model reads sets of texts.
    bool reads_texts() const { return open_.model && awaited_.empty() && !writes_another(); }
    SplitText split_text(std::string text) const;
    using NextLine = std::function<std::optional<std::string>()>;
    std::vector<SplitText> split_texts(const NextLine& next) const;
    // Runs over the positive and negative texts; null if the model reads none.
    std::array<CorpusRun*, 2> contrast();
    // Returns the runs that the changes, and another one, take numbers from, as far as they are complete.
    OtherRuns other_runs(const RunChange* also = nullptr);
    std::vector<CorpusRun*> text_runs();  // not complete yet
    bool run_texts(double until_ms);
    // Returns the second text's run in the same model; null if there is none, or until it is computed.
    std::shared_ptr<const Trace> run_beside() const;
    void run_shown();  // the run shown has changed
    void measure_change();
    // The place of the last change that steers; none: no change does.
    std::optional<std::size_t> steering_change() const;
    std::string change_said() const { return changed_.told(run()); }
    void announce_change();
    void draw_next_of_both();
    // Offers interventions in the chosen head and its layer, and at the chosen query and key, in words.
    std::vector<Offer> change_offers() const;
    std::optional<HeadIndex> best_aligned() const;
    void begin_typing();
    void start(TextJob& job, TokenizedText text, SplitText written = {});
    bool run_forward(TextJob& job, double until_ms);
    void begin_naming(const std::optional<Bytes>& scores);
    bool repeat_in_double(double until_ms);
    bool name_heads(double until_ms);
    bool survey_heads(double until_ms, bool (HeadOverview::*step)());
    void forward_finished();
    void choose_wanted();
    // Notes what was read up to the chosen tokens, before another text is computed.
    void note_chosen(const SentenceState& before);
    // Drops choices whose tokens, or those before, are others now.
    void drop_stale(const PendingSelection::ReadUntil& read);
    void drop_stale_counterpart();
    std::string tokens_told() const;
    // The text has more tokens than the model reads.
    bool is_cut() const { return !writes_another() && total_tokens_ > open_.model->config().context; }
    std::string layers_told() const;
    void select(const Selection& selection);
    void refresh_next();
    void ask_beside();
    bool is_shown() const;
    std::optional<Explained> explain_next(const RunCell& cell);
    void generate();
    void append(std::int32_t id);
    void write(Range tokens, const std::vector<std::int32_t>& ids);

    // Defined in view.cpp, next_view.cpp and experts_view.cpp.
    void draw_waiting() const;
    void draw_alphabet();
    void draw_invitation_to_type();
    void draw_heading(const Drawing& drawing, bool brief);
    void draw_badges(const Drawing& drawing, bool continues) const;
    void draw_other_sentences();
    std::string prediction_title() const;
    bool may_choose_next() const;
    std::string candidate_told(std::size_t i) const;
    std::string sampling_told() const;
    void draw_sampling(float width);
    std::string mask_label(Index word) const;  // the button's label
    void draw_masking();
    void draw_experts(const Drawing& drawing, float width);
    void draw_fill_hints();
    void draw_segments();
    // Defined in changes_view.cpp.
    void draw_change_menu();
    std::string token_of(const RunChange& change);
    void draw_changes();

    TrainingRuns& training_;
    ModelIntake intake_;
    Files files_{*this};
    // The second reads the same sentence for comparison, while two models are compared.
    ModelSlot open_, beside_;
    // For a model in a GGUF file; two compared models share it.
    std::shared_ptr<const GgufTokenizer> tokenizer_;
    std::string awaited_;

    std::uint64_t typing_ = std::uint64_t{1} << 63;  // the gesture of the letters being typed
    double typed_at_ms_ = 0;
    PendingSelection pending_;
    bool selecting_ = false;  // the subject itself is changing the selection

    SpecialTokens special_;  // belong to the open model; known with the first tokens
    // Texts in the boxes of an encoder–decoder, split into tokens.
    std::map<Box, TokenizedText> split_;
    std::vector<double> aligned_;  // [decoder layers · heads], from the model's scores.json
    TextJob sentence_{true}, compared_{false};
    ChangedRun changed_;
    Vocabulary direction_tokens_;  // names the tokens of directions
    std::optional<CorpusRun> corpus_;
    Corpus corpus_of_;
    struct TextSet {
        std::string texts;
        CorpusRun run;
    };
    std::array<std::optional<TextSet>, 2> contrast_;  // positive and negative
    std::optional<ExampleSearch> examples_;
    Corpus examples_of_;
    // The most likely next tokens of a run.
    struct NextTold {
        std::uint64_t version = 0;
        Index token = -1;
        std::string text;
    };
    std::array<NextTold, 2> next_told_;  // for this run and the one it is compared with
    HeadNaming naming_;                  // names of the open model's heads
    std::optional<HeadLadder> ladder_;
    ScoreExplainer scores_;
    MapSumExplainer sums_;
    // The whole vocabulary, for explanations.
    struct Kept {
        std::uint64_t version = 0;  // version of the run
        Index token = 0;
        std::vector<Candidate> tokens;
    };
    Kept kept_;
    // The tokens of the texts that named spans belong to; empty if these came with another State.
    std::array<std::vector<std::string>, 2> spans_in_;
    Next next_;
    SamplingState next_for_;
    std::uint64_t next_of_ = 0;  // version of the run
    Index total_tokens_ = 0;     // tokens of the whole first text, which may be more than the model reads
    Generation generation_;
    std::uint64_t run_frame_ = 0;  // the frame before the run was complete
};

}  // namespace attn::app
