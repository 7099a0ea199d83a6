#include "subjects/sentence/sentence.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "io/head_scores_json.hpp"

namespace attn::app {

namespace {

constexpr std::string_view aligned_key = "aligned";  // the key of a head's score in scores.json

const char* how_to_open(std::string_view model) {
    return is_hub_model(model) ? "open it from the hub" : "drop its folder onto the page";
}

// Returns the tokens up to the chosen one.
std::vector<std::string> until(std::span<const std::string> tokens, std::optional<Index> chosen) {
    const auto count = chosen ? std::min(*chosen + 1, std::ssize(tokens)) : 0;
    return {tokens.begin(), tokens.begin() + count};
}
bool begins_with(std::span<const std::string> tokens, std::span<const std::string> first) {
    return std::ranges::equal(tokens.first(std::min(tokens.size(), first.size())), first);
}

}  // namespace

bool sentence_may_select(const State&, const Selection&) { return true; }

bool sentence_may_pin(const State& state, const RunCell& cell) {
    if (cell.second && !sentence_of(state).compared) return false;
    return cell.stage != Stage::gradient && (cell.stage >= Stage::q || is_of_model(cell.stage)) &&
           cell.row >= 0 && cell.row < position_limit && cell.col >= 0 && cell.col < position_limit;
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
        beside && beside->model && !beside->model->empty() && *beside->model != beside_.name)
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
        if (open_.trained) complete_text(wanted.trained->plan, open_.trained->plan);
        if (training_.wanted_plan()) complete_text(wanted.trained->plan, *training_.wanted_plan());
    }
    const State* home = visit().home();
    if (state.subject == sentence_subject && wanted.model.empty() && home &&
        (!open_.model || open_.name == sentence_of(*home).model)) {
        wanted.model = sentence_of(*home).model;
        if (wanted.text.empty()) {
            wanted.text = sentence_of(*home).text;
            if (state.selection == Selection{}) state.selection = home->selection;
        }
    }
    await_model(wanted, "This link was made with the model '" + shown_name(wanted.model) +
                            "'. Drop its folder onto the page to see the same.");
    if (open_.model && awaited_.empty()) name_open_model(wanted);
    pending_.want_last_token(home && state == *home && !state.selection.query);
}

