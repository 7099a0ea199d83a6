#include "io/zip_writer.hpp"

#include <zlib.h>

#include <algorithm>
#include <string_view>

namespace attn {

namespace {

constexpr std::size_t crc_at = 14;  // within the entry's own header

void put(std::vector<std::byte>& out, std::size_t value, int bytes) {
    for (int i = 0; i < bytes; ++i, value >>= 8) out.push_back(static_cast<std::byte>(value & 0xff));
}

void put(std::vector<std::byte>& out, std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    out.insert(out.end(), bytes.begin(), bytes.end());
}

// Writes what an entry's own header and the directory have in common.
void describe(std::vector<std::byte>& out, std::size_t path, std::size_t size, std::uint32_t crc) {
    put(out, 20, 2);      // read by version 2.0
    put(out, 0, 2);       // no flags
    put(out, 0, 2);       // stored
    put(out, 0, 2);       // midnight
    put(out, 0x0021, 2);  // 1980-01-01
    put(out, crc, 4);
    put(out, size, 4);  // its size in the archive
    put(out, size, 4);  // its unpacked size
    put(out, path, 2);
    put(out, 0, 2);  // no extra field
}

}  // namespace

void ZipWriter::begin(const std::string& path) {
    entries_.push_back({path, zip_.size(), 0, 0});
    put(zip_, "PK\3\4");
    describe(zip_, path.size(), 0, 0);
    put(zip_, path);
}

void ZipWriter::append(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;  // given no bytes, zlib would start the sum anew
    Entry& entry = entries_.back();
    zip_.insert(zip_.end(), bytes.begin(), bytes.end());
    entry.size += bytes.size();
    entry.crc = static_cast<std::uint32_t>(
        crc32_z(entry.crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::vector<std::byte> ZipWriter::finish() {
    std::vector<std::byte> directory;
    for (const Entry& entry : entries_) {
        std::vector<std::byte> sizes;
        put(sizes, entry.crc, 4);
        put(sizes, entry.size, 4);
        put(sizes, entry.size, 4);
        std::copy(sizes.begin(), sizes.end(),
                  zip_.begin() + static_cast<std::ptrdiff_t>(entry.header + crc_at));

        put(directory, "PK\1\2");
        put(directory, 20, 2);  // written by version 2.0
        describe(directory, entry.path.size(), entry.size, entry.crc);
        put(directory, 0, 2);  // no comment
        put(directory, 0, 2);  // on the first disk
        put(directory, 0, 2);  // no internal attributes
        put(directory, 0, 4);  // no external ones either
        put(directory, entry.header, 4);
        put(directory, entry.path);
    }
    const std::size_t directory_at = zip_.size();
    zip_.insert(zip_.end(), directory.begin(), directory.end());
    put(zip_, "PK\5\6");
    put(zip_, 0, 4);  // one disk
    put(zip_, entries_.size(), 2);
    put(zip_, entries_.size(), 2);
    put(zip_, directory.size(), 4);
    put(zip_, directory_at, 4);
    put(zip_, 0, 2);  // no comment
    return std::move(zip_);
}

std::vector<std::byte> write_zip(std::span<const ZipFile> entries) {
    ZipWriter zip;
    for (const ZipFile& entry : entries) {
        zip.begin(entry.path);
        zip.append(entry.bytes);
    }
    return zip.finish();
}

}  // namespace attn
