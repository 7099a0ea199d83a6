// A small matrix whose cells the user can edit.
#pragma once

#include <algorithm>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn::app {

// The values are doubles, so 0.1 is kept as typed and the inspector's f64 column is exact; runs round it to
// f32.
struct Matrix {
    Index rows = 0;
    Index cols = 0;
    std::vector<double> values;  // row-major

    Matrix() = default;
    Matrix(Index r, Index c) : rows(r), cols(c), values(static_cast<std::size_t>(r * c), 0.0) {}
    Matrix(Index r, Index c, std::vector<double> v) : rows(r), cols(c), values(std::move(v)) {}
    double& at(Index r, Index c) { return values[static_cast<std::size_t>(r * cols + c)]; }
    double at(Index r, Index c) const { return values[static_cast<std::size_t>(r * cols + c)]; }
    bool holds(Index r, Index c) const { return r >= 0 && r < rows && c >= 0 && c < cols; }
    bool empty() const { return values.empty(); }
    bool operator==(const Matrix&) const = default;
};

inline constexpr Index matrix_size_limit = 64;  // rows or columns of an editable matrix

inline Matrix identity(Index rows, Index cols) {
    Matrix m(rows, cols);
    for (Index i = 0; i < std::min(rows, cols); ++i) m.at(i, i) = 1;
    return m;
}

}  // namespace attn::app
