// `attn conformance DIR…` runs recorded cases of ONNX operators and compares their outputs. Each case is a
// folder that holds a meta.json and one .npy per tensor.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "kernels/table.hpp"
#include "tensor/result.hpp"

namespace attn {

// Returns the folders with a meta.json at or below `folder`, sorted by name.
std::vector<std::filesystem::path> find_cases(const std::filesystem::path& folder);

// Runs one case. An output x with expected value e passes if |x − e| <= tolerance · (1 + |e|), with a
// tolerance of 1e-5 for f32 and f64, 1e-3 for f16 and 1e-2 for bf16, or if both are NaN or the same infinity.
Status check_case(const std::filesystem::path& folder, const Kernels& kernels = default_kernels());

// Prints a line for each failing case, and how many passed. Returns 0 if all did and there were any.
int run_conformance(std::span<const std::string> folders);

}  // namespace attn
