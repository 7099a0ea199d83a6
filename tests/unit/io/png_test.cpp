#include "io/png.hpp"

#include <zlib.h>

#include <catch_amalgamated.hpp>
#include <string>
#include <vector>

#include "tensor/random.hpp"

using namespace attn;

namespace {

std::vector<std::uint8_t> random_pixels(Index width, Index height, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(3 * width * height));
    for (std::uint8_t& p : pixels) p = static_cast<std::uint8_t>(random.below(256));
    return pixels;
}

std::vector<std::byte> written(Index width, Index height, const std::vector<std::uint8_t>& pixels) {
    PngWriter png(width, height);
    const auto bytes = static_cast<std::size_t>(3 * width);
    for (std::size_t row = 0; row < static_cast<std::size_t>(height); ++row)
        png.row(std::span(pixels).subspan(row * bytes, bytes));
    return png.finish();
}

std::uint32_t number(std::span<const std::byte> bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
    return value;
}

// Holds the rows of a picture without its filters, read according to the specification: chunks, their checks,
// and one zlib stream.
struct Decoded {
    std::uint32_t width = 0, height = 0;
    std::vector<std::uint8_t> pixels;
};
Decoded decoded(std::span<const std::byte> file) {
    REQUIRE(number(file, 0) == 0x89504e47);
    REQUIRE(number(file, 4) == 0x0d0a1a0a);
    Decoded d;
    std::vector<std::byte> stream;
    std::string names;
    for (std::size_t at = 8; at < file.size();) {
        const std::size_t length = number(file, at);
        const std::string name(reinterpret_cast<const char*>(file.data()) + at + 4, 4);
        const auto data = file.subspan(at + 8, length);
        REQUIRE(crc32(0, reinterpret_cast<const Bytef*>(file.data()) + at + 4,
                      static_cast<uInt>(length + 4)) == number(file, at + 8 + length));
        if (name == "IHDR") {
            d.width = number(data, 0);
            d.height = number(data, 4);
            REQUIRE(number(data, 8) == 0x08020000);
        }
        if (name == "IDAT") stream.insert(stream.end(), data.begin(), data.end());
        if (names.empty() || names.back() != name[1]) names += name[1];
        at += 12 + length;
    }
    CHECK(names == "HDE");
    std::vector<std::uint8_t> lines((3 * d.width + 1) * d.height);
    auto size = static_cast<uLongf>(lines.size());
    REQUIRE(uncompress(lines.data(), &size, reinterpret_cast<const Bytef*>(stream.data()),
                       static_cast<uLong>(stream.size())) == Z_OK);
    REQUIRE(size == lines.size());
    for (std::size_t y = 0; y < d.height; ++y) {
        const std::uint8_t* line = lines.data() + y * (3 * d.width + 1);
        REQUIRE(line[0] == 1);
        for (std::size_t x = 0; x < 3 * d.width; ++x)
            d.pixels.push_back(
                static_cast<std::uint8_t>(line[1 + x] + (x < 3 ? 0 : d.pixels[d.pixels.size() - 3])));
    }
    return d;
}

}  // namespace

TEST_CASE("a picture can be read back unchanged", "[png]") {
    // The last picture is larger than a chunk.
    const auto [width, height] = GENERATE(table<Index, Index>({{1, 1}, {3, 2}, {17, 5}, {300, 200}}));
    const auto pixels = random_pixels(width, height, 7);
    const auto d = decoded(written(width, height, pixels));
    CHECK(static_cast<Index>(d.width) == width);
    CHECK(static_cast<Index>(d.height) == height);
    CHECK(d.pixels == pixels);
}

TEST_CASE("a picture of one colour is small", "[png]") {
    const Index side = 1000;
    const std::vector<std::uint8_t> grey(static_cast<std::size_t>(3 * side * side), 128);
    CHECK(written(side, side, grey).size() < 10'000);
}
