// Archives in the format .zip (PKWARE's APPNOTE 6.3.10), their entries stored as they are.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace attn {

struct ZipFile {
    std::string path;  // ASCII, folders before '/'
    std::span<const std::byte> bytes;
};

// A whole archive, the entries in their order, dated 1 January 1980: the same entries give the same bytes. At most
// 65,535 entries and together, with their paths, less than 4 GB.
std::vector<std::byte> write_zip(std::span<const ZipFile> entries);

}  // namespace attn
