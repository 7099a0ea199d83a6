// Writes an explanation as a calculation with its numbers, to be copied.
//
// Its lines are expressions of + − * / ( ) over numbers, the names of lines before and the functions exp,
// log, tanh, sqrt, erfc and max, and over whole vectors dot(a, b), sum(a) and spread(a, m) = Σ (a − m)².
#pragma once

#include <string>

#include "app/explained.hpp"

namespace attn::app {

enum class Dialect { latex, numpy, cpp };
inline constexpr const char* dialect_names[] = {"LaTeX", "NumPy", "C++"};

std::string copied(const Explained& why, Dialect dialect);

}  // namespace attn::app
