#include "io/zip_writer.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace attn {

namespace {

// By byte: what eight steps of the polynomial make of it, lowest bit first (ISO 3309).
constexpr std::array<std::uint32_t, 256> crc_table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >> 1) ^ 0xedb88320 : crc >> 1;
        table[byte] = crc;
    }
    return table;
}();

std::uint32_t crc32(std::span<const std::byte> bytes) {
    std::uint32_t crc = 0xffffffff;
    for (const std::byte byte : bytes)
        crc = (crc >> 8) ^ crc_table[(crc ^ static_cast<std::uint32_t>(byte)) & 0xff];
    return ~crc;
}

// Little-endian numbers and texts, one after another.
class Writer {
  public:
    std::size_t size() const { return out_.size(); }
    std::vector<std::byte> take() { return std::move(out_); }

    void number(std::size_t value, int bytes) {
        for (int i = 0; i < bytes; ++i, value >>= 8) out_.push_back(static_cast<std::byte>(value & 0xff));
    }
    void bytes(std::span<const std::byte> more) { out_.insert(out_.end(), more.begin(), more.end()); }
    void text(std::string_view more) { bytes(std::as_bytes(std::span(more))); }

    // What an entry's own header and the directory say alike.
    void described(const ZipFile& entry, std::uint32_t crc) {
        number(20, 2);      // read by version 2.0
        number(0, 2);       // no flags
        number(0, 2);       // stored
        number(0, 2);       // midnight
        number(0x0021, 2);  // 1980-01-01
        number(crc, 4);
        number(entry.bytes.size(), 4);  // as it lies here
        number(entry.bytes.size(), 4);  // as it was
        number(entry.path.size(), 2);
        number(0, 2);  // no extra field
    }

  private:
    std::vector<std::byte> out_;
};

}  // namespace

std::vector<std::byte> write_zip(std::span<const ZipFile> entries) {
    Writer zip, directory;
    for (const ZipFile& entry : entries) {
        const std::uint32_t crc = crc32(entry.bytes);
        directory.text("PK\1\2");
        directory.number(20, 2);  // written by version 2.0
        directory.described(entry, crc);
        directory.number(0, 2);           // no comment
        directory.number(0, 2);           // on the first disk
        directory.number(0, 2);           // no internal attributes
        directory.number(0, 4);           // nor external ones
        directory.number(zip.size(), 4);  // where its header lies
        directory.text(entry.path);

        zip.text("PK\3\4");
        zip.described(entry, crc);
        zip.text(entry.path);
        zip.bytes(entry.bytes);
    }
    const std::size_t directory_at = zip.size(), directory_size = directory.size();
    zip.bytes(directory.take());
    zip.text("PK\5\6");
    zip.number(0, 4);  // one disk
    zip.number(entries.size(), 2);
    zip.number(entries.size(), 2);
    zip.number(directory_size, 4);
    zip.number(directory_at, 4);
    zip.number(0, 2);  // no comment
    return zip.take();
}

}  // namespace attn
