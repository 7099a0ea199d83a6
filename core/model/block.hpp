// The arithmetic of one block, shared by whole runs, by one token at a time and by training. Every function treats each
// row on its own, so callers may give it any rows.
#pragma once

#include <cstdint>
#include <span>

#include "attention/mask.hpp"
#include "kernels/table.hpp"
#include "model/network.hpp"

namespace attn {

// Cosines and sines of positions, [tokens, pairs]; no pairs where Q and K are not turned.
struct RotaryTable {
    Tensor cosine;
    Tensor sine;
};
struct RotaryRows {
    ConstMatrix cosine;
    ConstMatrix sine;
};
RotaryRows rows(const RotaryTable& table, Range tokens);
// The rows of the positions that follow each other from `first`.
void fill_rotary(std::span<const double> frequencies, Index first, MatrixView<float> cosine,
                 MatrixView<float> sine);

// out [ids, d_model]: rows of a table [rows, d_model].
void look_up(const WeightView& table, std::span<const std::int32_t> ids, MatrixView<float> out);

void normalise(const Kernels& kernels, const NormView& norm, ConstMatrix x,
               MatrixView<float> y);  // [rows, d_model]

void apply(const Kernels& kernels, const LinearView& linear, ConstMatrix x, MatrixView<float> y,
           Activation activation = Activation::none);

// dx = dy Wᵀ [rows, in], the gradient by x of y = x W.
void input_gradient(const Kernels& kernels, const WeightView& weight, ConstMatrix dy, MatrixView<float> dx);

MatrixView<float> columns(MatrixView<float> m, Index first, Index count);

// The heads that lie side by side in the columns of a matrix.
HeadsView<float> heads_of(MatrixView<float> side_by_side, Index heads);
void copy_heads(ConstHeads from, const HeadsView<float>& to);

struct QkvRows {
    HeadsView<float> q;  // [heads, rows, head_dim]
    HeadsView<float> k;  // [kv_heads, rows, head_dim]
    HeadsView<float> v;  // [kv_heads, rows, head_dim]
};
// Of all heads side by side: Q, then K, then V.
QkvRows qkv_of(MatrixView<float> side_by_side, Index heads, Index kv_heads);
// Q and K, in place.
void turn(const Kernels& kernels, const QkvRows& qkv, const RotaryRows& rotary);

// From normalised rows [rows, d_model]; Q and K are turned.
void project_qkv(const Kernels& kernels, const Block& block, ConstMatrix normalised, const RotaryRows& rotary,
                 const QkvRows& out);

// A query sees its own key and those before it, within the block's window.
Mask mask_of(const Block& block);

// attention_output [rows, d_model] from the heads' outputs [heads, rows, head_dim].
void merge_heads(const Kernels& kernels, const Block& block, ConstHeads heads,
                 MatrixView<float> attention_output);

// mlp_hidden [rows, d_ff] from normalised rows [rows, d_model].
void mlp_hidden(const Kernels& kernels, const Block& block, Activation activation, ConstMatrix normalised,
                MatrixView<float> hidden);

void add(ConstMatrix a, ConstMatrix b, MatrixView<float> sum);
// to += a. Compilers do not vectorise the sum above where it is one of its operands.
void add(ConstMatrix a, MatrixView<float> to);

}  // namespace attn
