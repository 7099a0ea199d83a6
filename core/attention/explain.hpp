// Explains why a cell has its value: the expression with its operands, in f32 as the kernels compute it,
// and in f64 as it should be.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
    float f32 = 0;        // what the run computed
    double f64 = 0;       // the same expression from the same inputs in double precision
    bool allowed = true;  // false: the mask forbids this cell

    // raw: Q[i,a] · K[j,a] over a. contribution and output: weight · V. The other stages have no terms.
    std::vector<Term> terms;

    // The chain of this cell in double; it is valid for every stage.
    double raw = 0, scale = 0, scaled = 0, capped = 0, bias = 0, masked = 0;
    double row_max = 0, exponential = 0, row_sum = 0, weight = 0;  // weight = exponential / row_sum
    Index max_key = 0;                                             // the first that has row_max
    // What edits changed: the score that capped + bias was, and the weight that exponential / row_sum was.
    std::optional<double> score_before, weight_before;

    double chain_value(Stage stage) const;  // raw … weight
};

// The raw scores of one query and what is applied to them.
struct ScoreRow {
    std::vector<double> raw;            // [n_k]
    std::vector<double> bias;           // [n_k], or empty
    std::vector<std::uint8_t> allowed;  // [n_k]
    double scale = 1;
    double softcap = 0;                           // 0: none
    std::shared_ptr<const CellEdits> edits = {};  // null: none
    Index head = 0, query = 0;                    // for these
};

// Computes weights from raw scores in double.
class RowChain {
  public:
    explicit RowChain(ScoreRow row);

    CellExplanation at(Index key) const;  // everything but f32, f64 and terms
    double row_max() const { return max_; }
    double row_sum() const { return sum_; }

  private:
    double capped(Index key) const;
    double biased(Index key) const;
    double exponential(Index key) const;
    double weight(Index key) const;  // before edits
    void change(CellEdit::Of of, std::vector<double>& numbers) const;

    ScoreRow row_;
    std::vector<double> masked_;   // −inf if the mask forbids the cell
    std::vector<double> weights_;  // empty: no edit touches them
    double max_, sum_ = 0;
    Index max_key_ = 0;
};

// Returns the raw scores of one query in double.
ScoreRow score_row(const Record& record, Index head, Index query);
// Builds the chain of one query's row.
RowChain row_chain(const Record& record, Index head, Index query);

// What the softmax of a row is made of, as the run has it.
struct SoftmaxRow {
    float max = 0, sum = 0;
    float exponential(float masked) const;
};
SoftmaxRow softmax_row(const Record& record, Index head, Index query);

// Returns Q[i,a] · K[j,a] for all a.
std::vector<Term> dot_terms(const Record& record, Index head, Index query, Index key);

// Explains the stage at (head, query, key).
CellExplanation explain(const Record& record, Stage stage, Index head, Index query, Index key);

// Explains output[head, query, component] = Σ_j weight · V, with terms for all keys.
CellExplanation explain_output(const Record& record, Index head, Index query, Index component);

}  // namespace attn
