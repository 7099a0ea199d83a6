// An array as it lies in a file, with any element type, byte order and order of axes; nothing is converted or
// copied.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tensor/dtype.hpp"
#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

struct ArrayView {
    DType dtype = DType::f32;
    bool big_endian = false;
    Shape shape;
    Shape strides;                     // per axis, in elements
    std::span<const std::byte> bytes;  // may be unaligned; every element lies inside

    Index offset(std::span<const Index> position) const;  // in elements
};

Shape row_major_strides(const Shape& shape);
Shape column_major_strides(const Shape& shape);  // the first axis varies fastest, as in Fortran

// Reads the elements at offset, offset + stride, …, rounded to f32.
void read(const ArrayView& array, Index offset, Index stride, std::span<float> out);

// Returns all elements, row-major and little-endian: the array's own bytes if they already lie like that,
// otherwise a copy that `storage` holds.
std::span<const std::byte> row_major(const ArrayView& array, std::vector<std::byte>& storage);

Result<Tensor> to_tensor(const ArrayView& array);  // any dtype, rounded to f32

}  // namespace attn
