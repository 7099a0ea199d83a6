// Drives the core as one of the contestants of the benchmark, by lines of JSON.
#pragma once

#include <string>
#include <string_view>

namespace attn::bench {

// Answers one request. Both are JSON objects:
//   {"do": "list"} -> {"cases": [{"name", "kind", …sizes}]}, what can be opened
//   {"do": "open", "case", "table", "threads", "file"} -> {"table", "operations", "inputs": [{"name",
//       "shape", "address", "bytes"}]}; the table is part of a table's name, the fastest where there are
//       several
//   {"do": "run", "seconds"} -> {"times": [ms]} of as many calls as fit, one at least
//   {"do": "ceiling", "seconds"} -> {"rate"}, operations a second, 0 where the table has no ceiling
//   {"do": "output", "file"} -> {"address", "bytes"} of the last run
//   {"do": "close"} -> {}
// or {"error": …}.
// Inputs and output are written to "file", one after the other, where it is given.
std::string answer(std::string_view request);

}  // namespace attn::bench
