// A Record's attention as a case that mistakes can be made in (mistakes.hpp): all heads of a layer, in
// double.
#pragma once

#include <string>

#include "analysis/check/attention_case.hpp"
#include "attention/record.hpp"
#include "model/network.hpp"

namespace attn {

struct RecordCase {
    AttentionCase given;
    // Says in one sentence why the case has no rotation, so that mistakes of RoPE have no meaning; empty: its
    // Q and K are those before RoPE.
    std::string unrotated;
};

// The numbers of Q, K and V, and the cells of a map, that a case may have: mistakes concern all of them.
inline constexpr Index case_numbers_limit = 1'500'000, case_cells_limit = 300'000;

// `rotary` is how the layer turned Q and K, which are turned back in double; null: it did not. An error says
// why there is no such case.
Result<RecordCase> case_of(const Record& record, const Rotary* rotary = nullptr);

}  // namespace attn
