// An array where it lies in a file: any element type, byte order and order of axes, nothing converted or copied.
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
    Shape strides;                     // of each axis, in elements
    std::span<const std::byte> bytes;  // may be unaligned; every element lies inside

    Index offset(std::span<const Index> position) const;  // in elements
};

Shape row_major_strides(const Shape& shape);
Shape column_major_strides(const Shape& shape);  // first axis fastest, as Fortran has it

// The elements at offset, offset + stride, …, rounded to f32.
void read(const ArrayView& array, Index offset, Index stride, std::span<float> out);

// All elements, row-major and little-endian: the array's own bytes where they lie like that, else what `storage` then
// holds.
std::span<const std::byte> row_major(const ArrayView& array, std::vector<std::byte>& storage);

Result<Tensor> to_tensor(const ArrayView& array);  // any dtype, rounded to f32

}  // namespace attn
