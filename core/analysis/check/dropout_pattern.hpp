// Recognises dropout (Srivastava et al. 2014) in what a program returned: every weight is either 0 or
// 1 / (1 − p) times the right one.
#pragma once

#include <optional>

#include "analysis/check/implementation.hpp"

namespace attn {

struct DropoutPattern {
    double p = 0;
    // True if the single weights were seen: returned, or solved for from an output whose query sees at most
    // d_v keys. Otherwise only the size of the differences speaks for dropout, row by row.
    bool certain = false;
    Index weights = 0;  // how many were looked at
};

std::optional<DropoutPattern> find_dropout(const AttentionCase& given, ImplementationRun& right);

}  // namespace attn
