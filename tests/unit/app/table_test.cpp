#include "app/table.hpp"

#include <catch_amalgamated.hpp>

using namespace attn;
using namespace attn::app;

TEST_CASE("pasted numbers: spreadsheets, CSV, NumPy") {
    const Matrix expected(2, 3, {1, -0.5, 2e3, 4, 5, 6});
    for (const char* text :
         {"1\t-0.5\t2000\n4\t5\t6\n", "1,-0.5,2e3\r\n4,5,6", "[[1. -0.5 2000.]\n [4. 5. 6.]]",
          "array([[1, -0.5, 2e3],\n       [4, 5, 6]])", "1 -.5 +2e3; 4 5 6"}) {
        INFO(text);
        const auto m = parse_numbers(text);
        REQUIRE(m);
        CHECK(*m == expected);
    }
    CHECK(parse_numbers("-inf inf")->at(0, 0) == -std::numeric_limits<double>::infinity());
}

TEST_CASE("pasted text that is no matrix is refused with its reason") {
    const auto refusal = [](const std::string& text) { return parse_numbers(text).error().message; };
    CHECK(refusal("") == "The pasted text holds no numbers.");
    CHECK(refusal(" \n;,[]") == "The pasted text holds no numbers.");
    CHECK(refusal("1 2\n3 four") == "'four' in row 2 of the pasted text is not a number.");
    CHECK(refusal("1 2\n3") == "Row 2 of the pasted text has 1 numbers, the first row has 2.");
    CHECK(refusal("nan") == "'nan' in row 1 of the pasted text is not a number.");
    std::string wide, tall;
    for (int i = 0; i < 65; ++i) {
        wide += "1 ";
        tall += "1\n";
    }
    CHECK(refusal(wide) == "The pasted rows hold more than 64 numbers.");
    CHECK(refusal(tall) == "The pasted text has 65 rows; 64 is the most.");
}
