#include "app/format.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace attn::app {

std::string shortest(double value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    return {text, end};
}

std::string fixed(double value, int decimals) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "−∞" : "∞";
    const double size = std::abs(value);
    const bool tiny = value != 0 && size < 0.5 * std::pow(10.0, -decimals);
    const bool huge = size >= 1e6;
    char text[64];
    if (tiny || huge)
        std::snprintf(text, sizeof text, "%.*e", decimals < 2 ? 0 : decimals < 4 ? 1 : decimals - 2, value);
    else
        std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

}  // namespace attn::app
