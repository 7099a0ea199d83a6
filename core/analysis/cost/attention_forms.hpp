// The forms of attention whose time is measured, and a reading of memory: what a lens runs and a person waits
// for.
#pragma once

#include "kernels/table.hpp"

namespace attn {

// The memory that a form takes beside Q, K, V and the output.
struct NaiveMemory {
    Tensor scores;  // [n_q, n_k], then weights
    NaiveMemory(Index n_q, Index n_k) : scores({n_q, n_k}) {}
    Index bytes() const { return std::ssize(scores.values()) * Index{sizeof(float)}; }
};
struct FusedMemory {
    Tensor row_max, row_log_sum;  // [1, n_q]
    explicit FusedMemory(Index n_q) : row_max({1, n_q}), row_log_sum({1, n_q}) {}
    Index bytes() const {
        return (std::ssize(row_max.values()) + std::ssize(row_log_sum.values())) * Index{sizeof(float)};
    }
};

// One head without a mask, q [n_q, d], k [n_k, d], v [n_k, d_v], output [n_q, d_v], scores divided by √d.
// Naive: all scores, then all weights, then all outputs. Both spread over the threads.
void naive_attention(const Kernels& kernels, ConstMatrix q, ConstMatrix k, ConstMatrix v, NaiveMemory& memory,
                     MatrixView<float> output);
void fused_attention(const Kernels& kernels, ConstMatrix q, ConstMatrix k, ConstMatrix v, FusedMemory& memory,
                     MatrixView<float> output);

// Reads all numbers once, on all threads, and returns the sum of their bits.
std::uint32_t read_once(std::span<const float> numbers);

}  // namespace attn
