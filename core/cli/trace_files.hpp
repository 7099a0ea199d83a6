// Writes a Trace to files: one .npy per tensor, and tensors.json with their names, axes and shapes.
#pragma once

#include <string>

#include "model/trace.hpp"

namespace attn {

// In addition to the Trace's tensors, it writes logits [tokens, vocabulary] and attention
// [layers, heads, queries, keys], the weights. Creates the folder if needed.
Status write_trace(const Trace& trace, const std::string& folder);

}  // namespace attn
