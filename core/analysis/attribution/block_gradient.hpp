// The backward pass of the parts of a block: from the gradient by what a part gives to the gradient by what
// it reads.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "model/block.hpp"
#include "model/trace.hpp"

namespace attn {

// `d` [rows, d_model] is the gradient by what the norm gives, and becomes that by x.
void norm_gradient(const Norm& norm, ConstMatrix x, MatrixView<float> d);
void pre_norm_gradient(const std::optional<Norm>& norm, ConstMatrix x, MatrixView<float> d);

// `d` is the gradient by what a half leaves, and becomes that by the residual that it adds to. Returns that
// by what the half adds, [rows, d_model].
Tensor add_residual_gradient(const SublayerNorms& norms, const Tensor& output, const Tensor& between,
                             Range tokens, MatrixView<float> d);

// W d: what one more of each number that W reads adds along the direction of what it gives.
std::vector<double> back_through(const Kernels& kernels, const WeightView& weight,
                                 std::span<const double> direction);

// d_input [rows, d_model], from d_output and what the MLP read.
void mlp_gradient(const Kernels& kernels, const Mlp& mlp, Activation activation, ConstMatrix input,
                  ConstMatrix d_output, MatrixView<float> d_input);
// Adds to d_input, which begins at 0. Each token has y = Σ_e w_e f_e(x), where w is the softmax of its
// experts' scores.
void experts_gradient(const Kernels& kernels, const Experts& experts, Activation activation,
                      const LayerTrace& at, Range tokens, ConstMatrix d_output, MatrixView<float> d_input);

}  // namespace attn
