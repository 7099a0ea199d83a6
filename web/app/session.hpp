// One visit: the State with its history, what follows from it, and the jobs that bring that up to date.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/history.hpp"
#include "app/model_intake.hpp"
#include "app/own_tensors.hpp"
#include "app/page.hpp"
#include "app/saving.hpp"
#include "app/sentence_run.hpp"
#include "app/training_runs.hpp"
#include "app/twins.hpp"
#include "app/worked_run.hpp"
#include "model/generate.hpp"

namespace attn::app {

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
    const SentenceRun* sentence() const { return sentence_.run(); }
    const SentenceRun* compared() const { return compared_.run(); }
    // Of the run that a cell is of.
    const SentenceRun* run_of(const CellRef& cell) const { return cell.second ? compared() : sentence(); }
    // 0 … 1 while a run or what is shown of its heads is being computed.
    std::optional<float> progress() const;
    std::string_view progress_name() const;
    double forward_ms() const { return sentence_.forward_ms(); }
    // The likeliest next tokens under the State's sampling, with how they read.
    struct Next {
        std::vector<Candidate> candidates;
        std::vector<std::string> pieces;
    };
    const Next& next_tokens() const { return next_; }

    // The runs of lens Training.
    TrainingRuns& training() { return training_; }
    // Opens the network that the view shows in lens Sentence, with the run's own tokenizer and on its probe.
    void open_trained(const TrainingRun& run, const TrainingView& view);
    // Offers it as a download, laid out as on a model hub.
    void save_trained(const TrainingRun& run, const TrainingView& view);

    // What lens Tensors shows.
    OwnTensors& tensors() { return tensors_; }
    const OwnTensors& tensors() const { return tensors_; }
    // Names of the files that a link was made with and that are not open; empty: there are none.
    std::string wanted_tensors() const;
    void close_tensors();
    void choose_tensors() { page_.choose_tensors(); }
    // A file of numbers: made in slices, then offered as a download. Another one takes its place.
    void save(Result<Saving> file);
    void save(const std::string& name, std::string_view text) {
        page_.download(name, std::as_bytes(std::span(text)));
    }
    // What has that landmark, as a PNG.
    void save_picture(const std::string& name, const std::string& landmark, int scale) {
        page_.download_picture(name, landmark, scale);
    }

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
    // From a lens: both into their boxes, the word chosen.
    void compare(const Pair& pair);
    void tokens(const std::string& text, std::vector<std::int32_t> ids, std::vector<std::string> pieces,
                Index total);
    // From the second box, which is there while two sentences are compared.
    void second_text_typed(const std::string& text);
    void second_tokens(const std::string& text, std::vector<std::int32_t> ids,
                       std::vector<std::string> pieces, Index total);

    ModelIntake& intake() { return intake_; }
    bool load_model();
    // The model on its way that an address or a step back asks for, from the site or from training it again; empty: none.
    const std::string& awaited_model() const { return awaited_; }
    void model_failed();  // the awaited one; without it the page opens with the worked example

    void generate_step();
    void play(bool on) { playing_ = on; }
    bool playing() const { return playing_; }

    // Works on jobs for about `budget_ms`; true while there is more to do.
    bool work(double budget_ms);
    // From a lens that has not computed all that it shows: a slice of it, true while there is more to do. It is called until
    // the next frame begins.
    void continue_with(std::function<bool()> step) { lens_steps_.push_back(std::move(step)); }
    void begin_frame() { lens_steps_.clear(); }
    // From one that shows something else at a later time, of now_ms().
    void continue_at(double ms) { frame_due_ms_ = ms; }
    // Nothing is to move by itself.
    void keep_still(bool on) { still_ = on; }
    bool still() const { return still_; }
    void announce(const std::string& sentence) { page_.announce(sentence); }
    void report_error(const Error& error);

  private:
    State read_fragment(const std::string& fragment);
    std::string address() const;
    void complete_texts(State& linked) const;
    bool await_model(const SentenceState& wanted, const std::string& otherwise);
    void name_open_model();
    bool awaits_training() const;
    bool prepare_awaited(double budget_ms);
    // What a person waits for: other numbers, something new to look at.
    struct Milestones {
        std::uint64_t tensors = 0, run = 0;
        int tensors_reached = 0, heads_reached = 0, lens_reached = 0;
        bool operator==(const Milestones&) const = default;
    };
    Milestones milestones() const;
    bool work_until(double ms);       // of now_ms(); true while there is more to do
    bool work_on_file(double until);  // the same
    bool work_on_lens(double until);  // true where something was done
    void hand_over(const TrainingRun& run, const TrainingView& view, bool awaited);
    void model_chosen();
    void state_replaced();
    void state_restored(const State& before);  // by undo or redo
    bool work_on_tensors(double until_ms);
    void name_open_tensors(State& wanted, bool say);
    void fit_selection_to_tensors();
    void choose_wanted();
    void fit_selection();  // to the layers, heads and tokens that are there
    void state_changed(bool push_url);
    void rerun_worked();
    void set_text(const std::string& text);
    void begin_typing();
    void start(SentenceJob& job, const std::string& text, std::vector<std::int32_t> ids,
               std::vector<std::string> pieces, Index total);
    // Steps the forward pass until `until`; true while there is more to do.
    bool run_forward(SentenceJob& job, double until);
    bool survey_heads(double until, bool (HeadOverview::*step)());  // the same
    void forward_finished();
    void show_sentence_box();
    void show_second_box();
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
    std::optional<TrainedHere> model_trained_;  // it, where it came from lens Training
    std::string awaited_;
    std::optional<OpenTrained> opening_;  // of files on their way through the page
    std::optional<State> home_;

    std::uint64_t typing_ = 0;  // gesture of the letters being typed
    double typed_at_ms_ = 0;
    // What is to be chosen once the run has as many tokens: what a link or a step back chose, or the last token.
    std::optional<Selection> wanted_;
    bool last_wanted_ = false;
    std::string wanted_word_;
    SentenceJob sentence_, compared_;
    Next next_;
    SamplingState next_for_;

    TrainingRuns training_;
    OwnTensors tensors_;
    std::optional<Saving> saving_;

    std::optional<Generator> generator_;
    SamplingState generator_for_;
    std::optional<double> frame_due_ms_;
    bool still_ = false;
    bool step_wanted_ = false, playing_ = false;
    std::vector<std::function<bool()>> lens_steps_;
    int lens_reached_ = 0;        // steps that have come to their end
    bool awaits_tokens_ = false;  // a generated token is on its way through the sentence box
};

}  // namespace attn::app
