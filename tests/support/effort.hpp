// The sanitizers make everything about ten times slower, and unoptimised tests are slow under node.
#pragma once

namespace attn::test {

// There, tests that search at random or in small steps do one part in this many; natively they do everything.
#ifdef __EMSCRIPTEN__
inline constexpr int thinned = 4;
#else
inline constexpr int thinned = ATTN_SANITIZED ? 10 : 1;
#endif

}  // namespace attn::test
