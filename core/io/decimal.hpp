// Numbers as decimals.
#pragma once

#include <string>

namespace attn {

// The fewest digits that read back as the same number, in the shorter notation: "0.1", "100000", "1e-07", "-inf", "nan".
// std::to_chars gives the same, but it brings 0.1 MB of tables for exact digits that nobody asks for.
std::string shortest(double value);
std::string shortest(float value);

}  // namespace attn
