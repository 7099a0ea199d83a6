// Shapes, owning tensors and strided views. All are row-major; tensors are 64-byte aligned.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "tensor/result.hpp"

namespace attn {

using Index = std::ptrdiff_t;
using Shape = std::vector<Index>;

// Returns the product of the dimensions (1 for rank 0). It is an error if a dimension is negative or if the
// product of elements times `bytes_per_element` does not fit in Index.
Result<Index> element_count(const Shape& shape, Index bytes_per_element = 1);

std::string to_string(const Shape& shape);  // "3×4"; "scalar" for rank 0

// The half-open range [begin, end).
struct Range {
    Index begin = 0;
    Index end = 0;
    Index size() const { return end - begin; }
    bool holds(Index i) const { return i >= begin && i < end; }
    bool operator==(const Range&) const = default;
};

template <class T>
struct AlignedAllocator {
    using value_type = T;
    static constexpr std::align_val_t alignment{64};
    AlignedAllocator() = default;
    template <class U>
    AlignedAllocator(const AlignedAllocator<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), alignment)); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, alignment); }
    bool operator==(const AlignedAllocator&) const = default;
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

// [rows, cols]. The elements of a row are contiguous, and rows are row_stride elements apart.
template <class T>
struct MatrixView {
    T* data = nullptr;
    Index rows = 0;
    Index cols = 0;
    Index row_stride = 0;

    T* row(Index r) const { return data + r * row_stride; }
    T& operator()(Index r, Index c) const { return data[r * row_stride + c]; }
    operator MatrixView<const T>() const { return {data, rows, cols, row_stride}; }
};

// [heads, rows, cols]. The elements of a row are contiguous.
template <class T>
struct HeadsView {
    T* data = nullptr;
    Index heads = 0;
    Index rows = 0;
    Index cols = 0;
    Index head_stride = 0;
    Index row_stride = 0;

    MatrixView<T> head(Index h) const { return {data + h * head_stride, rows, cols, row_stride}; }
    operator HeadsView<const T>() const { return {data, heads, rows, cols, head_stride, row_stride}; }
};

// Restricts the matrix, or every head, to a range of rows.
template <class T>
MatrixView<T> rows(MatrixView<T> m, Range range) {
    return {m.row(range.begin), range.size(), m.cols, m.row_stride};
}
template <class T>
HeadsView<T> rows(HeadsView<T> m, Range range) {
    return {m.data + range.begin * m.row_stride, m.heads, range.size(), m.cols, m.head_stride, m.row_stride};
}

using ConstMatrix = MatrixView<const float>;
using ConstHeads = HeadsView<const float>;

// Returns ‖row‖ of each row, summed in double.
std::vector<float> row_norms(ConstMatrix m);

// A tensor of f32 that owns its memory. A copy has memory of its own; what continues a tensor shares it.
class Tensor {
  public:
    Tensor() = default;
    explicit Tensor(Shape shape);  // zeros; the caller has checked element_count
    Tensor(Shape shape, std::span<const float> values);
    Tensor(Shape shape, AlignedVector<float> values);
    Tensor(const Tensor& other);
    Tensor(Tensor&&) noexcept = default;
    Tensor& operator=(const Tensor& other) { return *this = Tensor(other); }
    Tensor& operator=(Tensor&&) noexcept = default;
    ~Tensor() = default;

    // Returns a tensor of `n` along the axis (0 of a matrix, else 1) that begins with this one's first `kept`
    // and ends with zeros. It shares memory where this is free behind them, or nothing comes behind them;
    // else they are copied to where there is room for `room`. The shared part must not be written any more.
    Tensor continued(Index axis, Index kept, Index n, Index room) const;

    const Shape& shape() const { return shape_; }
    Index rank() const { return std::ssize(shape_); }
    Index dim(Index axis) const { return shape_[static_cast<std::size_t>(axis)]; }
    Index size() const { return memory_ ? size_ : 0; }
    float* data() { return memory_ ? memory_->values.data() : nullptr; }
    const float* data() const { return memory_ ? memory_->values.data() : nullptr; }
    // All elements in order. A tensor that was continued along axis 1 does not have them in one piece; use
    // its views.
    std::span<float> values() { return {data(), static_cast<std::size_t>(size())}; }
    std::span<const float> values() const { return {data(), static_cast<std::size_t>(size())}; }

    MatrixView<float> matrix();  // rank 2
    ConstMatrix matrix() const;  // rank 2
    HeadsView<float> heads();    // rank 3, [heads, rows, cols]
    ConstHeads heads() const;    // rank 3

    bool operator==(const Tensor& other) const;

  private:
    struct Memory {
        Memory(AlignedVector<float> v, Index t) : values(std::move(v)), taken(t) {}
        AlignedVector<float> values;
        Index taken;  // along the axis on which it is continued, by the longest tensor; 0: by the first
    };
    // The stretches of elements that lie one behind the other.
    Index parts() const;
    std::span<const float> part(Index i) const;

    Shape shape_;
    std::shared_ptr<Memory> memory_;
    Index size_ = 0;
    Index stride_ = 1;  // elements from one to the next of axis 0
};

}  // namespace attn
