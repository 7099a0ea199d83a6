// A command is one change that a user can make. Only commands change the State, and each is one undo step.
//
// It is a small struct of its arguments, in the folder of the subject or lens that owns what it changes:
//
//   struct SetTemperature {
//       double temperature;
//       Status apply(State& state) const;                  // or one sentence that says why not
//       std::string describe(const State& before) const;   // for the status line: "temperature 0.5"
//   };
//
// A member `static constexpr bool navigation = true` keeps it out of undo, for commands such as panning a
// map. `choice` marks a command that only selects something: consecutive choices of one kind are one undo
// step, and the marks of the last change stay.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <vector>

#include "app/state.hpp"
#include "tensor/result.hpp"

namespace attn::app {

template <class C>
concept IsCommand = requires(const C& command, State& state, const State& before) {
    { command.apply(state) } -> std::same_as<Status>;
    { command.describe(before) } -> std::convertible_to<std::string>;
};

class Command {
  public:
    template <IsCommand C>
    Command(C command) : kept_(std::make_shared<Kept<C>>(std::move(command))) {}

    Status apply(State& state) const { return kept_->apply(state); }
    std::string describe(const State& before) const { return kept_->describe(before); }
    bool is_navigation() const { return kept_->navigation; }
    bool is_choice() const { return kept_->choice; }
    // Two commands of the same type have the same kind.
    const void* kind() const { return kept_->kind; }

  private:
    struct Any {
        virtual ~Any() = default;
        virtual Status apply(State& state) const = 0;
        virtual std::string describe(const State& before) const = 0;
        const void* kind = nullptr;
        bool navigation = false, choice = false;
    };
    template <class C>
    static inline char kind_of = 0;
    template <class C>
    struct Kept final : Any {
        C command;
        explicit Kept(C c) : command(std::move(c)) {
            this->kind = &kind_of<C>;
            if constexpr (requires { C::navigation; }) this->navigation = C::navigation;
            if constexpr (requires { C::choice; }) this->choice = C::choice;
        }
        Status apply(State& state) const override { return command.apply(state); }
        std::string describe(const State& before) const override { return command.describe(before); }
    };
    std::shared_ptr<const Any> kept_;
};

// Returns the state after the command, without selections that no longer exist in it, or one sentence that
// says why the command is refused.
Result<State> apply(const State& state, const Command& command);
// Applies the command to the state. If it is refused, returns false and leaves the state as it was.
bool take(State& state, const Command& command);

// ---- Shared by all subjects and lenses ----------------------------------------------------------------

// Shows another subject with its own selection and pinned cell. A lens's number is not pinned again, because
// the lens may be another.
void show_subject(State& state, std::string_view key);

// A lens that asks a question stays open; otherwise the subject opens in the lens that shows it best.
struct OpenSubject {
    std::string_view key;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct OpenLens {
    std::string_view key;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Performs several commands as one step for the user, such as opening a subject in a lens.
struct Together {
    std::vector<Command> commands;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct Select {
    static constexpr bool choice = true;
    Selection selection;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Says whether the State shows such a cell.
bool may_pin(const State& state, const CellRef& cell);
struct Pin {
    static constexpr bool choice = true;
    std::optional<CellRef> cell;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

}  // namespace attn::app
