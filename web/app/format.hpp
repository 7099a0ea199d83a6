// Converts numbers to text and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attention/head_index.hpp"

namespace attn::app {

std::string shortest(double value);               // reads back as the same double: "0.1", "-inf", "1e-07"
std::string shortest(float value);                // reads back as the same float
std::string rounded(double value, int decimals);  // "0.43"; for one number among many
std::string fixed(double value, int decimals);    // "0.433", "−∞", "NaN"; scientific if fixed says nothing

std::string curly_quoted(std::string_view text);  // “big”
std::string on_one_line(std::string_view text);   // with blanks for control characters
// Returns "98 %", or "0.04 %" where no whole number says anything.
std::string percent(double share);
// Returns "1 token", "2 tokens".
std::string many(std::ptrdiff_t count, std::string_view what);
// Returns "layer 2 · head 1"; without the layer where there is only one.
std::string head_text(HeadIndex head, std::ptrdiff_t layers, std::string_view between = " · ");
std::string with_commas(std::int64_t count);  // "16,384"; count >= 0

// Reads a text that is a decimal number, "inf" or "-inf" as a whole; nothing if it is none of these or out of
// a double's range.
std::optional<double> read_number(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace attn::app
