// Describes what differs between builds of the same tests.
#pragma once

namespace attn::test {

extern const bool sanitized;
// Tests that search at random or in small steps run only one part in this many: the sanitizers make
// everything about ten times slower, and unoptimised tests are slow under node.
extern const int thinned;
extern const char* const attn_program;  // null if there is none

}  // namespace attn::test
