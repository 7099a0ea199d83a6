// Numbers as text and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn::app {

std::string shortest(double value);               // reads back as the same double: "0.1", "-inf", "1e-07"
std::string shortest(float value);                // as the same float
std::string rounded(double value, int decimals);  // "0.43"; where one number stands among many
std::string fixed(double value,
                  int decimals);  // "0.433"; "−∞", "∞", "NaN"; scientific where fixed says nothing

std::string with_commas(std::ptrdiff_t count);  // "16,384", of what is not negative

// A decimal number, "inf" or "-inf", the whole text; nothing where it is neither or lies beyond a double.
std::optional<double> read_number(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace attn::app
