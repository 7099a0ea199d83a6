// Explains the scores, weights and outputs that an implementation of attention computes, a right one or one
// with a mistake (analysis/check).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "analysis/check/implementation.hpp"
#include "app/explained.hpp"

namespace attn::app {

struct ExplainedRun {
    ImplementationRun& run;
    const AttentionCase& given;  // the run's
    Index batch = 0, head = 0;
    std::function<std::string(Index)> query_name, key_name;
    // Where this head's weight stands; none: nowhere.
    std::function<std::optional<CellPlace>(Index query, Index key)> weight_place = {};
};

// Each adds formula, operands and steps. A score is that before the mask.
void explain_score(Explained& out, const ExplainedRun& of, Index query, Index key);
void explain_weight(Explained& out, const ExplainedRun& of, Index query, Index key);
// The mean of a run's weights over its heads.
void explain_mean_weight(Explained& out, ImplementationRun& run, Index batch, Index query, Index key);
// A component of the head's columns of the merged output.
void explain_output(Explained& out, const ExplainedRun& of, Index query, Index component);

}  // namespace attn::app
