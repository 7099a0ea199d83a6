// Opens the user's models, and those that a link or undo needs.
#include <algorithm>
#include <numeric>
#include <utility>

#include "app/clock.hpp"
#include "runs/training_files.hpp"
#include "subjects/sentence/sentence.hpp"
#include "subjects/translation_presets.hpp"

namespace attn::app {

bool SentenceSubject::load_model() {
    auto loaded = intake_.load();
    if (!loaded) {
        visit().report_error(loaded.error());
        return false;
    }
    const bool asked_for = !awaited_.empty() || training_.handover;
    if (is_open() && compares_models() && !asked_for) return open_beside(*std::move(loaded));
    const bool wrote = writes_another();
    model_ = std::move(loaded->model);
    model_name_ = intake_.name();
    tokenizer_ = std::move(loaded->tokenizer);
    const bool awaited = std::exchange(awaited_, "") == model_name_;
    const auto handover = std::exchange(training_.handover, std::nullopt);
    const bool trained = handover && name_of(handover->network) == model_name_;
    model_trained_ = trained ? std::optional(handover->network) : std::nullopt;
    alphabet_.reset();
    special_ = {};
    corpus_.reset();
    for (const std::string& note : model_->notes()) visit().notice(shown_name(model_name_) + ": " + note);
    begin_naming(loaded->scores);
    split_.clear();
    sampler_.reset();
    sentence_.clear();
    changed_.clear();
    compared_.clear();
    ladder_.reset();
    next_ = {};
    if (!awaited && trained) {
        wanted_.reset();
        visit().perform(OpenTrained{handover->network, handover->text, handover->head});
        last_wanted_ = true;
    } else if (!awaited) {
        model_chosen(!wrote);
    }
    visit().page().set_title(shown_name(model_name_));
    visit().show_boxes(true);
    return true;
}

// Both models share the page's tokenizer.
bool SentenceSubject::open_beside(ModelIntake::Loaded loaded) {
    const auto& model = loaded.model;
    const std::string& name = intake_.name();
    const bool writes = model->config().decoder_layers > 0;
    if (!intake_.reads_alike() || writes != writes_another()) {
        const std::string why = !intake_.reads_alike()
                                    ? shown_name(name) + " has other tokens than " + shown_name(model_name_) +
                                          ", so they cannot be compared word by word"
                                    : "Only one of " + shown_name(name) + " and " + shown_name(model_name_) +
                                          " reads one text and writes another";
        visit().report_error({why + ". Open a model with the same tokenizer, or end the comparison first."});
        return false;
    }
    for (const std::string& note : model->notes()) visit().notice(shown_name(name) + ": " + note);
    compared_.clear();
    other_model_ = std::move(loaded.model);
    tokenizer_ = std::move(loaded.tokenizer);
    other_name_ = name;
    visit().perform(Compare{Comparison{.model = name}});
    visit().show_boxes(true);
    return true;
}

// Recognised by the tokens, because a network that was saved and opened again has no other trace of its
// training.
const std::string& SentenceSubject::alphabet() {
    if (alphabet_) return *alphabet_;
    alphabet_.emplace();
    const Index vocabulary = model_->config().vocab_size;
    if (vocabulary > training_vocabulary_limit) return *alphabet_;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(vocabulary));
    std::iota(ids.begin(), ids.end(), 0);
    const auto is_symbol = [](std::int32_t id, const std::string& piece) { return symbol_name(id) == piece; };
    if (std::ranges::equal(ids, visit().page().ids_to_text(ids), is_symbol))
        *alphabet_ = "It reads " + std::to_string(vocabulary) +
                     " symbols, with a blank between them: " + symbols_told(vocabulary);
    return *alphabet_;
}

// The user wrote the text; the page did not supply it.
bool SentenceSubject::text_is_own() const {
    const std::string& text = now().text;
    const auto is_preset = [&](const TranslationPreset& preset) { return text == preset.english; };
    return !text.empty() && !twin_of(text) && !std::ranges::any_of(translation_presets, is_preset);
}

// The user has opened the model, so it is shown. A bundled model shows its opening sentence, unless the user
// has written a text.
void SentenceSubject::model_chosen(bool keeps_written) {
    const bool own = text_is_own();
    if (best_aligned() && !own) {
        const TranslationPreset& first = translation_presets.front();
        wanted_.reset();
        last_wanted_ = false;
        best_wanted_ = true;
        return visit().perform(OpenBundled{model_name_, first.english, first.french});
    }
    if (const State* home = visit().home(); home && model_name_ == sentence_of(*home).model && !own) {
        State next = state();  // the worked example stays unchanged
        show_subject(next, home->subject);
        next.lens = home->lens;
        SentenceState& sentence = next.edit<SentenceState>();
        if (sentence.compared && sentence.compared->model) sentence.compared.reset();
        sentence.text = sentence_of(*home).text;
        sentence.model = model_name_;
        sentence.trained.reset();
        sentence.changes = {};
        next.selection = home->selection;
        next.pin.reset();
        visit().replace(std::move(next), "model " + model_name_);
        last_wanted_ = !home->selection.query;
        wanted_ = home->selection;
        return;
    }
    wanted_.reset();
    const SetModel chosen{model_name_, keeps_written};
    if (is_open())
        visit().perform(chosen);
    else
        visit().perform(Together{{OpenSubject{sentence_subject}, chosen}});
}

void SentenceSubject::model_failed() {
    training_.handover.reset();
    if (std::exchange(awaited_, "").empty()) return;
    State next = state();
    if (now().trained) {
        name_open_model(next.edit<SentenceState>());
    } else {
        const bool at_home = visit().at_home();
        visit().forget_home();
        if (at_home) {
            next = default_state();
            if (!model_name_.empty()) next.edit<SentenceState>().model = model_name_;
        }
    }
    visit().correct(std::move(next));
}

// Requests a model unless it is the open one. If it is not available, says `otherwise` and returns false.
bool SentenceSubject::await_model(const SentenceState& wanted, const std::string& otherwise) {
    awaited_.clear();
    training_.handover.reset();
    const bool open = wanted.model == model_name_ && wanted.trained == model_trained_;
    if (open || wanted.model.empty()) return true;
    if (wanted.trained || visit().page().open_named(wanted.model)) {
        awaited_ = wanted.model;
        return true;
    }
    visit().notice(otherwise);
    return false;
}

void SentenceSubject::name_open_model(SentenceState& sentence) const {
    sentence.model = model_name_;
    sentence.trained = model_trained_;
}

bool SentenceSubject::awaits_training() const { return !awaited_.empty() && now().trained && is_open(); }

bool SentenceSubject::prepare_awaited(double until_ms) {
    if (training_.handover) return false;  // the page is already reading it
    const TrainedHere network = *now().trained;
    if (training_.prepare(network, std::max(until_ms - now_ms(), 0.0))) return true;
    const TrainingRun* run = training_.prepared();
    if (run && run->shown_step(network.step) == network.step) {
        if (const auto view = run->state_at(network.step)) {
            training_.handover = handover_of(*run, *view);
            visit().page().open_files(name_of(network), hub_files(*run, *view), true);
            return false;
        }
    }
    const auto error = training_.take_error();
    std::string why = run && run->failure() ? run->failure()->message : error.value_or(Error{}).message;
    if (network.plan.task == TrainingTask::own_text && network.plan.text.empty())
        why = "its text was too long for the link; paste it in Training";
    visit().report_error({awaited_ + " cannot be trained again: " + why});
    model_failed();
    return false;
}

}  // namespace attn::app
