// The arithmetic of one block, shared by whole runs and by one token at a time. Every function treats each row
// on its own, so callers may give it any rows.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/table.hpp"
#include "model/network.hpp"

namespace attn {

// Cosines and sines of positions, [tokens, pairs].
struct RotaryTable {
    Tensor cosine;
    Tensor sine;
};
// The rows of the positions that follow each other from `first`.
void fill_rotary(std::span<const double> frequencies, Index first, MatrixView<float> cosine,
                 MatrixView<float> sine);

// out [ids, d_model]: rows of a table [rows, d_model].
void look_up(const WeightView& table, std::span<const std::int32_t> ids, MatrixView<float> out);

void normalise(const Kernels& kernels, const Norm& norm, ConstMatrix x,
               MatrixView<float> y);  // [rows, d_model]

struct QkvRows {
    HeadsView<float> q;  // [heads, rows, head_dim]
    HeadsView<float> k;  // [kv_heads, rows, head_dim]
    HeadsView<float> v;  // [kv_heads, rows, head_dim]
};
// From normalised rows [rows, d_model]; Q and K turned by cosine and sine [rows, pairs] where they are not empty.
void project_qkv(const Kernels& kernels, const Block& block, ConstMatrix normalised, ConstMatrix cosine,
                 ConstMatrix sine, const QkvRows& out);

// attention_output [rows, d_model] from the heads' outputs [heads, rows, head_dim].
void merge_heads(const Kernels& kernels, const Block& block, ConstHeads heads,
                 MatrixView<float> attention_output);

// mlp_hidden [rows, d_ff] from normalised rows [rows, d_model].
void mlp_hidden(const Kernels& kernels, const Block& block, Activation activation, ConstMatrix normalised,
                MatrixView<float> hidden);

void apply(const Kernels& kernels, const Linear& linear, ConstMatrix x, MatrixView<float> y,
           Activation activation = Activation::none);

void add(ConstMatrix a, ConstMatrix b, MatrixView<float> sum);

}  // namespace attn
