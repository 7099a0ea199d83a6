// A matrix of doubles that owns them.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

struct DenseMatrix {
    Index rows = 0, cols = 0;
    std::vector<double> values;  // row by row

    DenseMatrix() = default;
    DenseMatrix(Index r, Index c) : DenseMatrix(r, c, std::vector<double>(static_cast<std::size_t>(r * c))) {}
    DenseMatrix(Index r, Index c, std::vector<double> v) : rows(r), cols(c), values(std::move(v)) {}

    double& operator()(Index r, Index c) { return values[static_cast<std::size_t>(r * cols + c)]; }
    double operator()(Index r, Index c) const { return values[static_cast<std::size_t>(r * cols + c)]; }
    bool empty() const { return values.empty(); }
    std::span<const double> row(Index r) const {
        return std::span(values).subspan(static_cast<std::size_t>(r * cols), static_cast<std::size_t>(cols));
    }
    MatrixView<const double> view() const { return {values.data(), rows, cols, cols}; }
    DenseMatrix transposed() const {
        DenseMatrix out(cols, rows);
        for (Index r = 0; r < rows; ++r)
            for (Index c = 0; c < cols; ++c) out(c, r) = (*this)(r, c);
        return out;
    }
};

// Some rows of one head of a tensor [heads, rows, columns].
inline DenseMatrix dense_rows(const Tensor& tensor, Index head, std::span<const Index> rows) {
    const ConstMatrix all = tensor.heads().head(head);
    DenseMatrix made(std::ssize(rows), all.cols);
    for (Index r = 0; r < made.rows; ++r)
        for (Index c = 0; c < made.cols; ++c)
            made(r, c) = static_cast<double>(all(rows[static_cast<std::size_t>(r)], c));
    return made;
}

}  // namespace attn
