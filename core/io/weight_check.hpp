// What is odd about numbers from a file, said beside the picture, which shows them as they are: NaN, and of finished
// attention weights rows that do not sum to one, negative weights, rows of zeros.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/array_view.hpp"

namespace attn {

struct Oddity {
    std::int64_t count = 0;                          // of cells or of rows
    Index layer = 0, head = 0, row = 0, column = 0;  // the first one; a row has no column
    double value = 0;                                // of the first one: the cell, or the row's sum
};

struct Findings {
    Index layers = 1, heads = 1;       // of the arrays
    std::int64_t rows = 0, cells = 0;  // looked at
    Oddity nan;
    Oddity infinite;
    // Of weights only. A row that holds NaN or an infinity is none of the next three.
    Oddity negative;    // cells
    Oddity unlike_one;  // rows
    Oddity zero;        // rows of zeros alone: a query that may look at nothing
};

// How far the sum of a row of weights may lie from one. Each element is rounded by at most u relative to itself (2^-11 in
// f16, 2^-8 in bf16) and, in f16, by 2^-25 where it is subnormal, which 16,384 keys make 5e-4; f32 and f64 get the error of
// a softmax computed in single precision.
double row_sum_tolerance(DType dtype);

// Of arrays [layers, heads, rows, columns] of one shape and type, one at least, in slices: 2^18 cells a step, a row at least.
class ValueChecking {
  public:
    enum class Kind { values, weights };
    ValueChecking(std::vector<ArrayView> arrays, Kind kind);  // their bytes outlive this object

    bool step();  // true while there is more to do
    float progress() const;
    const Findings& findings() const { return findings_; }  // of the rows so far

  private:
    void check(const ArrayView& array, Index layer, Index head, Index row);

    std::vector<ArrayView> arrays_;
    Kind kind_;
    double tolerance_ = 0;
    std::int64_t next_ = 0, rows_ = 0;  // over all arrays
    std::vector<float> values_;         // a row
    Findings findings_;
};

// A sentence for each kind that there is. `what` begins it: "run.npz".
std::vector<std::string> sentences(const Findings& findings, std::string_view what);

}  // namespace attn
