#include "app/session.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "app/clock.hpp"
#include "app/presets.hpp"
#include "app/twins.hpp"
#include "app/url.hpp"

namespace attn::app {

namespace {

Sampling sampling_of(const SamplingState& s) { return {s.temperature, s.top_k, s.top_p, s.seed}; }

constexpr Index next_shown = 12;
std::string as_sentence(std::string message) {
    if (!message.empty() && message.back() != '.' && message.back() != '?') message += '.';
    return message;
}

// Letters typed without a longer pause are one step of undo.
constexpr double typing_pause_ms = 1000;
// What model and run may take together of a heap that ends at 2 GB.
constexpr std::int64_t run_bytes_limit = 1'900'000'000;

}  // namespace

void Session::report_error(const Error& error) { page_.notice(as_sentence(error.message), true); }

Session::Session(Page& page) : page_(page), history_(default_state()) { rerun_worked(); }

const WorkedRun* Session::worked_before() const {
    const WorkedState& now = state().worked;
    const WorkedState& then = worked_before_for_;
    const bool same_shapes = worked_before_ && now.source == then.source && now.queries() == then.queries() &&
                             now.keys() == then.keys() && now.d_k() == then.d_k() &&
                             now.d_v() == then.d_v() && now.x.cols == then.x.cols &&
                             now.preset == then.preset;
    return same_shapes ? &*worked_before_ : nullptr;
}

std::optional<float> Session::progress() const {
    if (sentence_.running()) return sentence_.progress();
    if (compared_.running()) return compared_.progress();
    if (saving_) return saving_->progress();
    if (!sentence()) return std::nullopt;
    const auto& heads = sentence()->heads;
    if (heads && !heads->done()) return static_cast<float>(heads->progress());
    return std::nullopt;
}

std::string_view Session::progress_name() const {
    if (sentence_.running() || compared_.running()) return "forward pass";
    if (saving_) return "file";
    return sentence()->heads->has_maps() ? "head scores" : "head maps";
}

void Session::perform(const Command& command, std::uint64_t gesture) {
    const State before = state();
    if (std::holds_alternative<Select>(command)) {
        wanted_.reset();
        last_wanted_ = false;
    }
    if (Status done = history_.perform(command, gesture); !done) return report_error(done.error());
    if (state() == before) return;
    // Of a gesture, the whole way it went.
    if (!is_navigation(command)) last_edit_ = describe(history_.before_last_step(), command);
    const bool new_page =
        std::holds_alternative<OpenLens>(command) || std::holds_alternative<OpenPreset>(command) ||
        std::holds_alternative<SetModel>(command) || std::holds_alternative<OpenTrained>(command) ||
        std::holds_alternative<OpenTensors>(command);
    if (std::holds_alternative<OpenLens>(command) || std::holds_alternative<OpenTensors>(command) ||
        std::holds_alternative<SetTrainingPlan>(command))
        show_sentence_box();
    if (state().sentence.compared.has_value() != before.sentence.compared.has_value() ||
        state().lens != before.lens)
        show_second_box();
    state_changed(new_page);
}

void Session::undo() {
    const State before = state();
    if (!history_.undo()) return;
    last_edit_ = "undone";
    state_restored(before);
}

void Session::redo() {
    const State before = state();
    if (!history_.redo()) return;
    last_edit_ = "redone";
    state_restored(before);
}

void Session::state_restored(const State& before) {
    wanted_ = state().selection;
    const SentenceState& now = state().sentence;
    const bool other_model = now.model != before.sentence.model || now.trained != before.sentence.trained;
    if (other_model &&
        !await_model(now, "The model '" + now.model +
                              "' is no longer open: drop its folder onto the page to see the same."))
        name_open_model();
    State named = state();
    name_open_tensors(named, false);
    if (named != state()) history_.correct(std::move(named));
    if (other_model || now.text != before.sentence.text || state().lens != before.lens) show_sentence_box();
    if (other_model || now.compared != before.sentence.compared || state().lens != before.lens)
        show_second_box();
    state_changed(false);
}

State Session::read_fragment(const std::string& fragment) {
    const bool home = fragment.empty() && home_;
    ParsedFragment parsed = home ? ParsedFragment{*home_, ""} : parse_fragment(fragment);
    if (!parsed.note.empty()) page_.notice(parsed.note, false);
    SentenceState& wanted = parsed.state.sentence;
    complete_texts(parsed.state);
    name_open_tensors(parsed.state, true);
    await_model(wanted, "This link was made with the model '" + wanted.model +
                            "'. Drop its folder onto the page to see the same.");
    if (model_ && awaited_.empty()) {
        wanted.model = model_name_;
        wanted.trained = model_trained_;
    }
    last_wanted_ = home && !home_->selection.query;
    return std::move(parsed.state);
}

void Session::set_home(const std::string& model, Index layer, Index head) {
    home_ = default_state();
    home_->lens = LensId::sentence;
    home_->sentence.text = first_twin();
    home_->sentence.model = model;
    home_->selection.layer = layer;
    home_->selection.head = head;
}

// The bare address is home; where there is one, the first example has to be named.
std::string Session::address() const {
    if (!home_) return to_fragment(state());
    if (state() == *home_) return "";
    const std::string fragment = to_fragment(state());
    return fragment.empty() ? "v=1&lens=worked" : fragment;
}

void Session::start(const std::string& fragment) {
    history_ = History(read_fragment(fragment));
    state_replaced();
}

void Session::open_fragment(const std::string& fragment) {
    history_.replace(read_fragment(fragment));
    state_replaced();
}

void Session::state_replaced() {
    wanted_ = state().selection;
    fit_selection();
    show_sentence_box();
    show_second_box();
    rerun_worked();
    refresh_next();
    page_.set_history(history_.can_undo(), history_.can_redo());
}

void Session::state_changed(bool push_url) {
    fit_selection();
    rerun_worked();
    refresh_next();
    page_.set_url(address(), push_url);
    page_.set_history(history_.can_undo(), history_.can_redo());
}

void Session::rerun_worked() {
    if (worked_ && worked_for_ == state().worked) return;
    auto run = run_worked(state().worked);
    // Shapes are kept consistent by the commands, so this would be a defect worth seeing.
    if (!run) return report_error(run.error());
    worked_for_ = state().worked;
    worked_ = *std::move(run);
    const WorkedState& before = history_.before_last_step().worked;
    if (worked_before_ && worked_before_for_ == before) return;
    worked_before_for_ = before;
    worked_before_.reset();
    if (auto earlier = run_worked(before)) worked_before_ = *std::move(earlier);
}

bool Session::trains_own_text() const {
    return state().lens == LensId::training && state().training.plan.task == TrainingTask::own_text;
}

void Session::show_sentence_box() {
    if (trains_own_text())
        return page_.set_sentence(state().training.plan.text, true, false,
                                  "Paste a text for the network to learn");
    const bool enabled = model_ && awaited_.empty();
    page_.set_sentence(
        state().sentence.text, enabled, enabled,
        enabled ? "Type a sentence for " + model_name_
        : !awaited_.empty()
            ? "Waiting for " + awaited_
            : "Drop a model folder onto the page to see a sentence through a real transformer");
}

void Session::show_second_box() {
    const auto& second = state().sentence.compared;
    const bool shown = second && state().lens == LensId::sentence && model_ && awaited_.empty();
    page_.set_second_sentence(shown ? &second->text : nullptr);
    if (!second) compared_.clear();
}

void Session::text_typed(const std::string& text) {
    if (trains_own_text()) {
        TrainingPlan plan = state().training.plan;
        plan.text = text;
        plan.changes.clear();
        if (text != state().training.plan.text) perform(SetTrainingPlan{plan});
        return;
    }
    if (text == state().sentence.text) return;
    set_text(text);
    if (model_ && state().lens != LensId::sentence) perform(OpenLens{LensId::sentence});
}

void Session::replace_text(const std::string& text) {
    const bool last = sentence() && state().selection.query == sentence()->trace->tokens() - 1;
    set_text(text);
    last_wanted_ = last;
    show_sentence_box();
}

void Session::set_text(const std::string& text) {
    wanted_.reset();
    begin_typing();
    perform(SetText{text}, typing_);
}

void Session::begin_typing() {
    const double now = now_ms();
    // A generated token is a step of its own.
    if (awaits_tokens_ || now - typed_at_ms_ > typing_pause_ms) ++typing_;
    typed_at_ms_ = awaits_tokens_ ? 0 : now;
}

void Session::tokens(const std::string& text, std::vector<std::int32_t> ids, std::vector<std::string> pieces,
                     Index total) {
    if (!model_) return;
    if (text != state().sentence.text) set_text(text);
    awaits_tokens_ = false;
    // What stands before an empty text, a start token, is nobody's sentence.
    if (text.empty()) ids.clear();
    start(sentence_, text, std::move(ids), std::move(pieces), total);
    if (sentence_.ids().empty()) next_ = {};
    playing_ = playing_ && generator_;
}

void Session::second_text_typed(const std::string& text) {
    const auto& second = state().sentence.compared;
    if (!second || text == second->text) return;
    Comparison next = *second;
    next.text = text;
    begin_typing();
    perform(Compare{next}, typing_);
}

void Session::compare(const Pair& pair) {
    const auto view = state().sentence.compared.value_or(Comparison{}).view;
    wanted_.reset();
    last_wanted_ = false;
    wanted_word_ = pair.word;
    perform(Compare{Comparison{pair.second, view}, pair.first});
    Selection selection = state().selection;
    selection.forget_tokens();
    perform(Select{selection});
    show_sentence_box();
    show_second_box();
}

void Session::second_tokens(const std::string& text, std::vector<std::int32_t> ids,
                            std::vector<std::string> pieces, Index total) {
    if (!model_ || !state().sentence.compared) return;
    if (text.empty()) ids.clear();
    start(compared_, text, std::move(ids), std::move(pieces), total);
}

bool Session::load_model() {
    auto model = intake_.load();
    if (!model) {
        report_error(model.error());
        return false;
    }
    model_ = *std::move(model);
    model_name_ = intake_.name();
    const bool awaited = std::exchange(awaited_, "") == model_name_;
    const auto opening = std::exchange(opening_, std::nullopt);
    const bool trained = opening && name_of(opening->network) == model_name_;
    model_trained_ = trained ? std::optional(opening->network) : std::nullopt;
    for (const std::string& note : model_->notes())
        page_.notice(as_sentence(model_name_ + ": " + note), false);
    generator_.reset();
    sentence_.clear();
    compared_.clear();
    next_ = {};
    if (!awaited && trained) {
        wanted_.reset();
        last_wanted_ = true;
        perform(*opening);
    } else if (!awaited) {
        model_chosen();
    }
    page_.set_title(model_name_);
    show_sentence_box();
    show_second_box();
    return true;
}

// A person has opened it: they see it, and one that comes with the page as the page opens, unless they wrote a text.
void Session::model_chosen() {
    const std::string& text = state().sentence.text;
    if (home_ && model_name_ == home_->sentence.model && (text.empty() || twin_of(text))) {
        State next = state();  // the worked example stays
        next.lens = home_->lens;
        next.sentence.text = home_->sentence.text;
        next.sentence.model = model_name_;
        next.selection = home_->selection;
        next.pin.reset();
        history_.replace(std::move(next));
        last_wanted_ = !home_->selection.query;
        wanted_ = home_->selection;
        return state_changed(true);
    }
    wanted_.reset();
    perform(SetModel{model_name_});
    if (state().lens != LensId::sentence) perform(OpenLens{LensId::sentence});
}

void Session::model_failed() {
    opening_.reset();
    if (std::exchange(awaited_, "").empty()) return;
    if (state().sentence.trained) {
        name_open_model();
        return state_replaced();
    }
    const bool at_home = home_ && state() == *home_;
    home_.reset();
    if (at_home) {
        State state = default_state();
        state.sentence.model = model_name_;
        history_.correct(std::move(state));
    }
    state_replaced();
}

void Session::start(SentenceJob& job, const std::string& text, std::vector<std::int32_t> ids,
                    std::vector<std::string> pieces, Index total) {
    const Index context = model_->config().context;
    if (total > context)
        page_.notice("The text has " + std::to_string(total) + " tokens; " + model_name_ + " reads " +
                         std::to_string(context) + ", so the first " + std::to_string(context) +
                         " are shown.",
                     false);
    if (std::ssize(ids) > context) {
        ids.resize(static_cast<std::size_t>(context));
        pieces.resize(static_cast<std::size_t>(context));
    }
    const SentenceJob& other = &job == &sentence_ ? compared_ : sentence_;
    const auto run_bytes = [&](Index tokens) { return tokens ? trace_bytes(model_->config(), tokens) : 0; };
    const std::int64_t needed =
        model_->memory_bytes() + run_bytes(std::ssize(ids)) + run_bytes(std::ssize(other.ids()));
    if (needed > run_bytes_limit)
        return report_error({"A run of " + std::to_string(ids.size()) + " tokens through " + model_name_ +
                             " needs " + std::to_string(needed / 1'000'000) +
                             " MB, more than a browser tab has; shorten the text."});
    if (Status started = job.start(model_, std::move(ids), std::move(pieces), text); !started)
        report_error(started.error());
}

void Session::forward_finished() {
    if (Status begun = sentence_.begin_overview(); !begun) report_error(begun.error());
    const Trace& trace = *sentence()->trace;
    choose_wanted();
    fit_selection();
    next_ = {};
    refresh_next();
    page_.announce(std::to_string(trace.tokens()) + " tokens, " + std::to_string(trace.layers().size()) +
                   " layers of " + std::to_string(trace.layers()[0].attention.heads()) + " heads.");
}

void Session::choose_wanted() {
    const auto wanted = std::exchange(wanted_, std::nullopt);
    const bool last = std::exchange(last_wanted_, false);
    const std::string word = std::exchange(wanted_word_, "");
    if (state().lens != LensId::sentence) return;
    if (!word.empty()) {
        const auto& pieces = sentence()->pieces;
        const auto found = std::find_if(pieces.rbegin(), pieces.rend(),
                                        [&](const std::string& piece) { return piece.ends_with(word); });
        Selection selection = state().selection;
        if (found != pieces.rend()) selection.query = pieces.rend() - found - 1;
        perform(Select{selection});
    }
    if (wanted) perform(Select{*wanted});
    if (!last) return;
    Selection selection = state().selection;
    selection.query = sentence()->trace->tokens() - 1;
    if (home_ && state() == *home_) home_->selection = selection;
    perform(Select{selection});
}

void Session::fit_selection() {
    if (state().lens == LensId::tensors) return fit_selection_to_tensors();
    if (!sentence()) return;
    const Index n = sentence()->trace->tokens();
    const auto& layers = sentence()->trace->layers();
    Selection selection = state().selection;
    selection.layer = std::min(selection.layer, std::ssize(layers) - 1);
    selection.head = std::min(selection.head, layers[0].attention.heads() - 1);
    if (state().lens == LensId::sentence) {
        if (selection.query && *selection.query >= n) selection.query.reset();
        if (selection.key && *selection.key >= n) selection.key.reset();
        if (compared() && selection.counterpart && *selection.counterpart >= compared()->trace->tokens())
            selection.counterpart.reset();
        if (const auto& pin = state().pin) {
            const SentenceRun* run = run_of(*pin);
            const Index tokens = !run         ? position_limit
                                 : pin->words ? run->words.count()
                                              : run->trace->tokens();
            if (pin->row >= tokens || (is_stage(pin->matrix) && pin->col >= tokens))
                perform(Pin{std::nullopt});
        }
    }
    if (selection == state().selection) return;
    const auto wanted = std::pair(wanted_, last_wanted_);
    perform(Select{selection});
    std::tie(wanted_, last_wanted_) = wanted;
}

void Session::refresh_next() {
    if (!sentence() || (!next_.candidates.empty() && next_for_ == state().sentence.sampling)) return;
    next_for_ = state().sentence.sampling;
    next_.candidates =
        next_token_distribution(sentence()->logits.values(), sampling_of(next_for_), next_shown);
    std::vector<std::int32_t> ids;
    for (const Candidate& c : next_.candidates) ids.push_back(c.id);
    next_.pieces = page_.ids_to_text(ids);
    next_.pieces.resize(ids.size());
}

void Session::generate_step() { step_wanted_ = sentence() != nullptr; }

bool Session::run_forward(SentenceJob& job, double until) {
    while (job.running()) {
        const auto complete = job.step();
        if (!complete)
            report_error(complete.error());
        else if (*complete)
            &job == &sentence_ ? forward_finished() : fit_selection();
        if (now_ms() >= until) return true;
    }
    return false;
}

bool Session::survey_heads(double until, bool (HeadOverview::*step)()) {
    HeadOverview* heads = sentence_.heads();
    if (!heads) return false;
    heads->look_at({state().selection.layer, state().selection.head});
    while ((heads->*step)())
        if (now_ms() >= until) return true;
    return false;
}

void Session::save(Result<Saving> file) {
    if (!file) return report_error(file.error());
    saving_ = *std::move(file);
}

bool Session::work_on_file(double until) {
    while (saving_ && saving_->step())
        if (now_ms() >= until) return true;
    if (!saving_) return false;
    page_.download(saving_->name(), saving_->finish());
    saving_.reset();
    return false;
}

bool Session::work_on_lens(double until) {
    const bool works = !lens_steps_.empty();
    do lens_reached_ += static_cast<int>(std::erase_if(lens_steps_, [](auto& step) { return !step(); }));
    while (!lens_steps_.empty() && now_ms() < until);
    return works;
}

Session::Milestones Session::milestones() const {
    Milestones now{.lens_reached = lens_reached_};
    if (const TensorSet* set = tensors_.open()) {
        now.tensors = set->serial();
        now.tensors_reached = set->milestones();
    }
    if (const SentenceRun* run = sentence()) {
        now.run = run->version;
        now.heads_reached = run->heads ? run->heads->milestones() : 0;
    }
    return now;
}

bool Session::work(double budget_ms) {
    const Milestones before = milestones();
    const bool more = work_until(now_ms() + budget_ms);
    if (milestones() != before) page_.draw_now();
    return more;
}

bool Session::work_until(double until) {
    if (run_forward(sentence_, until) || run_forward(compared_, until) || work_on_file(until)) return true;
    const double now = now_ms();
    const bool shows = work_on_lens(now + (until - now) / 2);
    if (survey_heads(until, &HeadOverview::step_maps)) return true;
    bool more = work_on_tensors(until);
    const double left = std::max(until - now_ms(), 0.0);
    more |= awaits_training() ? prepare_awaited(left) : training_.work(state().training, left);
    if (const auto error = training_.take_error()) report_error(*error);
    if (sentence() && !awaits_tokens_ && (step_wanted_ || playing_)) {
        step_wanted_ = false;
        if (const Index context = model_->config().context; std::ssize(sentence_.ids()) >= context) {
            playing_ = false;
            page_.notice("The context of " + std::to_string(context) + " tokens is full.", false);
            return more;
        }
        const Sampling sampling = sampling_of(state().sentence.sampling);
        // A generator goes on while the text is what it made; any edit starts another.
        if (!generator_ || !std::ranges::equal(generator_->ids(), sentence_.ids()) ||
            !(next_for_ == generator_for_)) {
            auto generator = Generator::start(*sentence()->trace, sampling);
            if (!generator) {
                playing_ = false;
                report_error(generator.error());
                return more;
            }
            generator_ = *std::move(generator);
            generator_for_ = next_for_;
        }
        auto id = generator_->next();
        if (!id) {
            playing_ = false;
            page_.notice(as_sentence(id.error().message), false);
            return more;
        }
        if (std::ranges::count(model_->config().eos_ids, *id) > 0) playing_ = false;
        awaits_tokens_ = true;
        page_.append_token(*id);  // the page answers with tokens()
    }
    // Last what nobody waits for.
    const bool surveys = survey_heads(until, &HeadOverview::step_scores);
    const bool due = frame_due_ms_ && now_ms() >= *frame_due_ms_;
    if (due) frame_due_ms_.reset();
    return more || shows || surveys || due || sentence_.running() || compared_.running() || playing_;
}

}  // namespace attn::app
