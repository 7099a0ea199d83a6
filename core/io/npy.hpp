// NumPy's array file, .npy: versions 1.0, 2.0 and 3.0, either byte order, C or Fortran order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/dtype.hpp"
#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// The header, checked, and a view of the elements as they lie in the file.
struct NpyArray {
    DType dtype = DType::f32;
    Shape shape;
    bool big_endian = false;
    bool fortran_order = false;       // first axis fastest
    std::span<const std::byte> data;  // into the parsed file; exactly elements × byte_size(dtype)
};

Result<NpyArray> parse_npy(std::span<const std::byte> file);

Result<Tensor> to_tensor(const NpyArray& array);                    // any dtype, rounded to f32; row-major
Result<std::vector<std::int64_t>> to_int64(const NpyArray& array);  // integers and booleans only; row-major

// Byte for byte what numpy.save writes. shape has values.size() elements.
std::vector<std::byte> write_npy(const Shape& shape, std::span<const float> values);
std::vector<std::byte> write_npy(const Shape& shape, std::span<const std::int32_t> values);
std::vector<std::byte> write_npy(const Shape& shape, std::span<const std::int64_t> values);

}  // namespace attn
