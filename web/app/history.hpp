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

    // Applies the command; commands of one gesture share an undo step, and so do choices of one kind in a row: of
    // heads, of words, or of cells. `gesture` is 0 outside gestures.
    Status perform(const Command& command, std::uint64_t gesture);
    // Applies a command that nobody gave: it belongs to the step before.
    Status settle(const Command& command);
    bool undo();
    bool redo();
    // Replaces the State as a whole (for a link, or back and forward); this can be undone, too. `edit` describes
    // it, unless it is a step that was taken before, in either direction.
    void replace(State state, std::string edit);
    // Replaces the present State without adding an undo step.
    void correct(State state) { present_ = before_ = std::move(state); }

    // Returns the state before the last step in either direction; marks of change compare with it.
    const State& before_last_step() const { return before_; }
    // Describes that step, a gesture as a whole, as it was when it was first taken.
    const std::string& last_edit() const { return edit_; }

  private:
    static constexpr std::size_t limit = 200;
    struct Step {
        State state;       // on its other side
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
    std::optional<Kind> chosen_;  // by the last step, if it is a choice
};

}  // namespace attn::app
