#include "tensor/number_format.hpp"

#include <bit>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "io/json.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// Every number of a format in the order of its codes, as tests/golden/formats/generate.py writes them.
std::vector<std::uint64_t> table_of_bits(NumberFormat format) {
    std::vector<std::uint64_t> table;
    for (std::uint32_t code = 0; code < 1U << info(format).bits; ++code) {
        const double value = decoded(format, static_cast<std::uint16_t>(code));
        table.push_back(std::isnan(value) ? std::uint64_t{0x7ff8} << 48
                                          : std::bit_cast<std::uint64_t>(value));
    }
    return table;
}

// The code of a number that has been rounded to TF32: the upper 19 bits of an f32.
std::uint32_t tf32_code(double value) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 13;
}

}  // namespace

TEST_CASE("all numbers of 16 and of 8 bits are those of tables made from the definitions",
          "[golden][tensor]") {
    const auto golden = parse_json(read_file(source_dir() / "tests/golden/formats/formats.json"), "formats");
    REQUIRE(golden);
    for (const NumberFormat format : {NumberFormat::f16, NumberFormat::bf16}) {
        const auto table = table_of_bits(format);
        REQUIRE(table.size() == 65'536);
        CHECK(sha256(std::as_bytes(std::span(table))) ==
              (*golden)["sha256"][std::string(info(format).key)].get<std::string>());
    }
    for (const NumberFormat format : {NumberFormat::e5m2, NumberFormat::e4m3}) {
        const auto& expected = (*golden)["tables"][std::string(info(format).key)];
        const auto table = table_of_bits(format);
        REQUIRE(table.size() == expected.size());
        for (std::size_t code = 0; code < table.size(); ++code) {
            const double value = expected[code].is_string() ? std::stod(expected[code].get<std::string>())
                                                            : expected[code].get<double>();
            const std::uint64_t bits =
                std::isnan(value) ? std::uint64_t{0x7ff8} << 48 : std::bit_cast<std::uint64_t>(value);
            CAPTURE(info(format).key, code);
            CHECK(table[code] == bits);
        }
    }
}

TEST_CASE("doubles round to the codes that a search of the tables finds, midpoints too", "[golden][tensor]") {
    const auto golden = parse_json(read_file(source_dir() / "tests/golden/formats/formats.json"), "formats");
    REQUIRE(golden);
    const auto& formats = (*golden)["formats"];
    REQUIRE((*golden)["rounded"].size() > 1'000);
    for (const auto& each : (*golden)["rounded"]) {
        const double value = each[0].get<double>();
        for (std::size_t i = 0; i < formats.size(); ++i) {
            const NumberFormat format = *number_format(formats[i].get<std::string>());
            CAPTURE(value, info(format).key);
            const auto expected = each[i + 1].get<std::uint32_t>();
            if (format == NumberFormat::tf32)
                CHECK(tf32_code(rounded(format, value)) == expected);
            else
                CHECK(encoded(format, value) == expected);
        }
    }
}

TEST_CASE("numbers round to 16 bits as the conversions of files do", "[tensor]") {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto code = static_cast<std::uint16_t>(bits);
        const double f16 = decoded(NumberFormat::f16, code), bf16 = decoded(NumberFormat::bf16, code);
        const double known_f16 = f16_to_f32(code), known_bf16 = bf16_to_f32(code);
        REQUIRE((f16 == known_f16 || (std::isnan(f16) && std::isnan(known_f16))));
        REQUIRE((bf16 == known_bf16 || (std::isnan(bf16) && std::isnan(known_bf16))));
        if (!std::isnan(f16)) REQUIRE(encoded(NumberFormat::f16, f16) == code);
        if (!std::isnan(bf16)) REQUIRE(encoded(NumberFormat::bf16, bf16) == code);
    }
}

TEST_CASE("every number of a format rounds to itself, and a midpoint to the even one", "[tensor]") {
    for (const NumberFormat format :
         {NumberFormat::bf16, NumberFormat::f16, NumberFormat::e5m2, NumberFormat::e4m3}) {
        const int codes = 1 << (info(format).bits - 1);
        double before = 0;
        for (int code = 0; code < codes; ++code) {
            const double value = decoded(format, static_cast<std::uint16_t>(code));
            if (!std::isfinite(value)) break;
            REQUIRE(rounded(format, value) == value);
            REQUIRE(rounded(format, -value) == -value);
            REQUIRE(encoded(format, value) == code);
            if (code > 0) {
                const double middle = (before + value) / 2;
                REQUIRE(rounded(format, middle) == (code % 2 == 0 ? value : before));
                REQUIRE(rounded(format, std::nextafter(middle, value)) == value);
                REQUIRE(rounded(format, std::nextafter(middle, before)) == before);
            }
            before = value;
        }
        CHECK(before == info(format).largest);
    }
}

TEST_CASE("overflow is an infinity, or NaN where a format has none", "[tensor]") {
    CHECK(rounded(NumberFormat::f16, 65519) == 65504);
    CHECK(std::isinf(rounded(NumberFormat::f16, 65520)));
    CHECK(rounded(NumberFormat::e5m2, -1e9) == -std::numeric_limits<double>::infinity());
    CHECK(rounded(NumberFormat::e4m3, 464) == 448);
    CHECK(std::isnan(rounded(NumberFormat::e4m3, 464.01)));
    CHECK(encoded(NumberFormat::e4m3, std::numeric_limits<double>::quiet_NaN()) == 0x7f);
    CHECK(rounded(NumberFormat::tf32, 1 + 0x1p-11) == 1);
    CHECK(rounded(NumberFormat::tf32, 1 + 0x1.8p-10) == 1 + 0x1p-9);
}
