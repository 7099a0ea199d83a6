// A case that is measured: a name, its floating-point operations, and one call of it on a table of kernels.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attention/mask.hpp"
#include "kernels/table.hpp"

namespace attn::bench {

// Others need this to compute the same. It is f32, except for token ids, which are 32-bit integers.
struct Input {
    std::string name;
    Shape shape;
    std::span<const std::byte> bytes;
};

struct Case {
    std::string name;
    double operations;  // multiplications and additions; for exp, elements
    std::function<void(const Kernels&)> run;
    std::vector<Input> inputs{};  // their data and the output live as long as `run`
    std::span<const float> output{};
};

std::vector<Case> cases();  // for bench_kernels
std::vector<Case> backward_cases();

Case attention(std::string name, Index heads, Index kv_heads, Index n, Index d, Mask mask);
Case linear(Index n, Index in, Index out, DType dtype, WeightView::Layout layout);
Case exponentials(Index count);
// Runs a model of the shape of GPT-2 small with seeded weights, from token ids to the logits of the last
// token. The Trace with all its Records is kept.
Case gpt2(Index tokens);

// Reads 512 tokens of a GGUF file of the shape of GPT-2 small ("F16", "Q8_0", "Q4_K_M"), or computes one
// token more after those; to the logits of the last token, every Record kept. Its operations are not counted.
Case gguf(std::string_view kind, bool token);

// Does one training step, including AdamW, of a GPT-2 of 1.9 M parameters on 12 sequences of 256 tokens. Its
// output is the loss of the first step.
Case training();

// Counts the cells that a mask allows over n queries and n keys.
double allowed_cells(const Mask& mask, Index n);

// The elements have mean 0 and deviation 1.
Tensor uniform(Shape shape, std::uint64_t seed);
Input input(std::string name, const Tensor& tensor);

}  // namespace attn::bench
