// Reads zip archives (PKWARE's APPNOTE 6.3.10) of stored and deflated entries, with or without zip64, in
// one part and not encrypted. An archive is accepted only if its directory and its local headers agree and
// its entries do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/result.hpp"

struct z_stream_s;

namespace attn {

struct ZipEntry {
    std::string name;  // the bytes that the archive has
    bool deflated = false;
    std::uint32_t crc = 0;              // CRC-32 of the unpacked bytes
    std::uint64_t size = 0;             // unpacked
    std::span<const std::byte> packed;  // in the archive; a stored entry's contents
};

// A deflated entry may unpack to this much; a stored one is not copied and has no limit. Deflate turns one
// byte into at most 1032, so a small file cannot unpack to this much either.
inline constexpr std::uint64_t unpacked_limit = std::uint64_t{1} << 30;

// Lists the files of an archive in its directory's order, without folders.
Result<std::vector<ZipEntry>> parse_zip(std::span<const std::byte> archive);

// Unpacks the first `count` bytes of an entry, or all if there are fewer, without checking the CRC-32.
Result<std::vector<std::byte>> unpack_start(const ZipEntry& entry, std::size_t count);

struct FreeBytes {
    void operator()(std::byte* bytes) const { std::free(bytes); }
};

struct UnpackedEntry {
    std::span<const std::byte> bytes;              // a stored entry's, within the archive
    std::unique_ptr<std::byte[], FreeBytes> room;  // where a deflated one is unpacked
};

// Unpacks an entry in slices and checks its CRC-32. The archive's bytes must outlive it.
class Unpacking {
  public:
    explicit Unpacking(ZipEntry entry);
    Unpacking(Unpacking&&) noexcept;
    Unpacking& operator=(Unpacking&&) noexcept;
    ~Unpacking();

    bool step();                     // unpacks about 2^19 bytes; true while there is more to do
    float progress() const;          // 0 … 1
    Result<UnpackedEntry> finish();  // does what is left; call once

  private:
    friend Result<std::vector<std::byte>> unpack_start(const ZipEntry&, std::size_t);
    Status begin();
    Status advance();
    Status inflate_some(std::span<std::byte> out);  // fills `out` or fails
    Status check_end();

    ZipEntry entry_;
    std::unique_ptr<std::byte[], FreeBytes> room_;
    std::unique_ptr<z_stream_s, void (*)(z_stream_s*)> stream_;
    std::size_t taken_ = 0, made_ = 0;  // packed bytes that were read; unpacked bytes that were made
    std::uint32_t crc_ = 0;
    bool stream_ended_ = false, done_ = false;
    Status status_ = ok();
};

}  // namespace attn
