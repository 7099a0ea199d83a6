// Lessons for tests.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lesson/lesson.hpp"

namespace attn::test {

inline std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}
inline Result<lesson::Lesson> parsed(std::string_view text) { return lesson::parse_lesson(bytes_of(text)); }
inline std::string lesson_error(std::string_view text) {
    const auto read = parsed(text);
    return read ? "no error" : read.error().message;
}

inline constexpr std::string_view front = "---\ntitle: T\n---\n";  // its lines are 1 to 3
inline std::string in_step(std::string_view body) {                // the body begins in line 5
    return std::string(front) + "## S\n" + std::string(body) + "\n";
}
inline std::string fenced(std::string_view kind, std::string_view inner) {  // inner begins in line 6
    return in_step("```" + std::string(kind) + "\n" + std::string(inner) + "\n```");
}

}  // namespace attn::test
