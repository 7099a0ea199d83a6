// Fills the text boxes of the page, and takes what is typed there.
#include <utility>

#include "app/clock.hpp"
#include "subjects/sentence/sentence.hpp"

namespace attn::app {

std::optional<TextBox> SentenceSubject::text_box() const {
    const bool enabled = open_.model && awaited_.empty();
    return TextBox{now().text, enabled, enabled,
                   enabled ? "Type a sentence for " + shown_name(open_.name)
                   : !awaited_.empty()
                       ? "Waiting for " + shown_name(awaited_)
                       : "Drop a model folder onto the page to see a sentence through a real transformer"};
}

// An encoder–decoder's written text is below the text that it reads.
std::optional<LowerBox> SentenceSubject::lower_box(Box which) const {
    if (!open_.model || !awaited_.empty()) return std::nullopt;
    if (writes_another() && which == Box::second)
        return LowerBox{now().written, "What " + shown_name(open_.name) + " has written: press Play, or type",
                        true};
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
    pending_.want_last_token(last);
}

bool SentenceSubject::last_is_chosen() const {
    return run() && chosen_run()->kind != AttentionKind::encoder &&
           state().selection.query == run()->tokens() - 1;
}

void SentenceSubject::set_text(const std::string& text) {
    pending_.drop_given();
    // If the last token was chosen and the text continues, the new last token is chosen.
    if (last_is_chosen() && text.starts_with(now().text)) pending_.want_last_token();
    begin_typing();
    visit().perform(SetText{text}, typing_);
}

void SentenceSubject::begin_typing() {
    const double now = now_ms();
    const bool is_generated = generation_.awaits_tokens();
    const bool goes_on = is_generated ? generation_.joins_undo_step() : now - typed_at_ms_ <= typing_pause_ms;
    if (!goes_on) ++typing_;
    typed_at_ms_ = is_generated ? 0 : now;
}

// Text written for the user is an undo step of its own. The page answers by calling tokens().
void SentenceSubject::write(Range tokens, const std::vector<std::int32_t>& ids) {
    typed_at_ms_ = -typing_pause_ms;
    pending_.keep_choice();
    visit().page().write_tokens(tokens, ids);
}

void SentenceSubject::tokens(TokenizedText text) {
    if (!open_.model) return;
    special_ = visit().page().special_tokens();
    // An empty text has only a start token, which is not part of a sentence.
    if (text.text.empty()) text.ids.clear();
    if (writes_another()) {
        const Box box = text.box;
        text_typed(box, text.text);
        if (box == Box::second) generation_.tokens_arrived();
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
    generation_.tokens_arrived();
    if (compares_models()) start(compared_, text);
    start(sentence_, std::move(text));
    if (sentence_.ids().empty()) {
        next_ = {};
        changed_.clear();
    }
    generation_.run_began();
}

void SentenceSubject::compare(const Pair& pair) {
    pending_.want_word(pair.word);
    visit().perform(Compare{Comparison{pair.second}, pair.first});
    Selection selection = state().selection;
    selection.forget_tokens();
    select(selection);
}

}  // namespace attn::app
