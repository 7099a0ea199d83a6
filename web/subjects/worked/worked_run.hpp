// Computes everything that follows from a WorkedState: Q, K, V and the Record of their attention. It is a
// pure function.
#pragma once

#include "attention/explain.hpp"
#include "attention/record.hpp"
#include "subjects/worked/state.hpp"

namespace attn::app {

struct WorkedRun {
    Matrix q, k, v;  // in double, from the numbers as typed; q and k are empty for Source::scores
    Record record;   // one head, in f32; given scores enter it as its bias

    // Returns a matrix as the ladder shows it: inputs as typed, the rest as computed; empty if this source
    // has no such matrix.
    Matrix matrix(const WorkedState& state, Stage id) const;
    float value(const WorkedState& state, RunCell cell) const;  // in f32
};

Result<WorkedRun> run_worked(const WorkedState& state);
AttentionSpec spec_of(const WorkedState& state);

// Returns the scores over √d_k in double, before the temperature; for Source::scores, the given scores.
Matrix exact_scaled_scores(const WorkedState& state, const WorkedRun& run);

// Returns the rows and columns of a ladder matrix; {0, 0} if this source has no such matrix.
struct MatrixShape {
    Index rows = 0;
    Index cols = 0;
    bool operator==(const MatrixShape&) const = default;
};
MatrixShape shape_of(const WorkedState& state, Stage id);

// Returns how people would write the cell: "Q[cat, 2]".
std::string cell_name(const WorkedState& state, RunCell cell);
bool rows_are_queries(Stage stage);
bool rows_are_keys(Stage stage);

// Returns the row's chain of numbers for a query, computed from the numbers as typed.
RowChain worked_row(const WorkedState& state, const WorkedRun& run, Index query);

// Explains why the cell has its value.
struct WorkedExplanation {
    enum class Kind { input, projection, stage, softmax, output };
    Kind kind = Kind::input;
    std::string provenance;  // "from example A", "changed; example A has 0.5 here", "computed"
    // f32 is what the run has; f64 and the terms are computed from the numbers as typed. The chain is for
    // stages, cells of the softmax and given scores.
    CellExplanation cell;
};
WorkedExplanation explain_worked(const WorkedState& state, const WorkedRun& run, RunCell cell);

}  // namespace attn::app
