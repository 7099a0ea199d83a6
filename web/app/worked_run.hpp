// What follows from a WorkedState: Q, K, V and the Record of their attention. A pure function.
#pragma once

#include "app/state.hpp"
#include "attention/explain.hpp"
#include "attention/record.hpp"

namespace attn::app {

struct WorkedRun {
    Matrix q, k, v;  // in double, from the numbers as typed; q and k empty for Source::scores
    Record record;   // one head, in f32; given scores enter it as its bias

    // The matrix as the ladder shows it: inputs as typed, the rest as the run has it; empty where this source
    // has none.
    Matrix matrix(const WorkedState& state, MatrixId id) const;
    float value(const WorkedState& state, CellRef cell) const;  // in f32
};

Result<WorkedRun> run_worked(const WorkedState& state);
AttentionSpec spec_of(const WorkedState& state);

// Scores over √d_k in double, before the temperature: what Source::scores takes over.
Matrix exact_scaled_scores(const WorkedState& state, const WorkedRun& run);

// Rows and columns of a ladder matrix; {0, 0} where this source has none.
struct MatrixShape {
    Index rows = 0;
    Index cols = 0;
    bool operator==(const MatrixShape&) const = default;
};
MatrixShape shape_of(const WorkedState& state, MatrixId id);

// "Q[cat, 2]": how people would say the cell.
std::string cell_name(const WorkedState& state, CellRef cell);
std::string_view symbol(MatrixId id);  // "Q", "QKᵀ", "Weights" …
bool is_stage(MatrixId id);            // raw … weight: rows are queries, columns are keys
Stage stage_of(MatrixId id);           // only where is_stage

// Why the cell has its value.
struct WorkedExplanation {
    enum class Kind { input, projection, stage, output };
    Kind kind = Kind::input;
    std::string provenance;  // "from example A", "changed; example A has 0.5 here", "computed"
    // f32 as the run has it, f64 and terms from the numbers as typed; the chain for stages and given scores.
    CellExplanation cell;
};
WorkedExplanation explain_worked(const WorkedState& state, const WorkedRun& run, CellRef cell);

}  // namespace attn::app
