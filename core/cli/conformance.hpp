// `attn conformance DIR…`: runs recorded cases of ONNX operators, in folders that each hold a meta.json and one
// .npy a tensor, and compares their outputs.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "kernels/table.hpp"
#include "tensor/result.hpp"

namespace attn {

// The folders with a meta.json at or below `folder`, in order of their names.
std::vector<std::filesystem::path> find_cases(const std::filesystem::path& folder);

// Runs one case. An output x of expected value e passes where |x − e| <= tolerance · (1 + |e|), with a tolerance
// of 1e-5 for f32 and f64, 1e-3 for f16 and 1e-2 for bf16, or where both are NaN or the same infinity.
Status check_case(const std::filesystem::path& folder, const Kernels& kernels = default_kernels());

// Prints a line for each failing case and how many passed. 0 where all did and there were any.
int run_conformance(std::span<const std::string> folders);

}  // namespace attn
