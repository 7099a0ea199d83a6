// Writes a lesson as a page of HTML for printing and handing out: with lines for answers in place of fields,
// and the checks as what is to be reached.
#pragma once

#include <string>

#include "lesson/lesson.hpp"

namespace attn::app::learn {

std::string printed(const lesson::Lesson& lesson);

}  // namespace attn::app::learn
