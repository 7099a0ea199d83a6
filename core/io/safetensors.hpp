// Reads and writes the safetensors format: 8 bytes of header length, a JSON header, then the tensors' bytes
// without gaps. The header can be read and checked before the body is in memory.
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
    std::optional<DType> dtype;   // none: the format has this type, but this program cannot compute with it
    Shape shape;
    std::uint64_t begin = 0, end = 0;  // where its bytes lie, counted from the end of the header
};

struct SafetensorsHeader {
    std::uint64_t data_offset = 0;     // where the first tensor's bytes begin in the file
    std::vector<TensorEntry> tensors;  // sorted by name
    std::map<std::string, std::string> metadata;

    const TensorEntry* find(std::string_view name) const;  // null: no tensor has that name
};

// Returns how many bytes from the start of a file of file_size bytes parse_safetensors_header
// needs. The first 8 bytes tell.
Result<std::uint64_t> safetensors_header_size(std::span<const std::byte> first_bytes,
                                              std::uint64_t file_size);

Result<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> first_bytes,
                                                   std::uint64_t file_size);

// A whole file. `data` holds the bytes after the header and belongs to the caller.
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
    std::span<const std::byte> bytes;  // little-endian; as many as dtype and shape require
};
// Writes a whole file: the tensors stay in their order, and the header is padded to a multiple of 8 bytes.
// Their types must be ones that the format has.
std::vector<std::byte> write_safetensors(std::span<const TensorToWrite> tensors,
                                         const std::map<std::string, std::string>& metadata = {});

// model.safetensors.index.json says which of several files holds which tensor. File names must
// be plain, without folders.
struct SafetensorsIndex {
    std::map<std::string, std::string, std::less<>> weight_map;  // tensor -> file
    std::vector<std::string> files;                              // each once, sorted
};

Result<SafetensorsIndex> parse_safetensors_index(std::span<const std::byte> json);

}  // namespace attn
