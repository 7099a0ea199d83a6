// The plain loops of a run in double precision: a row at a time, over weights as they are stored.
#pragma once

#include <vector>

#include "model/network.hpp"

namespace attn {

// [rows, columns].
struct DoubleRows {
    Index rows = 0, cols = 0;
    std::vector<double> values;

    DoubleRows() = default;
    DoubleRows(Index row_count, Index columns)
        : rows(row_count), cols(columns), values(static_cast<std::size_t>(row_count * columns)) {}
    double* row(Index i) { return values.data() + i * cols; }
    const double* row(Index i) const { return values.data() + i * cols; }
};

// A row of a weight: the inputs of one output, or the outputs of one input, as the weight lies.
void read_row(const WeightView& weight, Index row, std::vector<double>& to);
double dot(const double* a, const double* b, Index count);
double bias_at(const LinearView& linear, Index out);
// y [out] = x [in] W + bias.
void multiply(const LinearView& linear, const double* x, double* y);
// y [width] = norm(x [width]); y may be x.
void normalise_row(const Norm& norm, const std::vector<double>& gain, const double* x, double* y);

}  // namespace attn
