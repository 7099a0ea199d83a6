// The safetensors format: 8 bytes of header length, a JSON header, the tensors' bytes without a gap.
// The header can be read and checked before the body is in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/array_view.hpp"
#include "tensor/dtype.hpp"
#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

struct TensorEntry {
    std::string name;
    std::string_view dtype_name;  // "F32", "BF16", "F8_E4M3", …
    std::optional<DType> dtype;   // none: a type of the format that this program does not compute with
    Shape shape;
    std::uint64_t begin = 0, end = 0;  // of its bytes, from the end of the header
};

struct SafetensorsHeader {
    std::uint64_t data_offset = 0;     // of the first tensor's bytes in the file
    std::vector<TensorEntry> tensors;  // by name
    std::map<std::string, std::string> metadata;

    const TensorEntry* find(std::string_view name) const;  // null: no tensor of that name
};

// How many bytes at the start of a file of file_size bytes parse_safetensors_header needs; told by the first 8.
Result<std::uint64_t> safetensors_header_size(std::span<const std::byte> first_bytes,
                                              std::uint64_t file_size);

Result<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> first_bytes,
                                                   std::uint64_t file_size);

// A whole file; `data` are the bytes after the header and belong to the caller.
struct SafetensorsFile {
    SafetensorsHeader header;
    std::span<const std::byte> data;

    std::span<const std::byte> bytes(const TensorEntry& entry) const;
    Result<ArrayView> view(std::string_view name) const;
    Result<Tensor> tensor(std::string_view name) const;  // any DType, rounded to f32
};

Result<SafetensorsFile> parse_safetensors(std::span<const std::byte> file);

struct TensorToWrite {
    std::string name;
    DType dtype;
    Shape shape;
    std::span<const std::byte> bytes;  // little-endian; as many as dtype and shape ask for
};
// A whole file: the tensors in their order, the header padded to a multiple of 8 bytes. Types that the format has.
std::vector<std::byte> write_safetensors(std::span<const TensorToWrite> tensors,
                                         const std::map<std::string, std::string>& metadata = {});

// model.safetensors.index.json: which of several files holds which tensor. File names are plain: no folders.
struct SafetensorsIndex {
    std::map<std::string, std::string, std::less<>> weight_map;  // tensor -> file
    std::vector<std::string> files;                              // each once, sorted
};

Result<SafetensorsIndex> parse_safetensors_index(std::span<const std::byte> json);

}  // namespace attn
