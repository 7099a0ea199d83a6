// Writes an explanation as a calculation with its numbers, for copying.
#pragma once

#include <string>

#include "app/explained.hpp"

namespace attn::app {

enum class Dialect { latex, numpy, cpp };
inline constexpr const char* dialect_names[] = {"LaTeX", "NumPy", "C++"};

std::string copied(const Explained& why, Dialect dialect);

}  // namespace attn::app
