// Lists the tables of gradients that tests compare with the reference, and computes the gradients of an
// attention call.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/backward.hpp"
#include "support/kernels.hpp"

namespace attn::test {

inline std::vector<const BackwardKernels*> fast_backward() {
    return {all_backward().begin(), all_backward().end()};
}

inline std::vector<const BackwardKernels*> fast_and_reference_backward() {
    auto kernels = fast_backward();
    kernels.push_back(&reference_backward());
    return kernels;
}

// A forward call with its results, and a gradient with respect to its output.
struct AttentionPass {
    AttentionResult result;
    Tensor d_output;
    AttentionCall call;

    explicit AttentionPass(AttentionCall forward, std::uint64_t seed = 99)
        : result(run(default_kernels(), forward)),
          d_output(random_tensor(result.output.shape(), seed)),
          call(forward) {
        call.output = result.output.heads();
        call.row_max = result.row_max.matrix();
        call.row_log_sum = result.row_log_sum.matrix();
    }
    AttentionPass(const AttentionPass&) = delete;
};

struct AttentionGradients {
    Tensor d_q, d_k, d_v;
    Tensor d_bias;  // [heads, n_q, n_k]
    bool operator==(const AttentionGradients&) const = default;
};

// Writes into tensors full of NaN, all of which must be overwritten; d_bias, which is added to, begins as 0.
inline AttentionGradients differentiate(const BackwardKernels& kernels, const AttentionPass& pass) {
    const auto like = [](ConstHeads x) {
        Tensor t({x.heads, x.rows, x.cols});
        std::ranges::fill(t.values(), not_a_number);
        return t;
    };
    AttentionGradients g{like(pass.call.q), like(pass.call.k), like(pass.call.v),
                         Tensor({pass.call.q.heads, pass.call.q.rows, pass.call.k.rows})};
    kernels.attention({.forward = pass.call,
                       .d_output = pass.d_output.heads(),
                       .d_q = g.d_q.heads(),
                       .d_k = g.d_k.heads(),
                       .d_v = g.d_v.heads(),
                       .d_bias = g.d_bias.heads()});
    return g;
}

}  // namespace attn::test
