// Networks of lens Training as models of lens Sentence, and models that an address or a step back asks for.
#include <algorithm>

#include "app/session.hpp"
#include "app/training_files.hpp"

namespace attn::app {

namespace {

// The head that scores highest for induction, by the last point up to a step.
HeadIndex strongest_head(const TrainingRun& run, std::int64_t step) {
    const auto points = run.points();
    const auto after = std::ranges::upper_bound(points, step, {}, &TrainingPoint::step);
    if (after == points.begin()) return {};
    const auto& heads = std::prev(after)->heads;
    const Index strongest = std::ranges::max_element(heads, {}, &HeadPoint::induction) - heads.begin();
    return {strongest / run.plan().heads, strongest % run.plan().heads};
}

}  // namespace

void Session::open_trained(const TrainingRun& run, const TrainingView& view) { hand_over(run, view, false); }

void Session::save_trained(const TrainingRun& run, const TrainingView& view) {
    const Archive archive = hub_archive(run, view);
    page_.download(archive.name + ".zip", archive.bytes);
}

void Session::hand_over(const TrainingRun& run, const TrainingView& view, bool awaited) {
    opening_ = OpenTrained{{run.plan(), view.step}, probe_text(run.data()), strongest_head(run, view.step)};
    page_.open_files(name_of(opening_->network), hub_files(run, view), awaited);
}

// A text that was too long for the link, where it is still here: back and forward lose nothing.
void Session::complete_texts(State& linked) const {
    const auto complete = [](TrainingPlan& plan, const TrainingPlan& here) {
        if (plan.text.empty() && to_text(plan) == to_text(here)) plan.text = here.text;
    };
    complete(linked.training.plan, state().training.plan);
    auto& trained = linked.sentence.trained;
    if (trained && model_trained_) complete(trained->plan, model_trained_->plan);
    if (trained) complete(trained->plan, state().training.plan);
}

// Asks for a model where it is not the open one. False, and `otherwise` said, where it cannot come.
bool Session::await_model(const SentenceState& wanted, const std::string& otherwise) {
    awaited_.clear();
    opening_.reset();
    const bool open = wanted.model == model_name_ && wanted.trained == model_trained_;
    if (open || wanted.model.empty()) return true;
    if (wanted.trained || page_.open_bundled(wanted.model)) {
        awaited_ = wanted.model;
        return true;
    }
    page_.notice(otherwise, false);
    return false;
}

// Where what the State names cannot come.
void Session::name_open_model() {
    State named = state();
    named.sentence.model = model_name_;
    named.sentence.trained = model_trained_;
    history_.correct(std::move(named));
}

bool Session::awaits_training() const {
    return !awaited_.empty() && state().sentence.trained && state().lens == LensId::sentence;
}

bool Session::prepare_awaited(double budget_ms) {
    if (opening_) return false;  // the page is reading it
    const TrainedHere network = *state().sentence.trained;
    if (training_.prepare(network, budget_ms)) return true;
    const TrainingRun* run = training_.prepared();
    if (run && run->shown_step(network.step) == network.step) {
        if (const auto view = run->state_at(network.step)) {
            hand_over(*run, *view, true);
            return false;
        }
    }
    const auto error = training_.take_error();
    std::string why = run && run->failure() ? run->failure()->message : error.value_or(Error{}).message;
    if (network.plan.task == TrainingTask::own_text && network.plan.text.empty())
        why = "its text was too long for the link; paste it in lens Training";
    report_error({awaited_ + " cannot be trained again: " + why});
    model_failed();
    return false;
}

}  // namespace attn::app
