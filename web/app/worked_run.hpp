// What follows from a WorkedState: Q, K, V and the Record of their attention. A pure function.
#pragma once

#include "app/state.hpp"
#include "attention/explain.hpp"
#include "attention/record.hpp"

namespace attn::app {

struct WorkedRun {
    Matrix q, k, v;  // as used; for Source::scores q = scores, k = identity, v = given or identity
    Record record;   // one head

    // The matrix as the ladder shows it; nullptr-like empty where this source has none.
    Matrix matrix(const WorkedState& state, MatrixId id) const;
    float value(const WorkedState& state, CellRef cell) const;
};

Result<WorkedRun> run_worked(const WorkedState& state);
AttentionSpec spec_of(const WorkedState& state);

// Rows and columns of a ladder matrix; {0, 0} where this source has none.
struct MatrixShape {
    Index rows = 0;
    Index cols = 0;
    bool operator==(const MatrixShape&) const = default;
};
MatrixShape shape_of(const WorkedState& state, MatrixId id);

// "Q[cat, 2]": how people would say the cell.
std::string cell_name(const WorkedState& state, CellRef cell);
std::string_view symbol(MatrixId id);     // "Q", "QKᵀ", "Weights" …
bool is_stage(MatrixId id);               // raw … weight: rows are queries, columns are keys
Stage stage_of(MatrixId id);              // only where is_stage

// Why the cell has its value: input cells say where they came from.
struct WorkedExplanation {
    enum class Kind { input, projection, stage, output };
    Kind kind = Kind::input;
    std::string provenance;     // "from preset A", "typed", "generated, seed 42", "computed"
    CellExplanation cell;       // f32, f64, terms; the chain for stages and output
};
WorkedExplanation explain_worked(const WorkedState& state, const WorkedRun& run, CellRef cell);

}  // namespace attn::app
