// Numbers as decimals.
#pragma once

#include <string>

namespace attn {

// Returns the fewest digits that read back as the same number, in the shorter notation: "0.1", "123456",
// "1e-07", "-inf", "nan". std::to_chars does the same, but brings 0.1 MB of tables for the digits of large
// numbers.
std::string shortest(double value);
std::string shortest(float value);

}  // namespace attn
