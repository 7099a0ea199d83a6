#include "app/lesson_state.hpp"

#include <algorithm>

#include "io/quote.hpp"
#include "lesson/lesson.hpp"

namespace attn::app {

bool is_lesson_name(std::string_view name) {
    constexpr std::size_t longest = 60;
    const auto is_part = [](std::string_view part, bool capitals) {
        return !part.empty() && std::ranges::all_of(part, [&](char c) {
            return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                   (capitals && c >= 'A' && c <= 'Z');
        });
    };
    const std::size_t dot = name.find('.');
    return name.size() <= longest && is_part(name.substr(0, dot), false) &&
           (dot == std::string_view::npos || is_part(name.substr(dot + 1), true));
}

Status OpenLesson::apply(State& state) const {
    if (!lesson.name.empty() && !is_lesson_name(lesson.name))
        return Error{quote(lesson.name) + " is no name of a lesson."};
    if (lesson.step < 0 || lesson.step >= static_cast<Index>(lesson::most_steps))
        return Error{"A lesson has no such step."};
    state.edit<LessonState>() = lesson;
    return ok();
}
std::string OpenLesson::describe(const State&) const { return "opened a lesson"; }

Status ShowLessonStep::apply(State& state) const {
    if (step < 0 || step >= static_cast<Index>(lesson::most_steps))
        return Error{"A lesson has no such step."};
    state.edit<LessonState>().step = step;
    return ok();
}
std::string ShowLessonStep::describe(const State&) const {
    return "step " + std::to_string(step + 1) + " of the lesson";
}

Status CloseLesson::apply(State& state) const {
    state.edit<LessonState>() = {};
    return ok();
}
std::string CloseLesson::describe(const State&) const { return "closed the lesson"; }

}  // namespace attn::app
