// The sanitizers make everything some ten times slower, and unoptimised tests are slow under node.
#pragma once

namespace attn::test {

// What searches at random, or in small steps, does one part in so many there; natively all.
#ifdef __EMSCRIPTEN__
inline constexpr int thinned = 4;
#else
inline constexpr int thinned = ATTN_SANITIZED ? 10 : 1;
#endif

}  // namespace attn::test
