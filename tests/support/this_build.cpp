#include "support/this_build.hpp"

#if ATTN_SANITIZED
// Recording shorter allocation stacks and keeping less freed memory saves a tenth of the tests' time. Set
// ASAN_OPTIONS if a report needs more.
extern "C" const char* __asan_default_options() { return "malloc_context_size=6:quarantine_size_mb=16"; }
#endif

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
