// The sanitizers make everything some ten times slower.
#pragma once

namespace attn::test {

// What searches at random, or in small steps, does one part in so many there; elsewhere all.
inline constexpr int thinned = ATTN_SANITIZED ? 10 : 1;

}  // namespace attn::test
