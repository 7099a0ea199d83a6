// The kernel tables that tests compare with the reference, and an attention call with room for its results.
#pragma once

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

struct AttentionResult {
    Tensor output, row_max, row_log_sum;
    bool operator==(const AttentionResult&) const = default;
};

// Runs `call`, whose results are the ones returned.
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

}  // namespace attn::test
