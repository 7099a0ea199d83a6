// Turns files and literals into bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <vector>

namespace attn::test {

// Returns nothing if the file does not exist.
inline std::vector<std::byte> read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) return {};
    std::vector<std::byte> bytes(static_cast<std::size_t>(file.tellg()));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes));
    return bytes;
}

// The text must outlive the result.
inline std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

inline std::filesystem::path source_dir() { return ATTN_SOURCE_DIR; }

}  // namespace attn::test
