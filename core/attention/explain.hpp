// Why a cell has its value: the expression with its operands, in f32 as the kernels have it and in f64 as it
// should be.
#pragma once

#include <string>
#include <vector>

#include "attention/record.hpp"

namespace attn {

// One row of the arithmetic: left · right = product.
struct Term {
    Index index = 0;  // component a, key j, …
    double left = 0;
    double right = 0;
    double product() const { return left * right; }
};

struct CellExplanation {
    float f32 = 0;        // what the run has
    double f64 = 0;       // the same expression from the same inputs in double precision
    bool allowed = true;  // false: the mask forbids this cell

    // raw: Q[i,a] · K[j,a] over a. contribution, output: weight · V. Empty for the other stages.
    std::vector<Term> terms;

    // The chain of this cell in double, valid for every stage.
    double raw = 0, scale = 0, scaled = 0, capped = 0, bias = 0, masked = 0;
    double row_max = 0, exponential = 0, row_sum = 0, weight = 0;  // weight = exponential / row_sum
};

// The stage at (head, query, key).
CellExplanation explain(const Record& record, Stage stage, Index head, Index query, Index key);

// output[head, query, component] = Σ_j weight · V; terms over all keys.
CellExplanation explain_output(const Record& record, Index head, Index query, Index component);

}  // namespace attn
