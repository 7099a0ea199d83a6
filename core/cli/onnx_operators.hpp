// The operators of the conformance cases, built on the kernels: ONNX adds axes, broadcasting, layouts and
// types.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/table.hpp"
#include "tensor/dtype.hpp"
#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

struct OnnxTensor {
    DType dtype = DType::f32;
    Tensor values;                       // in f32
    std::vector<std::int64_t> integers;  // the exact values of integers and booleans
};

struct OnnxNode {
    std::string op;
    std::int64_t opset = 0;
    nlohmann::json attributes;
    std::vector<std::optional<OnnxTensor>> inputs;  // in the operator's order; none: omitted
    std::vector<bool> outputs;                      // in the operator's order; false: omitted
};

// Returns one tensor for each output, rounded to its type; omitted ones may be empty.
Result<std::vector<OnnxTensor>> evaluate(const OnnxNode& node, const Kernels& kernels);

}  // namespace attn
