// How model cards write numbers and heads.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tensor/tensor.hpp"

namespace attn {

inline double rounded(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4f", value);
    return std::strtod(text, nullptr);
}

inline std::string fixed(double value, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

inline std::string percent(double share) { return fixed(100 * share, 1) + " %"; }

inline std::string name(Index layer, Index head) {
    return std::to_string(layer) + "." + std::to_string(head);
}

}  // namespace attn
