// Undo and redo as lists of States.
#pragma once

#include <vector>

#include "app/command.hpp"

namespace attn::app {

class History {
  public:
    explicit History(State initial) : present_(std::move(initial)) {}

    const State& present() const { return present_; }
    bool can_undo() const { return !past_.empty(); }
    bool can_redo() const { return !future_.empty(); }

    // Applies the command; commands of one gesture share a step of undo. `gesture` is 0 outside gestures.
    Status perform(const Command& command, std::uint64_t gesture);
    bool undo();
    bool redo();
    // Another State altogether (a link, back or forward): undoable as well.
    void replace(State state);
    void correct(State state) { present_ = before_ = std::move(state); }  // what never was: no step

    // The state before the last step, in whichever direction: what marks of change compare with.
    const State& before_last_step() const { return before_; }

  private:
    static constexpr std::size_t limit = 200;
    void remember();

    State present_;
    State before_ = present_;
    std::vector<State> past_, future_;
    std::uint64_t gesture_ = 0;
    std::size_t command_kind_ = 0;
};

}  // namespace attn::app
