// Keeps undo and redo as lists of States.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/command.hpp"

namespace attn::app {

class History {
  public:
    explicit History(State initial) : present_(std::move(initial)) {}

    const State& present() const { return present_; }
    bool can_undo() const { return !past_.empty(); }
    bool can_redo() const { return !future_.empty(); }

    // Applies the command. Commands of one gesture share an undo step, and so do consecutive choices of one
    // kind (of heads, words or cells). `gesture` is 0 outside gestures.
    Status perform(const Command& command, std::uint64_t gesture);
    // Applies a command that no user gave; it belongs to the step before.
    Status settle(const Command& command);
    bool undo();
    bool redo();
    // Replaces the whole State (for a link, or the browser's Back and Forward); this can be undone, too.
    // `edit` describes the step, unless it was taken before, in either direction.
    void replace(State state, std::string edit);
    // Replaces the present State without adding an undo step.
    void correct(State state) { present_ = before_ = std::move(state); }

    // Returns the state before the last step in either direction; marks of change compare with it.
    const State& before_last_step() const { return before_; }
    // Describes that step, a gesture as a whole, as it was when first taken.
    const std::string& last_edit() const { return edit_; }

  private:
    static constexpr std::size_t limit = 200;
    struct Step {
        State state;       // the State before this step (after it, in `future_`)
        std::string edit;  // what it changes
    };
    enum class Kind { head, word, cell };
    void push(State state, std::string edit);
    void remember();
    const std::string* step_to(const State& state) const;
    void choose(State next, std::string edit, std::uint64_t gesture);
    void walk(std::vector<Step>& from, std::vector<Step>& to);

    State present_;
    State before_ = present_;
    std::vector<Step> past_, future_;
    std::string edit_;
    std::uint64_t gesture_ = 0;
    const void* command_kind_ = nullptr;
    std::optional<Kind> chosen_;  // kind of the last step, if it was a choice
};

}  // namespace attn::app
