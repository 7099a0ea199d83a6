#include "subjects/sentence/sentence.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "io/head_scores_json.hpp"
#include "runs/training_files.hpp"
#include "subjects/translation_presets.hpp"

namespace attn::app {

namespace {

constexpr std::string_view aligned_key = "aligned";  // the key of a head's score in scores.json

const char* how_to_open(std::string_view model) {
    return is_hub_model(model) ? "open it from the hub" : "drop its folder onto the page";
}

}  // namespace

bool sentence_may_select(const State&, const Selection&) { return true; }

bool sentence_may_pin(const State& state, const CellRef& cell) {
    if (cell.second && !sentence_of(state).compared) return false;
    if (cell.words && (cell.second || cell.stage != Stage::weight)) return false;
    const bool of_two =
        cell.stage == Stage::cosine || cell.stage == Stage::row_cosine || cell.stage == Stage::difference;
    const bool of_training =
        cell.stage == Stage::gradient || cell.stage == Stage::loss || cell.stage == Stage::curve;
    if (of_training || (of_two && !sentence_of(state).compared)) return false;
    return (cell.stage >= Stage::q || is_of_model(cell.stage)) && cell.row >= 0 &&
           cell.row < position_limit && cell.col >= 0 && cell.col < position_limit;
}

bool sentence_has_second(const State& state) { return sentence_of(state).compared.has_value(); }

SentenceSubject::SentenceSubject(Visit& visit) : Subject(visit), training_(visit.shared<TrainingRuns>()) {}

// ---- The State --------------------------------------------------------------------------------------------

std::optional<State> SentenceSubject::home(const Opening& opening) const {
    State home = default_state();
    home.subject = sentence_subject;
    home.lens = usual_lens(home);
    SentenceState& sentence = home.edit<SentenceState>();
    sentence.text = first_twin();
    sentence.model = opening.model;
    home.selection.layer = opening.layer;
    home.selection.head = opening.head;
    return home;
}

// If a text was too long for the link but is still here, it is restored, so that back and forward lose
// nothing.
void SentenceSubject::receive(State& state, const State& here, Change how) {
    const SentenceState& before = sentence_of(here);
    if (const auto& beside = sentence_of(state).compared;
        beside && beside->model && !beside->model->empty() && *beside->model != other_name_)
        visit().notice("Compared with the model '" + shown_name(*beside->model) +
                       "': " + how_to_open(*beside->model) + " to see the same.");
    if (how == Change::restored) {
        const SentenceState& now = sentence_of(state);
        if (now.model == before.model && now.trained == before.trained) return;
        if (await_model(now, "The model '" + shown_name(now.model) +
                                 "' is no longer open: " + how_to_open(now.model) + " to see the same."))
            return;
        return name_open_model(state.edit<SentenceState>());
    }
    SentenceState& wanted = state.edit<SentenceState>();
    if (wanted.trained) {
        if (model_trained_) complete_text(wanted.trained->plan, model_trained_->plan);
        if (training_.wanted_plan()) complete_text(wanted.trained->plan, *training_.wanted_plan());
    }
    const State* home = visit().home();
    if (state.subject == sentence_subject && wanted.model.empty() && !model_ && home) {
        wanted.model = sentence_of(*home).model;
        if (wanted.text.empty()) {
            wanted.text = sentence_of(*home).text;
            if (state.selection == Selection{}) state.selection = home->selection;
        }
    }
    await_model(wanted, "This link was made with the model '" + shown_name(wanted.model) +
                            "'. Drop its folder onto the page to see the same.");
    if (model_ && awaited_.empty()) name_open_model(wanted);
    last_wanted_ = home && state == *home && !state.selection.query;
}

void SentenceSubject::follow(const State& before, Change how) {
    if (how != Change::command) {
        wanted_ = state().selection;
        play(false);
    } else if (before.subject == state().subject && before.selection != state().selection && !selecting_) {
        wanted_.reset();
        last_wanted_ = false;
    }
    const bool of_text = now().compared && now().compared->of_text();
    const bool left_alone = run_beside() && !of_text;
    const auto model_beside = [](const SentenceState& of) {
        return of.compared ? of.compared->model : std::nullopt;
    };
    if (model_beside(now()).value_or("") != other_name_) {
        other_model_.reset();
        other_name_.clear();
    }
    if (model_beside(now()) != model_beside(sentence_of(before)) || !(of_text || other_model_))
        compared_.clear();
    if (left_alone || !now().changes.same_run(sentence_of(before).changes) ||
        now().corpus != sentence_of(before).corpus)
        begin_changed();
    if (left_alone || !(now().changes == sentence_of(before).changes)) run_shown();
    // The user asked for a bundled model.
    if (how == Change::command && sentence_of(before).model != now().model && now().model != model_name_) {
        if (await_model(now(), "The model '" + shown_name(now().model) + "' does not come with this page."))
            best_wanted_ = true;
        visit().show_boxes();
    }
    refresh_next();
}

TextRun* SentenceSubject::chosen_run() const {
    return run() ? &run()->of(std::min(state().selection.layer, run()->layers() - 1)) : nullptr;
}

void SentenceSubject::select(const Selection& selection) {
    const bool outer = std::exchange(selecting_, true);
    visit().settle(Select{selection});
    selecting_ = outer;
}

// Limits the selection to the existing layers, heads and tokens.
void SentenceSubject::fit_selection() {
    if (!run()) return;
    const TextRun* shown = chosen_run();
    Selection selection = state().selection;
    selection.layer = std::min(selection.layer, shown->layers() - 1);
    selection.head = std::min(selection.head, shown->heads() - 1);
    if (selection.query && *selection.query >= shown->queries()) selection.query.reset();
    if (selection.key && *selection.key >= shown->keys()) selection.key.reset();
    if (TextRun* second = compared_run();
        second && selection.counterpart && *selection.counterpart >= second->of(selection.layer).tokens())
        selection.counterpart.reset();
    if (const auto& pin = state().pin; pin && rows_are_tokens(pin->stage)) {
        const TextRun* owner = run_of(*pin);
        const bool of_keys = pin->stage == Stage::k || pin->stage == Stage::v;
        const auto count = [&](bool keys) {
            return !owner       ? position_limit
                   : pin->words ? (keys ? owner->key_words() : owner->query_words()).count()
                   : keys       ? owner->keys()
                                : owner->queries();
        };
        if (pin->row >= count(of_keys) || (is_of_pairs(pin->stage) && pin->col >= count(true)))
            visit().settle(Pin{std::nullopt});
    }
    if (selection != state().selection) select(selection);
}

// ---- The boxes --------------------------------------------------------------------------------------------

std::optional<TextBox> SentenceSubject::text_box() const {
    const bool enabled = model_ && awaited_.empty();
    return TextBox{now().text, enabled, enabled,
                   enabled ? "Type a sentence for " + shown_name(model_name_)
                   : !awaited_.empty()
                       ? "Waiting for " + shown_name(awaited_)
                       : "Drop a model folder onto the page to see a sentence through a real transformer"};
}

// An encoder–decoder's written text is below the text that it reads.
std::optional<LowerBox> SentenceSubject::lower_box(Box which) const {
    if (!model_ || !awaited_.empty()) return std::nullopt;
    if (writes_another() && which == Box::second)
        return LowerBox{now().written,
                        "What " + shown_name(model_name_) + " has written: press Play, or type", true};
    const LensEntry& lens = lens_of(state());
    if (!now().compared || !now().compared->of_text() || !(lens.compares || lens.reads_second))
        return std::nullopt;
    const Box second = writes_another() ? Box::third : Box::second;
    if (which == second) return LowerBox{now().compared->text, "Type a second sentence"};
    if (writes_another() && which == Box::fourth)
        return LowerBox{now().compared->written, "What is written of the second sentence: type it", true};
    return std::nullopt;
}

void SentenceSubject::text_typed(Box box, const std::string& text) {
    if (box == Box::first) {
        if (text != now().text) set_text(text);
    } else if (box == Box::second && writes_another()) {
        if (text != now().written) set_written(text);
    } else {
        compare_typed(box, text);
    }
}

void SentenceSubject::compare_typed(Box box, const std::string& text) {
    if (!now().compared || !now().compared->of_text()) return;
    Comparison next = *now().compared;
    (box == Box::fourth ? next.written : next.text) = text;
    if (next == *now().compared) return;
    begin_typing();
    visit().perform(Compare{next}, typing_);
}

void SentenceSubject::replace_text(const std::string& text) {
    const bool last = last_is_chosen();
    set_text(text);
    last_wanted_ = last;
}

bool SentenceSubject::last_is_chosen() const {
    return run() && chosen_run()->kind != AttentionKind::encoder &&
           state().selection.query == run()->tokens() - 1;
}

void SentenceSubject::set_text(const std::string& text) {
    wanted_.reset();
    // If the last token was chosen and the text continues, the new last token is chosen.
    if (last_is_chosen() && text.starts_with(now().text)) last_wanted_ = true;
    begin_typing();
    visit().perform(SetText{text}, typing_);
}

void SentenceSubject::begin_typing() {
    const double now = now_ms();
    const bool goes_on =
        awaits_tokens_ ? std::exchange(played_, playing_) : now - typed_at_ms_ <= typing_pause_ms;
    if (!goes_on) ++typing_;
    typed_at_ms_ = awaits_tokens_ ? 0 : now;
}

// Text written for the user is an undo step of its own. The page answers by calling tokens().
void SentenceSubject::write(Range tokens, const std::vector<std::int32_t>& ids) {
    typed_at_ms_ = -typing_pause_ms;
    visit().page().write_tokens(tokens, ids);
}

void SentenceSubject::tokens(TokenizedText text) {
    if (!model_) return;
    special_ = visit().page().special_tokens();
    // An empty text has only a start token, which is not part of a sentence.
    if (text.text.empty()) text.ids.clear();
    if (writes_another()) {
        const Box box = text.box;
        text_typed(box, text.text);
        if (box == Box::second) awaits_tokens_ = false;
        split_[box] = std::move(text);
        if (box == Box::third || box == Box::fourth) return start_both(compared_);
        start_both(sentence_);
        if (compares_models()) start_both(compared_);
        return;
    }
    if (text.box == Box::second) {
        if (now().compared && now().compared->of_text()) start(compared_, std::move(text));
        return;
    }
    if (text.text != now().text) set_text(text.text);
    awaits_tokens_ = false;
    if (compares_models()) start(compared_, text);
    start(sentence_, std::move(text));
    if (sentence_.ids().empty()) {
        next_ = {};
        changed_.clear();
    }
    playing_ = playing_ && sampler_;
}

void SentenceSubject::compare(const Pair& pair) {
    wanted_.reset();
    last_wanted_ = false;
    wanted_word_ = pair.word;
    visit().perform(Compare{Comparison{pair.second}, pair.first});
    Selection selection = state().selection;
    selection.forget_tokens();
    select(selection);
}

// ---- The model --------------------------------------------------------------------------------------------

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

// ---- Runs -------------------------------------------------------------------------------------------------

void SentenceSubject::start(TextJob& job, TokenizedText text, SplitText written) {
    const auto& model = model_of(job);
    if (!model) return;
    const std::string name = name_of_model(job);
    const Index context = model->config().context;
    if (&job == &sentence_) total_tokens_ = text.total;
    if (text.total > context)
        visit().notice("The text has " + std::to_string(text.total) + " tokens; " + name + " reads " +
                       std::to_string(context) + ", so the first " + std::to_string(context) + " are shown.");
    if (std::ssize(text.ids) > context) {
        text.ids.resize(static_cast<std::size_t>(context));
        text.pieces.resize(static_cast<std::size_t>(context));
    }
    const TextJob& other = &job == &sentence_ ? compared_ : sentence_;
    const std::int64_t run_bytes =
        text.ids.empty() ? 0 : trace_bytes(model->config(), std::ssize(text.ids), std::ssize(written.ids));
    const std::int64_t twice = &job == &sentence_ && now().changes.any_on() ? 2 : 1;
    const std::int64_t needed = model_bytes() + twice * run_bytes + other.bytes();
    if (needed > run_bytes_limit)
        return visit().report_error({"A run of " + std::to_string(text.ids.size()) + " tokens through " +
                                     name + " needs " + std::to_string(needed / 1'000'000) +
                                     " MB, more than a browser tab has; shorten the text."});
    std::vector<std::int32_t> segments;
    if (model->config().segments > 1) segments = segments_of(text.ids, special_);
    if (Status started = job.start(
            model, name,
            {std::move(text.ids), std::move(segments), std::move(text.pieces), std::move(text.text)},
            std::move(written));
        !started)
        visit().report_error(started.error());
}

bool SentenceSubject::run_forward(TextJob& job, double until_ms) {
    while (job.running()) {
        const auto complete = job.step();
        if (!complete)
            visit().report_error(complete.error());
        else if (*complete && &job != &changed_)
            begin_changed();
        if (complete && *complete && &job != &sentence_ && is_open()) fit_selection();
        if (complete && *complete && &job == &compared_) refresh_next();
        // If a run is under interventions, the changed run is the one to wait for.
        if (complete && *complete && &job != &compared_ && !computing()) forward_finished();
        if (now_ms() >= until_ms) return true;
    }
    return false;
}

void SentenceSubject::forward_finished() {
    run_frame_ = visit().frames();
    choose_wanted();
    if (is_open()) fit_selection();
    run_shown();
    if (change_said().empty())
        visit().announce(tokens_told() + ", " + layers_told() + " of " + many(run()->heads(), "head") + ".");
}

void SentenceSubject::choose_wanted() {
    const auto wanted = std::exchange(wanted_, std::nullopt);
    const bool best = std::exchange(best_wanted_, false);
    const bool last = std::exchange(last_wanted_, false);
    const std::string word = std::exchange(wanted_word_, "");
    if (!is_open()) return;
    if (!word.empty()) {
        const auto& pieces = chosen_run()->pieces;
        const auto found = std::find_if(pieces.rbegin(), pieces.rend(),
                                        [&](const std::string& piece) { return piece.ends_with(word); });
        Selection selection = state().selection;
        if (found != pieces.rend()) selection.query = pieces.rend() - found - 1;
        select(selection);
    }
    if (wanted) select(*wanted);
    if (const auto head = best ? best_aligned() : std::nullopt)
        select({.layer = head->layer, .head = head->head, .query = {}, .key = {}});
    if (!last) return;
    Selection selection = state().selection;
    selection.query = chosen_run()->tokens() - 1;
    if (visit().at_home()) visit().correct_home(selection);
    select(selection);
}

bool SentenceSubject::survey_heads(double until_ms, bool (HeadOverview::*step)()) {
    HeadOverview* heads = run() ? run()->overview() : nullptr;
    if (!heads) return false;
    heads->look_at({std::min(state().selection.layer, heads->layers() - 1),
                    std::min(state().selection.head, heads->heads() - 1)});
    while ((heads->*step)())
        if (now_ms() >= until_ms) return true;
    return false;
}

void SentenceSubject::begin_naming(const std::optional<Bytes>& scores) {
    const ModelConfig& config = model_->config();
    std::optional<RoleTable> given;
    aligned_.clear();
    if (scores && writes_another()) {
        // The scores belong to the cross-attention heads, and measure how well they align two languages.
        auto read = parse_head_scores(*scores, config.decoder_layers, config.heads, std::array{aligned_key});
        if (read)
            aligned_ = *std::move(read);
        else
            visit().notice(shown_name(model_name_) + ": " + read.error().message + ".");
    } else if (scores) {
        auto read = read_role_table(*scores, config.layers, config.heads);
        if (read)
            given = *std::move(read);
        else
            visit().notice(shown_name(model_name_) + ": " + read.error().message +
                           ". Heads are named by what is measured here.");
    }
    naming_ = HeadNaming(model_, std::move(given));
}

// Naming heads has the lowest priority: it starts once everything about the sentence is computed.
bool SentenceSubject::name_heads(double until_ms) {
    const HeadOverview* heads = run() ? run()->overview() : nullptr;
    if (!heads || !heads->done()) return false;
    if (model_bytes() + sentence_.bytes() + changed_.bytes() + compared_.bytes() + naming_.bytes() >
        run_bytes_limit)
        return false;
    while (naming_.step())
        if (now_ms() >= until_ms) return true;
    if (const auto doubt = naming_.take_doubt()) visit().notice(shown_name(model_name_) + ": " + *doubt);
    return false;
}

// Continues the runs that an explanation needs in double precision.
bool SentenceSubject::repeat_in_double(double until_ms) {
    bool worked = false;  // renews the shown explanation
    for (TextRun* each : {run(), compared_run()})
        while (each && each->step_double()) {
            worked = true;
            if (now_ms() >= until_ms) return true;
        }
    return worked;
}

bool SentenceSubject::work(Urgency urgency, double until_ms) {
    switch (urgency) {
        case Urgency::first:
            return run_forward(sentence_, until_ms) || run_forward(changed_, until_ms) ||
                   run_forward(compared_, until_ms);
        case Urgency::usual: {
            training_.rests = awaits_training();
            if (survey_heads(until_ms, &HeadOverview::step_maps)) return true;
            if (run_corpus(until_ms)) return true;
            const bool more = awaits_training() && prepare_awaited(until_ms);
            generate();
            return more;
        }
        case Urgency::last: break;
    }
    return survey_heads(until_ms, &HeadOverview::step_scores) || name_heads(until_ms) ||
           repeat_in_double(until_ms) || computing() || compared_.running() || playing_;
}

std::optional<Progress> SentenceSubject::progress() const {
    if (sentence_.running()) return Progress{sentence_.progress(), "forward pass"};
    if (changed_.running()) return Progress{changed_.progress(), "changed run"};
    if (compared_.running()) return Progress{compared_.progress(), "forward pass"};
    if (corpus_ && !corpus_->done()) return Progress{corpus_->progress(), "many texts"};
    const HeadOverview* heads = run() ? run()->overview() : nullptr;
    if (!heads || heads->done()) return std::nullopt;
    return Progress{static_cast<float>(heads->progress()), heads->has_maps() ? "head scores" : "head maps"};
}

std::uint64_t SentenceSubject::milestones() const {
    const TextRun* shown = run();
    if (!shown) return 0;
    return 8 * shown->version() + 4 * naming_.milestones() +
           static_cast<std::uint64_t>(shown->all_heads ? shown->all_heads->milestones() : 0);
}

}  // namespace attn::app
