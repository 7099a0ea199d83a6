// Implements prediction: the most likely next tokens, and generation one token at a time; in a bidirectional
// model, the tokens that fit at a position.
#include <algorithm>
#include <array>
#include <utility>

#include "model/network.hpp"
#include "subjects/sentence/sentence.hpp"

namespace attn::app {

namespace {

constexpr Index next_shown = 12;

}  // namespace

bool SentenceSubject::continues_text() const { return open_.model && open_.model->network().causal; }

// The second run predicts the same position as the first or, if it has another text, its own mask.
void SentenceSubject::ask_beside() {
    TextRun* second = compared_run();
    if (!second || second->run->network().causal) return;
    const bool same_text = std::ranges::equal(second->ids(), run()->ids());
    second->predict(
        same_text ? run()->predicted()
                  : asked_token(second->ids(), second->pieces, special_, state().selection.counterpart));
}

void SentenceSubject::refresh_next() {
    if (!run() || !run()->all_heads) return;
    const Index token = continues_text()
                            ? run()->tokens() - 1
                            : asked_token(run()->ids(), run()->pieces, special_, state().selection.query);
    if (!next_.candidates.empty() && next_for_ == now().sampling && next_of_ == run()->version() &&
        token == run()->predicted())
        return ask_beside();
    run()->predict(token);
    ask_beside();
    next_for_ = now().sampling;
    next_of_ = run()->version();
    measure_change();
    const auto logits = run()->logits.values();
    next_ = {next_token_distribution(logits, {.temperature = 1}, next_shown), {}, {}, 0};
    if (continues_text()) {
        const auto drawn = next_token_distribution(logits, sampling_of(next_for_), std::ssize(logits));
        next_.kept = std::ssize(drawn);
        for (const Candidate& c : next_.candidates) {
            const auto same = std::ranges::find(drawn, c.id, &Candidate::id);
            next_.drawn.push_back(same == drawn.end() ? 0 : same->probability);
        }
    }
    std::vector<std::int32_t> ids;
    for (const Candidate& c : next_.candidates) ids.push_back(c.id);
    next_.pieces = visit().page().ids_to_text(ids);
    next_.pieces.resize(ids.size());
}

void SentenceSubject::choose_next(std::int32_t id) {
    if (generation_.awaits_tokens() || computing()) return;
    if (!continues_text()) return write({run()->predicted(), run()->predicted() + 1}, {id});
    play(false);
    append(id);
}

std::optional<Index> SentenceSubject::maskable_word() const {
    if (!run() || continues_text() || !special_.mask) return std::nullopt;
    const bool chosen = state().selection.query && *state().selection.query < run()->tokens();
    if (!chosen && !masked().empty()) return std::nullopt;
    const Index token = chosen ? *state().selection.query : run()->predicted();
    if (is_special(special_, run()->ids()[static_cast<std::size_t>(token)])) return std::nullopt;
    return run()->words.unit_of(token);
}

void SentenceSubject::mask_word() {
    const auto word = maskable_word();
    if (!word || computing()) return;
    const Range tokens = run()->words.of(*word);
    write(tokens, std::vector(static_cast<std::size_t>(tokens.size()), *special_.mask));
}

// True when everything in the picture belongs to the run.
bool SentenceSubject::is_shown() const { return visit().frames() > run_frame_ && !visit().frame_computes(); }

void SentenceSubject::play(bool on) {
    generation_.play(on && continues_text());
    const bool ended = !next_.candidates.empty() &&
                       std::ranges::count(open_.model->config().eos_ids, next_.candidates.front().id) > 0;
    if (!playing() || !writes_another() || !ended || now().written.empty()) return;
    typed_at_ms_ = -typing_pause_ms;
    set_written("");
    generation_.play_from_start();
}

Status SentenceSubject::may_generate() const {
    const Index context = open_.model->config().context;
    if (std::ssize(sentence_.last_ids()) < context) return ok();
    return Error{"The context of " + std::to_string(context) + " tokens is full: shorten the text to go on."};
}

void SentenceSubject::generate() {
    if (!run() || !generation_.is_due(is_shown())) return;
    const auto refuse = [&](const Error& error) {
        generation_.stop();
        visit().notice(error.message);
    };
    if (const Status possible = may_generate(); !possible) return refuse(possible.error());
    const auto id =
        generation_.draw(sentence_.last_ids(), now().sampling, run()->logits.values(), run()->tokens() - 1);
    if (!id) return refuse(id.error());
    const bool ends = std::ranges::count(open_.model->config().eos_ids, *id) > 0;
    // A decoder's written text keeps no end token, so that it can be continued.
    if (ends && writes_another()) {
        if (!generation_.stop())
            visit().notice(shown_name(open_.name) + " ends its text here: it drew “" +
                           token_texts(std::array{*id}).front() + "”.");
        return visit().page().draw_now();
    }
    generation_.appended(*id);
    append(*id);
    if (ends) generation_.stop();
}

void SentenceSubject::append(std::int32_t id) {
    generation_.token_sent();
    // The page answers by calling tokens().
    visit().page().append_token(writes_another() ? Box::second : Box::first, id);
}

}  // namespace attn::app
