// A case whose inputs tell mistakes apart: more keys than queries, 137 keys, which no tile divides, 63
// components, four heads over two of k and v, a batch of two with padding, a query that sees no key, and some
// large scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attn {

// The inputs as an .npz file: q [2, 4, 29, 63], k and v [2, 2, 137, 63], mask [2, 1, 29, 137], and
// the numbers heads and kv_heads.
std::vector<std::byte> hard_case(std::uint32_t seed);

// Python that runs a person's function on the case and saves what `attn check` and the page take.
std::string hard_case_script();

}  // namespace attn
