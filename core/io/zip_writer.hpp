// Archives in the format .zip (PKWARE's APPNOTE 6.3.10), their entries stored as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attn {

// Entry after entry, each piece by piece, so that none has to be there as a whole. Dated 1 January 1980: the same entries
// give the same bytes. At most 65,535 entries and together, with their paths, less than 4 GB.
class ZipWriter {
  public:
    explicit ZipWriter(std::size_t expected_bytes = 0) { zip_.reserve(expected_bytes); }

    void begin(const std::string& path);  // ASCII, folders before '/'
    void append(std::span<const std::byte> bytes);
    std::vector<std::byte> finish();  // once

  private:
    struct Entry {
        std::string path;
        std::size_t header = 0;  // where it lies
        std::size_t size = 0;
        std::uint32_t crc = 0;
    };
    std::vector<std::byte> zip_;
    std::vector<Entry> entries_;
};

struct ZipFile {
    std::string path;
    std::span<const std::byte> bytes;
};

// A whole archive, the entries in their order.
std::vector<std::byte> write_zip(std::span<const ZipFile> entries);

}  // namespace attn
