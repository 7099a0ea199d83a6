// Numbers as text.
#pragma once

#include <string>

namespace attn::app {

std::string shortest(double value);            // reads back as the same double: "0.1", "-inf", "1e-07"
std::string fixed(double value, int decimals); // "0.433"; "−∞", "∞", "NaN"; scientific where fixed says nothing
}  // namespace attn::app
