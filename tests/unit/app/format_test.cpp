#include "app/format.hpp"

#include <bit>
#include <catch_amalgamated.hpp>
#include <cstdint>

#include "support/numbers.hpp"
#include "tensor/random.hpp"

using namespace attn::app;
using namespace attn::test;

TEST_CASE("shortest reads back to the same number") {
    CHECK(shortest(0.1) == "0.1");
    CHECK(shortest(-2.0) == "-2");
    CHECK(shortest(1e-7) == "1e-07");
    CHECK(shortest(-infinity) == "-inf");
    CHECK(shortest(0.8f) == "0.8");
    attn::Random random(1);
    for (int i = 0; i < 100'000; ++i) {
        const auto bits = random.bits();
        const auto value = std::bit_cast<double>(bits);
        const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        if (value == value) REQUIRE(read_number(shortest(value)) == value);
        if (single == single) REQUIRE(static_cast<float>(*read_number(shortest(single))) == single);
    }
}

TEST_CASE("rounded is as short as its neighbours") {
    CHECK(rounded(0.0004, 2) == "0.00");
    CHECK(rounded(-0.0004, 2) == "0.00");
    CHECK(rounded(-0.25, 2) == "-0.25");
    CHECK(rounded(1, 2) == "1.00");
    CHECK(rounded(not_a_number, 2) == "NaN");
    CHECK(rounded(-infinity, 2) == "−∞");
    CHECK(rounded(1e300, 2) == "1.0e+300");
}

TEST_CASE("fixed keeps a number readable") {
    CHECK(fixed(0.43275, 3) == "0.433");
    CHECK(fixed(-0.43275, 3) == "-0.433");
    CHECK(fixed(2, 2) == "2.00");
    CHECK(fixed(0, 3) == "0.000");
    CHECK(fixed(-0.0, 3) == "0.000");
    CHECK(fixed(0.0004, 3) == "4.0e-04");
    CHECK(fixed(-1e-43, 4) == "-1.00e-43");
    CHECK(fixed(1234567, 3) == "1.2e+06");
    CHECK(fixed(-1e300, 1) == "-1e+300");
    CHECK(fixed(infinity, 3) == "∞");
    CHECK(fixed(-infinity, 3) == "−∞");
    CHECK(fixed(not_a_number, 3) == "NaN");
}

TEST_CASE("the largest of some numbers says with how many digits they are written") {
    const auto written = [](double value, double largest, int usual) {
        return with_digits(value, digits_for(largest, usual));
    };
    CHECK(written(0.98, 0.98, 2) == "0.98");
    CHECK(written(12.5, 12.5, 2) == "12.50");
    CHECK(written(-0.021, 0.021, 3) == "-0.021");
    CHECK(written(-0.021, 0.021, 2) == "-0.0210");
    CHECK(written(0.00012, 0.0021, 3) == "0.00012");
    CHECK(written(1.53e-6, 1.53e-6, 3) == "1.53e-06");
    CHECK(written(0, 1.53e-6, 3) == "0");
    CHECK(written(-infinity, 1.53e-6, 3) == "−∞");
    CHECK(written(0, 0, 3) == "0.000");
    CHECK(written(1, infinity, 3) == "1.000");
    // Counts stay counts.
    CHECK(written(3, 3, 0) == "3");
    CHECK(fewest_digits(0.98, digits_for(0.98, 2)) == Digits{1});
    CHECK(fewest_digits(0.021, digits_for(0.021, 3)) == Digits{2});
    CHECK(fewest_digits(1.5e-6, digits_for(1.5e-6, 3)) == Digits{0, true});
    CHECK(fewest_digits(3, digits_for(3, 0)) == Digits{0});
}

TEST_CASE("read_number takes decimal numbers and infinities, nothing else") {
    CHECK(read_number("0.5") == 0.5);
    CHECK(read_number("-1e3") == -1000);
    CHECK(read_number("+.5") == 0.5);
    CHECK(read_number("1e-400") == 0);
    CHECK(read_number("inf") == infinity);
    CHECK(read_number("-inf") == -infinity);
    for (const char* text : {"", "banana", "nan", "-nan", "infinity", "0x10", " 1", "1 ", "1,5", "1e", "--1",
                             "1e999", "-1e999", "."})
        CHECK_FALSE(read_number(text));
    CHECK_FALSE(read_number(std::string(100, '1')));
}

TEST_CASE("many writes one and several") {
    CHECK(many(0, "token") == "0 tokens");
    CHECK(many(1, "token") == "1 token");
    CHECK(many(12, "layer") == "12 layers");
}

TEST_CASE("an axis writes powers of ten as people do") {
    CHECK(power_text(1e-8) == "10⁻⁸");
    CHECK(power_text(2e-5) == "2·10⁻⁵");
    CHECK(power_text(-5e6) == "-5·10⁶");
    CHECK(power_text(9.9999e12) == "10¹³");
}

TEST_CASE("sizes of errors have two digits, and a bound of them is rounded up") {
    CHECK(error_size(0) == "0");
    CHECK(error_size(3.14e-4) == "3.1e-4");
    CHECK(error_size(0.312) == "0.31");
    CHECK(error_size(123.4) == "123");
    CHECK(error_size(1.26e11) == "1.3e11");
    CHECK(error_size(infinity) == "∞");
    CHECK(two_digits_up(0) == 0);
    CHECK(two_digits_up(3.11e-4) == Catch::Approx(3.2e-4));
    CHECK(two_digits_up(3.1e-4) == Catch::Approx(3.1e-4));
}
