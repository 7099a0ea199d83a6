// Opens the user's models, and those that a link or undo needs.
#include <algorithm>
#include <numeric>
#include <utility>

#include "app/clock.hpp"
#include "app/lesson_state.hpp"
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
    open_.model = std::move(loaded->model);
    open_.name = intake_.name();
    tokenizer_ = std::move(loaded->tokenizer);
    const bool awaited = std::exchange(awaited_, "") == open_.name;
    const auto handover = std::exchange(training_.handover, std::nullopt);
    const bool trained = handover && name_of(handover->network) == open_.name;
    open_.trained = trained ? std::optional(handover->network) : std::nullopt;
    open_.alphabet.reset();
    special_ = {};
    corpus_.reset();
    for (const std::string& note : open_.model->notes()) visit().notice(shown_name(open_.name) + ": " + note);
    begin_naming(loaded->scores);
    split_.clear();
    generation_.forget_sampler();
    sentence_.clear();
    changed_.clear();
    compared_.clear();
    ladder_.reset();
    next_ = {};
    if (!awaited && trained) {
        pending_.drop_given();
        visit().perform(OpenTrained{handover->network, handover->text, handover->head});
        pending_.want_last_token();
    } else if (!awaited) {
        model_chosen(!wrote);
    } else if (visit().go_home()) {
        pending_.want_last_token(!state().selection.query);
    }
    visit().page().set_title(shown_name(open_.name));
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
                                    ? shown_name(name) + " has other tokens than " + shown_name(open_.name) +
                                          ", so they cannot be compared word by word"
                                    : "Only one of " + shown_name(name) + " and " + shown_name(open_.name) +
                                          " reads one text and writes another";
        visit().report_error({why + ". Open a model with the same tokenizer, or end the comparison first."});
        return false;
    }
    for (const std::string& note : model->notes()) visit().notice(shown_name(name) + ": " + note);
    compared_.clear();
    beside_.model = std::move(loaded.model);
    tokenizer_ = std::move(loaded.tokenizer);
    beside_.name = name;
    visit().perform(Compare{Comparison{.model = name}});
    visit().show_boxes(true);
    return true;
}

// Recognised by the tokens, because a network that was saved and opened again has no other trace of its
// training.
const std::string& SentenceSubject::alphabet() {
    if (open_.alphabet) return *open_.alphabet;
    open_.alphabet.emplace();
    const Index vocabulary = open_.model->config().vocab_size;
    if (vocabulary > training_vocabulary_limit) return *open_.alphabet;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(vocabulary));
    std::iota(ids.begin(), ids.end(), 0);
    const auto is_symbol = [](std::int32_t id, const std::string& piece) { return symbol_name(id) == piece; };
    if (std::ranges::equal(ids, visit().page().ids_to_text(ids), is_symbol))
        *open_.alphabet = "It reads " + std::to_string(vocabulary) +
                          " symbols, with a blank between them: " + symbols_told(vocabulary);
    return *open_.alphabet;
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
        pending_.chosen();
        pending_.want_best_head();
        return visit().perform(OpenBundled{open_.name, first.english, first.french});
    }
    if (const State* home = visit().home(); home && open_.name == sentence_of(*home).model && !own) {
        State next = state();  // the worked example stays unchanged
        show_subject(next, home->subject);
        next.lens = home->lens;
        SentenceState& sentence = next.edit<SentenceState>();
        if (sentence.compared && sentence.compared->model) sentence.compared.reset();
        sentence.text = sentence_of(*home).text;
        sentence.model = open_.name;
        sentence.trained.reset();
        sentence.changes = {};
        next.selection = home->selection;
        next.pin.reset();
        visit().replace(std::move(next), "model " + open_.name);
        pending_.want_last_token(!home->selection.query);
        pending_.want(home->selection);
        return;
    }
    pending_.drop_given();
    const SetModel chosen{open_.name, keeps_written};
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
        const bool untouched = visit().is_untouched();
        visit().forget_home();
        if (untouched) {
            next = default_state();
            next.edit<LessonState>() = lesson_of(state());
            if (!open_.name.empty()) next.edit<SentenceState>().model = open_.name;
        }
    }
    visit().correct(std::move(next));
}

// Requests a model unless it is the open one. If it is not available, says `otherwise` and returns false.
bool SentenceSubject::await_model(const SentenceState& wanted, const std::string& otherwise) {
    awaited_.clear();
    training_.handover.reset();
    const bool open = wanted.model == open_.name && wanted.trained == open_.trained;
    if (open || wanted.model.empty()) return true;
    if (wanted.trained || visit().page().open_named(wanted.model)) {
        awaited_ = wanted.model;
        return true;
    }
    visit().notice(otherwise);
    return false;
}

void SentenceSubject::name_open_model(SentenceState& sentence) const {
    sentence.model = open_.name;
    sentence.trained = open_.trained;
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
