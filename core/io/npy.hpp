// Reads and writes NumPy's array files, .npy: versions 1.0, 2.0 and 3.0, either byte order, C or Fortran
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/array_view.hpp"
#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// Returns how many bytes from the start of a file of file_size bytes parse_npy_header needs. The first 12
// bytes tell.
Result<std::uint64_t> npy_header_size(std::span<const std::byte> first_bytes, std::uint64_t file_size);

struct NpyHeader {
    ArrayView array;  // has no bytes yet
    std::uint64_t data_offset = 0;
};

// It is an error unless the shape and the element type fill the file exactly.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> first_bytes, std::uint64_t file_size);

Result<ArrayView> parse_npy(std::span<const std::byte> file);  // a view into the file

Result<std::vector<std::int64_t>> to_int64(const ArrayView& array);  // integers and booleans only; row-major

// Returns what precedes the numbers in a file of f32, for callers that write the numbers piece by piece.
std::vector<std::byte> npy_header_f32(const Shape& shape);

// Writes byte for byte what numpy.save writes. The shape has values.size() elements.
std::vector<std::byte> write_npy(const Shape& shape, std::span<const float> values);
std::vector<std::byte> write_npy(const Shape& shape, std::span<const std::int32_t> values);
std::vector<std::byte> write_npy(const Shape& shape, std::span<const std::int64_t> values);

}  // namespace attn
