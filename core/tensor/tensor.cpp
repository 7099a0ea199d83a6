#include "tensor/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {

Result<Index> element_count(const Shape& shape, Index bytes_per_element) {
    const bool empty = std::ranges::any_of(shape, [](Index d) { return d == 0; });
    Index limit = std::numeric_limits<Index>::max() / bytes_per_element;
    Index count = 1;
    for (Index d : shape) {
        if (d < 0) return Error{"shape " + to_string(shape) + " has a negative dimension"};
        if (empty) continue;
        if (count > limit / d)
            return Error{"shape " + to_string(shape) + " is larger than the address space"};
        count *= d;
    }
    return empty ? Index{0} : count;
}

std::string to_string(const Shape& shape) {
    if (shape.empty()) return "scalar";
    std::string text;
    for (Index d : shape) text += (text.empty() ? "" : "×") + std::to_string(d);
    return text;
}

Tensor::Tensor(Shape shape) : shape_(std::move(shape)) {
    std::size_t count = 1;
    for (Index d : shape_) count *= static_cast<std::size_t>(d);
    values_.resize(count);
}

Tensor::Tensor(Shape shape, std::span<const float> values)
    : shape_(std::move(shape)), values_(values.begin(), values.end()) {}

MatrixView<float> Tensor::matrix() { return {data(), dim(0), dim(1), dim(1)}; }
ConstMatrix Tensor::matrix() const { return {data(), dim(0), dim(1), dim(1)}; }
HeadsView<float> Tensor::heads() { return {data(), dim(0), dim(1), dim(2), dim(1) * dim(2), dim(2)}; }
ConstHeads Tensor::heads() const { return {data(), dim(0), dim(1), dim(2), dim(1) * dim(2), dim(2)}; }

std::vector<float> row_norms(ConstMatrix m) {
    std::vector<float> norms;
    norms.reserve(static_cast<std::size_t>(m.rows));
    for (Index row = 0; row < m.rows; ++row) {
        double squares = 0;
        for (Index col = 0; col < m.cols; ++col)
            squares += static_cast<double>(m(row, col)) * static_cast<double>(m(row, col));
        norms.push_back(static_cast<float>(std::sqrt(squares)));
    }
    return norms;
}

}  // namespace attn
