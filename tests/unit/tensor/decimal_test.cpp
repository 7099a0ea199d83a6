// Tests numbers as decimals, beside std::to_chars.
#include "tensor/decimal.hpp"

#include <array>
#include <bit>
#include <catch_amalgamated.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "tensor/random.hpp"

using namespace attn;

namespace {

template <class Number>
std::string standard(Number value) {
    std::array<char, 64> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace

TEST_CASE("a number's shortest decimal is that of std::to_chars") {
    CHECK(shortest(0.1) == "0.1");
    CHECK(shortest(100000.0) == "1e+05");
    CHECK(shortest(123456.0) == "123456");
    CHECK(shortest(0.0001f) == "1e-04");
    CHECK(shortest(0.00012f) == "0.00012");
    CHECK(shortest(-0.0) == "-0");
    CHECK(shortest(-std::numeric_limits<double>::infinity()) == "-inf");
    CHECK(shortest(std::numeric_limits<float>::quiet_NaN()) == "nan");
    CHECK(shortest(123456792.0f) == "123456792");
    Random random(5);
    for (int i = 0; i < 100000; ++i) {
        const auto wide = std::bit_cast<double>(random.bits());
        const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
        if (std::isfinite(wide) && shortest(wide) != standard(wide)) {
            INFO(standard(wide));
            CHECK(shortest(wide).size() ==
                  standard(wide).size());  // a digit may differ where both are as near
            CHECK(std::strtod(shortest(wide).c_str(), nullptr) == wide);
        }
        if (std::isfinite(narrow) && shortest(narrow) != standard(narrow)) {
            INFO(standard(narrow));
            CHECK(shortest(narrow).size() == standard(narrow).size());
            CHECK(std::strtof(shortest(narrow).c_str(), nullptr) == narrow);
        }
    }
    // Numbers as people type them, and powers of two, above which numbers lie twice as far apart as below.
    for (int i = 0; i < 100000; ++i) {
        const double typed = std::round(random.normal() * 1e6) / std::pow(10.0, i % 9);
        CHECK(shortest(typed) == standard(typed));
        CHECK(shortest(static_cast<float>(typed)) == standard(static_cast<float>(typed)));
    }
    for (int exponent = -1070; exponent < 1023; ++exponent) {
        const double power = std::ldexp(1.0, exponent);
        CHECK(std::strtod(shortest(power).c_str(), nullptr) == power);
        CHECK(std::ssize(shortest(power)) <= std::ssize(standard(power)) + 1);
        const auto narrow = static_cast<float>(power);
        if (narrow > 0 && std::isfinite(narrow))
            CHECK(std::strtof(shortest(narrow).c_str(), nullptr) == narrow);
    }
}
