#include "io/png.hpp"

#include <zlib.h>

#include <array>

namespace attn {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 16;
constexpr std::uint8_t difference_to_the_left = 1;  // the filter type "Sub"

std::array<std::uint8_t, 4> big_endian(std::uint32_t value) {
    return {static_cast<std::uint8_t>(value >> 24), static_cast<std::uint8_t>(value >> 16),
            static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
}

}  // namespace

struct PngWriter::Stream {
    z_stream z{};
};

PngWriter::PngWriter(Index width, Index height) : stream_(std::make_unique<Stream>()) {
    deflateInit(&stream_->z, 6);
    line_.resize(1 + 3 * static_cast<std::size_t>(width));
    const auto signature = std::as_bytes(std::span("\x89PNG\r\n\x1a\n", 8));
    file_.assign(signature.begin(), signature.end());
    const auto w = big_endian(static_cast<std::uint32_t>(width)),
               h = big_endian(static_cast<std::uint32_t>(height));
    // The image has 8 bits per channel, RGB, deflate, adaptive filters, and is not interlaced.
    const std::array<std::uint8_t, 13> header{w[0], w[1], w[2], w[3], h[0], h[1], h[2], h[3], 8, 2, 0, 0, 0};
    chunk("IHDR", header);
}

PngWriter::~PngWriter() { deflateEnd(&stream_->z); }

void PngWriter::chunk(const char* name, std::span<const std::uint8_t> data) {
    const auto put = [&](std::span<const std::uint8_t> bytes) {
        const auto as = std::as_bytes(bytes);
        file_.insert(file_.end(), as.begin(), as.end());
    };
    put(big_endian(static_cast<std::uint32_t>(data.size())));
    const std::size_t checked = file_.size();
    put({reinterpret_cast<const std::uint8_t*>(name), 4});
    put(data);
    put(big_endian(static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(file_.data() + checked), file_.size() - checked))));
}

void PngWriter::deflate(std::span<const std::uint8_t> bytes, bool last) {
    z_stream& z = stream_->z;
    z.next_in = const_cast<Bytef*>(bytes.data());
    z.avail_in = static_cast<uInt>(bytes.size());
    do {
        std::array<std::uint8_t, 4096> out;
        z.next_out = out.data();
        z.avail_out = static_cast<uInt>(out.size());
        ::deflate(&z, last ? Z_FINISH : Z_NO_FLUSH);
        deflated_.insert(deflated_.end(), out.begin(), out.end() - z.avail_out);
    } while (z.avail_out == 0);
    if (deflated_.size() < chunk_bytes && !last) return;
    chunk("IDAT", deflated_);
    deflated_.clear();
}

void PngWriter::row(std::span<const std::uint8_t> rgb) {
    // Cells are runs of one colour; subtracting the pixel to the left turns them into zeros.
    line_[0] = difference_to_the_left;
    for (std::size_t i = 0; i < rgb.size(); ++i)
        line_[1 + i] = static_cast<std::uint8_t>(rgb[i] - (i < 3 ? 0 : rgb[i - 3]));
    deflate(line_, false);
}

std::vector<std::byte> PngWriter::finish() {
    deflate({}, true);
    chunk("IEND", {});
    return std::move(file_);
}

}  // namespace attn
