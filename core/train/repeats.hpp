// Makes sequences that repeat themselves, which an induction head can predict and nothing else can.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/random.hpp"

namespace attn {

// Draws the number of tokens after which a sequence of `length` repeats: from an eighth of it to
// a half, but at least two.
std::size_t drawn_period(Random& random, std::size_t length);

std::vector<std::int32_t> repeated(std::vector<std::int32_t> once, std::size_t length);

}  // namespace attn
