// Declares `attn lesson`, which opens a lesson's views in the page without a browser. The page's rooms define
// it, web/headless/lesson_command.cpp.
#pragma once

#include <span>
#include <string>

namespace attn {

// Checks the lessons in these files and prints what is wrong with them. Returns the exit status: 1 if
// something is.
int run_lesson(std::span<const std::string> words);

}  // namespace attn
