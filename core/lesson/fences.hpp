// Reads what stands within the fences of a lesson's step.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "lesson/lesson.hpp"

namespace attn::lesson {

struct Row {
    std::string_view text;  // without blanks at its end
    std::size_t line = 0;
};

Error at_line(std::size_t line, std::string_view sentence);

// Adds to the step what a fence holds that opens in `line` as ```kind.
Status read_fence(std::string_view kind, std::size_t line, std::span<const Row> rows, Step& step);

}  // namespace attn::lesson