void SentenceSubject::follow(const State& before, Change how) {
    if (how != Change::command) {
        pending_.replaced(state().selection);
        play(false);
        if (now().text != sentence_of(before).text) spans_in_ = {};
    } else if (before.subject == state().subject && before.selection != state().selection && !selecting_) {
        pending_.chosen();
    }
    if (how == Change::command && before.selection == state().selection) note_chosen(sentence_of(before));
    const bool of_text = now().compared && now().compared->of_text();
    const bool left_alone = run_beside() && !of_text;
    const auto model_beside = [](const SentenceState& of) {
        return of.compared ? of.compared->model : std::nullopt;
    };
    if (model_beside(now()).value_or("") != beside_.name) {
        beside_ = {};
    }
    if (model_beside(now()) != model_beside(sentence_of(before)) || !(of_text || beside_.model))
        compared_.clear();
    if (left_alone || !now().changes.same_run(sentence_of(before).changes) ||
        now().corpus != sentence_of(before).corpus || now().contrast != sentence_of(before).contrast)
        begin_changed();
    if (left_alone || !(now().changes == sentence_of(before).changes)) run_shown();
    // The user asked for a bundled model.
    if (how == Change::command && sentence_of(before).model != now().model && now().model != open_.name) {
        if (await_model(now(), "The model '" + shown_name(now().model) + "' does not come with this page."))
            pending_.want_best_head();
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
    if (const TextRun* owner = state().pin ? run_of(*state().pin) : nullptr;
        owner && !has_tokens_of(*owner, *state().pin, looks_of(state()).map.spans))
        visit().settle(Pin{std::nullopt});
    if (selection != state().selection) select(selection);
    fit_spans();
}

// Keeps the named spans as far as the text has stayed the same.
void SentenceSubject::fit_spans() {
    SetSpans kept{looks_of(state(), sentence_subject).map.spans, sentence_subject};
    const std::size_t before = kept.spans.size();
    for (const TextRun* each : {run(), &run()->of(0)}) {
        const TextUnits& text = each->query_text();
        auto& known = spans_in_[static_cast<std::size_t>(text.number())];
        if (known == text.pieces()) continue;
        const Index same = std::ranges::mismatch(known, text.pieces()).in1 - known.begin();
        if (!known.empty())
            std::erase_if(kept.spans, [&](const TokenSpan& span) {
                return span.text == text.number() && span.tokens.end > same;
            });
        known = text.pieces();
    }
    if (kept.spans.size() < before) visit().settle(std::move(kept));
}

void SentenceSubject::drop_stale_counterpart() {
    const auto until = pending_.take_counterpart_read();
    Selection selection = state().selection;
    if (!until || !is_open() || !selection.counterpart || !compared_run()) return;
    TextRun& second = compared_run()->of(std::min(selection.layer, compared_run()->layers() - 1));
    if (begins_with(second.query_names(), *until)) return;
    selection.counterpart.reset();
    select(selection);
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
        else if (*complete && &job != &changed_.job)
            begin_changed();
        if (complete && *complete && &job == &compared_) drop_stale_counterpart();
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

void SentenceSubject::note_chosen(const SentenceState& before) {
    const Selection& s = state().selection;
    const TextRun* read = chosen_run();
    const bool other = before.text != now().text || before.written != now().written;
    const bool stays = other && pending_.take_kept_choice();
    if (read && other && !stays)
        pending_.note({until(read->query_names(), s.query), until(read->key_names(), s.key)});
    const auto second = [](const SentenceState& of) {
        return of.compared ? std::pair(of.compared->text, of.compared->written)
                           : std::pair<std::string, std::string>();
    };
    if (TextRun* run = compared_run(); run && second(before) != second(now()))
        pending_.note_counterpart(
            until(run->of(std::min(s.layer, run->layers() - 1)).query_names(), s.counterpart));
}

void SentenceSubject::drop_stale(const PendingSelection::ReadUntil& read) {
    const TextRun& run = *chosen_run();
    Selection selection = state().selection;
    // A text that is opened has its last token chosen.
    if (selection.query && !begins_with(run.query_names(), read.query))
        selection.query =
            run.kind == AttentionKind::encoder ? std::nullopt : std::optional(run.queries() - 1);
    if (selection.key && !begins_with(run.key_names(), read.key)) selection.key.reset();
    if (selection != state().selection) select(selection);
}

void SentenceSubject::choose_wanted() {
    const auto read = pending_.take_read();
    const PendingSelection::Wanted wanted = pending_.take();
    if (!is_open()) return;
    if (read && !wanted.any()) drop_stale(*read);
    if (!wanted.word.empty()) {
        const auto& pieces = chosen_run()->pieces;
        const auto found = std::find_if(pieces.rbegin(), pieces.rend(), [&](const std::string& piece) {
            return piece.ends_with(wanted.word);
        });
        Selection selection = state().selection;
        if (found != pieces.rend()) selection.query = pieces.rend() - found - 1;
        select(selection);
    }
    if (wanted.given) select(*wanted.given);
    if (const auto head = wanted.best_head ? best_aligned() : std::nullopt)
        select({.layer = head->layer, .head = head->head, .query = {}, .key = {}});
    if (!wanted.last_token) return;
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
    const ModelConfig& config = open_.model->config();
    std::optional<RoleTable> given;
    aligned_.clear();
    if (scores && writes_another()) {
        // The scores belong to the cross-attention heads, and measure how well they align two languages.
        auto read = parse_head_scores(*scores, config.decoder_layers, config.heads, std::array{aligned_key});
        if (read)
            aligned_ = *std::move(read);
        else
            visit().notice(shown_name(open_.name) + ": " + read.error().message + ".");
    } else if (scores) {
        auto read = read_role_table(*scores, config.layers, config.heads);
        if (read)
            given = *std::move(read);
        else
            visit().notice(shown_name(open_.name) + ": " + read.error().message +
                           ". Heads are named by what is measured here.");
    }
    naming_ = HeadNaming(open_.model, std::move(given));
}

// Naming heads has the lowest priority: it starts once everything about the sentence is computed.
bool SentenceSubject::name_heads(double until_ms) {
    const HeadOverview* heads = run() ? run()->overview() : nullptr;
    if (!heads || !heads->done()) return false;
    if (model_bytes() + sentence_.bytes() + changed_.job.bytes() + compared_.bytes() + naming_.bytes() >
        run_bytes_limit)
        return false;
    while (naming_.step())
        if (now_ms() >= until_ms) return true;
    if (const auto doubt = naming_.take_doubt()) visit().notice(shown_name(open_.name) + ": " + *doubt);
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
            return run_forward(sentence_, until_ms) || run_forward(changed_.job, until_ms) ||
                   run_forward(compared_, until_ms);
        case Urgency::usual: {
            training_.rests = awaits_training();
            if (survey_heads(until_ms, &HeadOverview::step_maps)) return true;
            if (run_texts(until_ms)) return true;
            const bool more = awaits_training() && prepare_awaited(until_ms);
            generate();
            return more;
        }
        case Urgency::last: break;
    }
    return survey_heads(until_ms, &HeadOverview::step_scores) || name_heads(until_ms) ||
           repeat_in_double(until_ms) || computing() || compared_.running() || playing();
}

std::optional<Progress> SentenceSubject::progress() const {
    if (sentence_.running()) return Progress{sentence_.progress(), "forward pass"};
    if (changed_.job.running()) return Progress{changed_.job.progress(), "changed run"};
    if (compared_.running()) return Progress{compared_.progress(), "forward pass"};
    if (corpus_ && !corpus_->done()) return Progress{corpus_->progress(), "many texts"};
    for (const auto& set : contrast_)
        if (set && !set->run.done()) return Progress{set->run.progress(), "positive and negative texts"};
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
