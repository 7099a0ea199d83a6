// One visit: the State with its history, what follows from it, and the jobs that bring that up to date.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/history.hpp"
#include "app/model_intake.hpp"
#include "app/page.hpp"
#include "app/thumbnails.hpp"
#include "app/training_runs.hpp"
#include "app/worked_run.hpp"
#include "model/forward.hpp"
#include "model/generate.hpp"

namespace attn::app {

// What lens Sentence shows of one text. Immutable once its jobs are done.
struct SentenceRun {
    std::shared_ptr<const Trace> trace;
    std::vector<std::string> pieces;  // [n], how each token reads
    Thumbnails thumbnails;
    Tensor logits;              // [1, vocabulary], of the last position
    std::uint64_t version = 0;  // another run has another number
};

class Session {
  public:
    explicit Session(Page& page);

    const State& state() const { return history_.present(); }
    const WorkedRun& worked() const { return *worked_; }
    // The worked example before the last step, when it has the same shapes; what moved is marked against it.
    const WorkedRun* worked_before() const;
    const State& state_before() const { return history_.before_last_step(); }
    const std::string& last_edit() const { return last_edit_; }

    const std::shared_ptr<const Model>& model() const { return model_; }
    const std::string& model_name() const { return model_name_; }
    const SentenceRun* sentence() const { return sentence_.trace ? &sentence_ : nullptr; }
    // 0 … 1 while a run or the thumbnails are being computed.
    std::optional<float> progress() const;
    std::string_view progress_name() const { return forward_ ? "forward pass" : "head maps"; }
    // Computing time of the last forward pass, without the frames drawn between its slices.
    double forward_ms() const { return forward_ms_; }
    // The likeliest next tokens under the State's sampling, with how they read.
    struct Next {
        std::vector<Candidate> candidates;
        std::vector<std::string> pieces;
    };
    const Next& next_tokens() const { return next_; }

    // The runs of lens Training.
    TrainingRuns& training() { return training_; }

    // A refused command becomes a notice and changes nothing. Commands of one gesture are one step of undo.
    void perform(const Command& command, std::uint64_t gesture = 0);
    void undo();
    void redo();
    // What the bare address shows, before start(): the first twin in a model that comes with the page, seen by this
    // head from the last word.
    void set_home(const std::string& model, Index layer, Index head);
    void start(const std::string& fragment);          // the address the page was opened with
    void open_fragment(const std::string& fragment);  // a step back, forward, or to an edited address

    // From the sentence box.
    void text_typed(const std::string& text);
    // From a lens: into the sentence box. A chosen last word stays the last.
    void replace_text(const std::string& text);
    void tokens(const std::string& text, std::vector<std::int32_t> ids, std::vector<std::string> pieces,
                Index total);

    ModelIntake& intake() { return intake_; }
    bool load_model();
    // The model on its way from the site, which an address asks for; empty: none.
    const std::string& awaited_model() const { return awaited_; }
    void model_failed();  // the awaited one; without it the page opens with the worked example

    void generate_step();
    void play(bool on) { playing_ = on; }
    bool playing() const { return playing_; }

    // Works on jobs for about `budget_ms`; true while there is more to do.
    bool work(double budget_ms);
    // From a lens that has not computed all that it shows.
    void continue_next_frame() { frame_wanted_ = true; }
    void announce(const std::string& sentence) { page_.announce(sentence); }
    void report_error(const Error& error);

  private:
    State read_fragment(const std::string& fragment);
    std::string address() const;
    void model_chosen();
    void state_replaced();
    void choose_wanted();
    void fit_selection();  // to the layers, heads and tokens that are there
    void state_changed(bool push_url);
    void rerun_worked();
    void set_text(const std::string& text);
    void start_forward();
    void forward_finished();
    void show_sentence_box();
    bool trains_own_text() const;  // the sentence box then holds its text
    void refresh_next();

    Page& page_;
    History history_;
    std::optional<WorkedRun> worked_, worked_before_;
    WorkedState worked_for_, worked_before_for_;
    std::string last_edit_;

    ModelIntake intake_;
    std::shared_ptr<const Model> model_;
    std::string model_name_;
    std::string awaited_;
    std::optional<State> home_;

    std::uint64_t typing_ = 0;  // gesture of the letters being typed
    double typed_at_ms_ = 0;
    std::vector<std::int32_t> ids_;
    std::vector<std::string> pieces_;
    std::optional<Forward> forward_;
    // What is to be chosen once the run has as many tokens: what a link or a step back chose, or the last token.
    std::optional<Selection> wanted_;
    bool last_wanted_ = false;
    double forward_ms_ = 0;
    SentenceRun sentence_;
    std::uint64_t versions_ = 0;
    Next next_;
    SamplingState next_for_;

    TrainingRuns training_;

    std::optional<Generator> generator_;
    SamplingState generator_for_;
    bool step_wanted_ = false, playing_ = false, frame_wanted_ = false;
    bool awaits_tokens_ = false;  // a generated token is on its way through the sentence box
};

}  // namespace attn::app
