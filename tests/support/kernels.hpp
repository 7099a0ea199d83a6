// Lists the kernel tables that tests compare with the reference, and makes an attention call with room for
// its results.
#pragma once

#include <catch_amalgamated.hpp>
#include <cmath>
#include <vector>

#include "kernels/table.hpp"
#include "support/numbers.hpp"

namespace attn::test {

inline std::vector<const Kernels*> fast_kernels() { return {all_kernels().begin(), all_kernels().end()}; }

inline std::vector<const Kernels*> fast_and_reference_kernels() {
    auto kernels = fast_kernels();
    kernels.push_back(&reference_kernels());
    return kernels;
}

inline const Kernels& generate_kernels() { return *GENERATE(from_range(fast_and_reference_kernels())); }

// Lengths below, at and above the widths of vectors and of blocks of vectors.
inline const std::vector<Index> vector_lengths{1,  2,  3,  4,  7,   8,   15,  16,  17, 31,
                                               33, 63, 64, 65, 100, 127, 128, 129, 130};

struct AttentionResult {
    Tensor output, row_max, row_log_sum;
    bool operator==(const AttentionResult&) const = default;
};

// Runs `call` and returns its results.
inline AttentionResult run(const Kernels& kernels, AttentionCall call) {
    AttentionResult result{Tensor({call.q.heads, call.q.rows, call.v.cols}),
                           Tensor({call.q.heads, call.q.rows}), Tensor({call.q.heads, call.q.rows})};
    call.output = result.output.heads();
    call.row_max = result.row_max.matrix();
    call.row_log_sum = result.row_log_sum.matrix();
    kernels.attention(call);
    return result;
}

inline AttentionCall attention_call(const Tensor& q, const Tensor& k, const Tensor& v) {
    return {.q = q.heads(), .k = k.heads(), .v = v.heads(), .output = {}, .row_max = {}, .row_log_sum = {}};
}

inline float usual_scale(Index d) { return 1 / std::sqrt(static_cast<float>(d)); }

// Calls check(call) for random q [heads, n, d_k] and k and v [1, n_k, …].
template <class Check>
void with_random_heads(Index heads, Index n, Index n_k, Index d_k, Index d_v, Check check) {
    const Tensor q = random_tensor({heads, n, d_k}, 1), k = random_tensor({1, n_k, d_k}, 2),
                 v = random_tensor({1, n_k, d_v}, 3);
    AttentionCall call = attention_call(q, k, v);
    call.scale = usual_scale(d_k);
    INFO("n_q " << n << ", n_k " << n_k << ", d_k " << d_k << ", d_v " << d_v);
    check(call);
}

// Goes through every number of queries and of keys from 1 to 130, with widths that no vector divides.
template <class Check>
void with_every_size(Check check) {
    for (Index n = 1; n <= 130; ++n) with_random_heads(1, n, 131 - n, 1 + n % 37, 1 + n % 19, check);
}

}  // namespace attn::test
