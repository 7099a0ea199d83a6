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

namespace {

// Returns 0 for a product that no Index holds: only a tensor without elements has such sizes.
Index product(const Shape& shape, Index from = 0) {
    Index count = 1;
    for (std::size_t axis = static_cast<std::size_t>(from); axis < shape.size(); ++axis) {
        if (count != 0 && shape[axis] > std::numeric_limits<Index>::max() / count) return 0;
        count *= shape[axis];
    }
    return count;
}

}  // namespace

Tensor::Tensor(Shape shape) : Tensor(shape, AlignedVector<float>(static_cast<std::size_t>(product(shape)))) {}

Tensor::Tensor(Shape shape, std::span<const float> values)
    : Tensor(std::move(shape), AlignedVector<float>(values.begin(), values.end())) {}

Tensor::Tensor(Shape shape, AlignedVector<float> values)
    : shape_(std::move(shape)),
      memory_(std::make_shared<Memory>(std::move(values), 0)),
      size_(product(shape_)),
      stride_(product(shape_, 1)) {}

Tensor::Tensor(const Tensor& other) {
    if (!other.memory_) return;
    AlignedVector<float> values;
    values.reserve(static_cast<std::size_t>(other.size_));
    for (Index i = 0; i < other.parts(); ++i) {
        const auto part = other.part(i);
        values.insert(values.end(), part.begin(), part.end());
    }
    *this = Tensor(other.shape_, std::move(values));
}

Index Tensor::parts() const { return stride_ == product(shape_, 1) ? 1 : dim(0); }

std::span<const float> Tensor::part(Index i) const {
    return {data() + i * stride_, static_cast<std::size_t>(size_ / parts())};
}

bool Tensor::operator==(const Tensor& other) const {
    if (shape_ != other.shape_ || size() != other.size()) return false;
    if (size() == 0) return true;
    const bool whole = parts() == 1 && other.parts() == 1;
    const Index count = whole ? 1 : dim(0);
    const auto width = static_cast<std::size_t>(size() / count);
    for (Index i = 0; i < count; ++i)
        if (!std::ranges::equal(std::span(data() + i * stride_, width),
                                std::span(other.data() + i * other.stride_, width)))
            return false;
    return true;
}

Tensor Tensor::continued(Index axis, Index kept, Index n, Index room) const {
    const Index ends = axis == 0 ? 1 : dim(0), row = product(shape_, axis + 1);
    if (memory_->taken == 0) memory_->taken = dim(axis);
    Tensor next;
    next.shape_ = shape_;
    next.shape_[static_cast<std::size_t>(axis)] = n;
    const Index capacity = std::ssize(memory_->values) / (ends * row);
    if (kept == n || (kept == memory_->taken && n <= capacity)) {
        next.memory_ = memory_;
        next.memory_->taken = std::max(memory_->taken, n);
        next.stride_ = stride_;
    } else {
        Shape roomy = next.shape_;
        roomy[static_cast<std::size_t>(axis)] = room;
        Tensor copy(std::move(roomy));
        for (Index i = 0; i < ends; ++i)
            std::copy_n(data() + i * stride_, kept * row, copy.data() + i * copy.stride_);
        next.memory_ = std::move(copy.memory_);
        next.memory_->taken = n;
        next.stride_ = copy.stride_;
    }
    next.size_ = product(next.shape_);
    return next;
}

MatrixView<float> Tensor::matrix() { return {data(), dim(0), dim(1), stride_}; }
ConstMatrix Tensor::matrix() const { return {data(), dim(0), dim(1), stride_}; }
HeadsView<float> Tensor::heads() { return {data(), dim(0), dim(1), dim(2), stride_, dim(2)}; }
ConstHeads Tensor::heads() const { return {data(), dim(0), dim(1), dim(2), stride_, dim(2)}; }

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
