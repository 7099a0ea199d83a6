// Sequences that come again and again: what an induction head can foretell and nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/random.hpp"

namespace attn {

// After how many tokens a sequence of `length` comes again: from an eighth of it to a half, two at least.
std::size_t drawn_period(Random& random, std::size_t length);

std::vector<std::int32_t> repeated(std::vector<std::int32_t> once, std::size_t length);

}  // namespace attn
