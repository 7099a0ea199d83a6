// Reads any bytes as a safetensors file, as the start of a larger one, and as the index of a sharded model.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/target.hpp"
#include "io/safetensors.hpp"

using namespace attn;

namespace {

void check_file(std::span<const std::byte> bytes) {
    const auto file = parse_safetensors(bytes);
    if (!file) {
        require(!file.error().message.empty());
        return;
    }
    std::uint64_t total = 0;
    for (const TensorEntry& entry : file->header.tensors) {
        require(file->header.find(entry.name) == &entry);
        total += file->bytes(entry).size();
        const auto tensor = file->tensor(entry.name);
        require(!tensor || tensor->shape() == entry.shape);
    }
    require(total == file->data.size());
    require(file->header.data_offset + total == bytes.size());
}

void check_start(std::span<const std::byte> bytes) {
    constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
    const auto header = parse_safetensors_header(bytes, 5 * gibibyte);
    if (header) require(header->data_offset <= bytes.size());
}

}  // namespace

FUZZ_TARGET(safetensors) {
    const auto bytes = std::as_bytes(std::span(data, size));
    check_file(bytes);
    check_start(bytes);
    if (const auto index = parse_safetensors_index(bytes))
        require(index->files.size() <= index->weight_map.size());
    return 0;
}
