// A Trace as files: one .npy a tensor, and tensors.json with their names, axes and shapes.
#pragma once

#include <string>

#include "model/trace.hpp"

namespace attn {

// Besides the Trace's tensors: logits [tokens, vocabulary] and attention [layers, heads, queries, keys], the
// weights. Makes the folder where it is not there.
Status write_trace(const Trace& trace, const std::string& folder);

}  // namespace attn
