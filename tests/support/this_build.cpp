#include "support/this_build.hpp"

namespace attn::test {

const bool sanitized = ATTN_SANITIZED;
#ifdef __EMSCRIPTEN__
const int thinned = 4;
#else
const int thinned = sanitized ? 10 : 1;
#endif
#ifdef ATTN_PROGRAM
const char* const attn_program = ATTN_PROGRAM;
#else
const char* const attn_program = nullptr;
#endif

}  // namespace attn::test
