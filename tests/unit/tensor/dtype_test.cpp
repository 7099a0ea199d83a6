#include "tensor/dtype.hpp"

#include <array>
#include <bit>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace attn;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// Evaluates binary16 by its definition, in double.
double f16_value(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -magnitude : magnitude;
}

}  // namespace

TEST_CASE("Every f16 has its value and survives f32", "[unit][dtype]") {
    for (std::uint32_t b = 0; b < 65536; ++b) {
        const auto bits = static_cast<std::uint16_t>(b);
        const float value = f16_to_f32(bits);
        if ((bits & 0x7c00) == 0x7c00) {
            if ((bits & 0x3ff) == 0)
                REQUIRE(value == (bits >> 15 ? -infinity : infinity));
            else
                REQUIRE(std::isnan(value));
        } else {
            REQUIRE(static_cast<double>(value) == f16_value(bits));
        }
        if (!std::isnan(value)) REQUIRE(f32_to_f16(value) == bits);
    }
}

TEST_CASE("Between two f16 the nearest is taken, halfway the even one", "[unit][dtype]") {
    for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
        const float low = f16_to_f32(bits), high = f16_to_f32(static_cast<std::uint16_t>(bits + 1));
        const float middle = low + (high - low) / 2;
        REQUIRE(f32_to_f16(middle) == bits + (bits & 1));
        REQUIRE(f32_to_f16(std::nextafter(middle, 0.0f)) == bits);
        REQUIRE(f32_to_f16(std::nextafter(middle, infinity)) == bits + 1);
        REQUIRE(f32_to_f16(-middle) == (0x8000 | (bits + (bits & 1))));
    }
}

TEST_CASE("f16 overflows to infinity from 65520 on", "[unit][dtype]") {
    CHECK(f16_to_f32(f32_to_f16(65504)) == 65504);
    CHECK(f16_to_f32(f32_to_f16(std::nextafter(65520.0f, 0.0f))) == 65504);
    CHECK(f16_to_f32(f32_to_f16(65520)) == infinity);
    CHECK(f16_to_f32(f32_to_f16(-1e30f)) == -infinity);
    CHECK(std::isnan(f16_to_f32(f32_to_f16(not_a_number))));
}

TEST_CASE("bf16 is the upper half of an f32, rounded to nearest even", "[unit][dtype]") {
    CHECK(f32_to_bf16(1.0f) == 0x3f80);
    CHECK(bf16_to_f32(0x3f80) == 1.0f);
    CHECK(f32_to_bf16(std::bit_cast<float>(0x3f808000u)) == 0x3f80);  // halfway, even below
    CHECK(f32_to_bf16(std::bit_cast<float>(0x3f818000u)) == 0x3f82);  // halfway, even above
    CHECK(f32_to_bf16(std::bit_cast<float>(0x3f808001u)) == 0x3f81);
    CHECK(bf16_to_f32(f32_to_bf16(std::numeric_limits<float>::max())) == infinity);
    CHECK(bf16_to_f32(f32_to_bf16(-infinity)) == -infinity);
    CHECK(std::isnan(bf16_to_f32(f32_to_bf16(not_a_number))));
    CHECK(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7f800001u)))));
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const float value = bf16_to_f32(static_cast<std::uint16_t>(bits));
        if (!std::isnan(value)) REQUIRE(f32_to_bf16(value) == bits);
    }
}

TEMPLATE_TEST_CASE("Elements of every type are widened from unaligned bytes", "[unit][dtype]", std::uint8_t,
                   std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::uint64_t,
                   std::int64_t, float, double) {
    const std::array<TestType, 3> values{TestType{1}, TestType{0}, static_cast<TestType>(-3)};
    const DType dtype = std::is_same_v<TestType, std::uint8_t>    ? DType::u8
                        : std::is_same_v<TestType, std::int8_t>   ? DType::i8
                        : std::is_same_v<TestType, std::uint16_t> ? DType::u16
                        : std::is_same_v<TestType, std::int16_t>  ? DType::i16
                        : std::is_same_v<TestType, std::uint32_t> ? DType::u32
                        : std::is_same_v<TestType, std::int32_t>  ? DType::i32
                        : std::is_same_v<TestType, std::uint64_t> ? DType::u64
                        : std::is_same_v<TestType, std::int64_t>  ? DType::i64
                        : std::is_same_v<TestType, float>         ? DType::f32
                                                                  : DType::f64;
    REQUIRE(byte_size(dtype) == sizeof(TestType));
    std::vector<std::byte> bytes(1 + sizeof values);
    std::memcpy(bytes.data() + 1, values.data(), sizeof values);
    std::array<float, 3> out{};
    convert_to_f32(dtype, std::span(bytes).subspan(1), out);
    for (std::size_t i = 0; i < out.size(); ++i) CHECK(out[i] == static_cast<float>(values[i]));
}

TEST_CASE("Every type has a name and a size", "[unit][dtype]") {
    CHECK(name(DType::bf16) == "bfloat16");
    CHECK(name(DType::boolean) == "bool");
    CHECK(byte_size(DType::boolean) == 1);
    CHECK(byte_size(DType::f16) == 2);
    convert_to_f32(DType::f32, {}, {});
}
