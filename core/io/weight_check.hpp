// Finds what is odd about numbers from a file: NaN and, in finished attention weights, rows that do not sum
// to 1, negative weights, and rows of zeros. It is reported beside the picture, which shows the numbers as
// they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/array_view.hpp"

namespace attn {

struct Oddity {
    std::int64_t count = 0;                          // how many cells or rows
    Index layer = 0, head = 0, row = 0, column = 0;  // the first one; a row has no column
    double value = 0;                                // the first one's: the cell, or the row's sum
};

struct Findings {
    Index layers = 1, heads = 1;       // in the arrays
    std::int64_t rows = 0, cells = 0;  // looked at
    Oddity nan;
    Oddity infinite;
    // These apply to weights only. A row that holds NaN or an infinity counts as none of the three.
    Oddity negative;    // cells
    Oddity unlike_one;  // rows
    Oddity zero;        // only zeros: a query that may not attend to any key
};

// How far the sum of a row of weights may be from 1. Rounding moves each element by at most u relative to
// itself (2^-11 in f16, 2^-8 in bf16) and, in f16, by 2^-25 where it is subnormal, which adds up to 5e-4 over
// 16,384 keys. f32 and f64 are allowed the error of a softmax in single precision.
double row_sum_tolerance(DType dtype);

// Checks one or more arrays [layers, heads, rows, columns] of one shape and type in slices: 2^18 cells, but
// at least a row, per step.
class ValueChecking {
  public:
    enum class Kind { values, weights };
    ValueChecking(std::vector<ArrayView> arrays, Kind kind);  // their bytes must outlive this object

    bool step();  // true while there is more to do
    float progress() const;
    const Findings& findings() const { return findings_; }  // for the rows checked so far

  private:
    void check(const ArrayView& array, Index layer, Index head, Index row);

    std::vector<ArrayView> arrays_;
    Kind kind_;
    double tolerance_ = 0;
    std::int64_t next_ = 0, rows_ = 0;  // over all arrays
    std::vector<float> values_;         // a row
    Findings findings_;
};

// A sentence about one kind of oddity, beginning with `what`: "run.npz", and the first that it is about.
struct OddityTold {
    std::string sentence;
    Oddity oddity;
    bool of_cell = false;  // false: a row's
};
std::vector<OddityTold> told(const Findings& findings, std::string_view what);

}  // namespace attn
