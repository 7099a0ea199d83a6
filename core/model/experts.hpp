// MLPs of which each token takes some: model/network.hpp.
#pragma once

#include "kernels/table.hpp"
#include "model/network.hpp"

namespace attn {

// For each token [rows, per_token], those of the highest scores, the lower number first if tied; in the order
// of their numbers, with the softmax of their scores.
struct ExpertRows {
    MatrixView<float> chosen;   // their numbers
    MatrixView<float> weights;  // their sum is 1
};
void choose_experts(const Kernels& kernels, const Experts& experts, ConstMatrix normalised,
                    const ExpertRows& out);

// hidden [rows, per_token · d_ff]: the hidden units of the first chosen expert, then of the next. output
// [rows, d_model] is the weighted sum of what they make of them, in this order. Each expert is computed for
// its own tokens only.
void run_experts(const Kernels& kernels, const Experts& experts, Activation activation,
                 ConstMatrix normalised, const ExpertRows& of, MatrixView<float> hidden,
                 MatrixView<float> output);

}  // namespace attn
