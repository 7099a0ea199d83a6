#include "io/zip_writer.hpp"

#include <catch_amalgamated.hpp>
#include <string>
#include <vector>

#include "support/files.hpp"

using namespace attn;
using attn::test::as_bytes;
using attn::test::read_file;

TEST_CASE("an archive equals what Python's zipfile writes, byte for byte", "[zip][golden]") {
    std::string every_byte;
    for (int i = 0; i < 3 * 256; ++i) every_byte += static_cast<char>(i & 0xff);
    const std::vector<ZipFile> entries{{"model/config.json", as_bytes("{\"a\": 1}\n")},
                                       {"model/every-byte", as_bytes(every_byte)},
                                       {"model/empty", {}},
                                       {"check", as_bytes("123456789")}};
    const auto expected = read_file(test::source_dir() / "tests/golden/io/zip/stored.zip");
    REQUIRE_FALSE(expected.empty());
    CHECK(write_zip(entries) == expected);
}

TEST_CASE("an empty archive is only its end", "[zip]") {
    const std::string end = std::string("PK\5\6") + std::string(18, '\0');
    CHECK(std::ranges::equal(write_zip({}), as_bytes(end)));
}

TEST_CASE("entries that come piece by piece give the same archive", "[zip]") {
    const std::string text = "{\"a\": 1}\n0123456789";
    const std::vector<ZipFile> entries{{"empty", {}}, {"text", as_bytes(text)}};
    ZipWriter zip;
    zip.begin("empty");
    zip.begin("text");
    for (const std::byte& byte : as_bytes(text)) zip.append({&byte, 1});
    CHECK(zip.finish() == write_zip(entries));
}
