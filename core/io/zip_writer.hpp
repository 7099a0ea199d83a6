// Writes .zip archives (PKWARE's APPNOTE 6.3.10) with all entries stored uncompressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attn {

// Takes one entry after another, each in pieces, so that no entry has to be in memory as a whole. Everything
// is dated 1 January 1980, so the same entries give the same bytes. There may be at most 65,535 entries, and
// the archive must stay below 4 GB.
class ZipWriter {
  public:
    explicit ZipWriter(std::size_t expected_bytes = 0) { zip_.reserve(expected_bytes); }

    void begin(const std::string& path);  // ASCII, folders before '/'
    void append(std::span<const std::byte> bytes);
    std::vector<std::byte> finish();  // call once

  private:
    struct Entry {
        std::string path;
        std::size_t header = 0;  // where it begins
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

// Writes a whole archive; the entries keep their order.
std::vector<std::byte> write_zip(std::span<const ZipFile> entries);

}  // namespace attn
