// Holds which lesson is open, and at which step.
#pragma once

#include <string>
#include <string_view>

#include "app/command.hpp"

namespace attn::app {

struct LessonState {
    std::string name;  // names a lesson of the site; empty: none, or the text's
    std::string text;  // a whole lesson, carried in the link or opened by the user
    Index step = 0;
    bool operator==(const LessonState&) const = default;
    bool is_open() const { return !name.empty() || !text.empty(); }
};
// The bare address opens it for a newcomer.
inline constexpr std::string_view first_lesson = "first-steps";
inline const LessonState& lesson_of(const State& state) { return state.of<LessonState>(); }

// Says whether a lesson of the site may have this name: small letters, digits and hyphens, and perhaps a
// language after a dot, "one-token-back.de".
bool is_lesson_name(std::string_view name);

// Undo and redo leave the lesson and its step as they are.
struct OpenLesson {
    static constexpr bool navigation = true;
    LessonState lesson;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct ShowLessonStep {
    static constexpr bool navigation = true;
    Index step = 0;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct CloseLesson {
    static constexpr bool navigation = true;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

}  // namespace attn::app
