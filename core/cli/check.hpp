// `attn check CASE…` says of each case whether attention was computed right, and if not, what went wrong.
#pragma once

#include <span>
#include <string>

#include "tensor/result.hpp"

namespace attn {

// A case is an .npz or .safetensors file, or a folder of .npy files (analysis/check/case_reading.hpp). Prints
// a verdict for each, or as JSON a list of objects with the keys
//   case verdict causes confident alternatives invisible precision difference right_difference not_numbers
//   first_wrong {array index yours right} notes unread sentence note fix {pytorch jax numpy},
// or case and error.
// Returns 0 if all are right up to rounding, 1 if one is wrong, and 2 if one cannot be read.
int run_check(std::span<const std::string> cases, bool json);

}  // namespace attn
