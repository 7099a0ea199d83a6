// Holds the selection to make once the run of another text is complete.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/state.hpp"

namespace attn::app {

class PendingSelection {
  public:
    // What was asked for, from the first to apply to the last.
    struct Wanted {
        std::string word = {};                // the last token that ends in it; empty: none
        std::optional<Selection> given = {};  // a link's or undo's
        bool best_head = false;               // the head that aligns best
        bool last_token = false;
        bool any() const { return !word.empty() || given || best_head || last_token; }
    };
    // The tokens up to the chosen query and key.
    struct ReadUntil {
        std::vector<std::string> query, key;
    };

    void want(const Selection& given) { wanted_.given = given; }
    void want_last_token(bool wanted = true) { wanted_.last_token = wanted; }
    void want_best_head() { wanted_.best_head = true; }
    void want_word(std::string_view word) { wanted_ = {.word = std::string(word)}; }
    void drop_given() { wanted_.given.reset(); }

    // The State was replaced, together with its selection.
    void replaced(const Selection& by) {
        want(by);
        forget_read();
    }
    // The person has chosen tokens in the text on screen.
    void chosen() {
        drop_given();
        want_last_token(false);
        forget_read();
    }

    // The tokens of the next text take the place of the present ones, so that the choice stays.
    void keep_choice() { choice_stays_ = true; }
    bool take_kept_choice() { return std::exchange(choice_stays_, false); }

    // Notes the tokens with which something was chosen, before another text is computed; a text that never
    // ran leaves the first note.
    void note(ReadUntil read) {
        if (!read_) read_ = std::move(read);
    }
    void note_counterpart(std::vector<std::string> read) {
        if (!counterpart_read_) counterpart_read_ = std::move(read);
    }

    Wanted take() { return std::exchange(wanted_, {}); }
    std::optional<ReadUntil> take_read() { return std::exchange(read_, std::nullopt); }
    std::optional<std::vector<std::string>> take_counterpart_read() {
        return std::exchange(counterpart_read_, std::nullopt);
    }

  private:
    void forget_read() {
        read_.reset();
        counterpart_read_.reset();
    }

    Wanted wanted_;
    // None: the texts are still those in which the tokens were chosen.
    std::optional<ReadUntil> read_;
    std::optional<std::vector<std::string>> counterpart_read_;
    bool choice_stays_ = false;
};

}  // namespace attn::app
