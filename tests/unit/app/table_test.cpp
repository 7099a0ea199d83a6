#include "app/table.hpp"

#include <catch_amalgamated.hpp>
#include <limits>

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

TEST_CASE("pasted text that is not a matrix is refused with the reason") {
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

namespace {

Table small_table() {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return {"Weights of a|b",
            {"The", "cat\n", "a_very_long_name"},
            {"The", "cat\n"},
            Matrix(2, 3, {0.5, 0.1, -infinity, 0.39, 0.2, 0.3})};
}

}  // namespace

TEST_CASE("a table is written for spreadsheets, as numbers alone or with names") {
    CHECK(table_text(small_table()) == "0.5\t0.1\t-inf\n0.39\t0.2\t0.3\n");
    CHECK(table_cells(small_table()) ==
          "\tThe\tcat \ta_very_long_name\nThe\t0.5\t0.1\t-inf\ncat \t0.39\t0.2\t0.3\n");
    CHECK(written_table(small_table(), "cells") == table_cells(small_table()));
}

TEST_CASE("a table is written in Markdown, where no name breaks it") {
    CHECK(written_table(small_table(), "markdown") ==
          "Weights of a\\|b\n\n"
          "| | The | cat  | a\\_very\\_long\\_name |\n"
          "| --- | ---: | ---: | ---: |\n"
          "| The | 0.500000 | 0.100000 | −∞ |\n"
          "| cat  | 0.390000 | 0.200000 | 0.300000 |\n");
}

TEST_CASE("a map in shades has five levels up to its largest number, and a legend") {
    CHECK(written_table(small_table(), "shades") ==
          "Weights of a|b\n\n"
          "     │ The     cat     a_very…\n"
          "─────┼────────────────────────\n"
          " The │ ███████ ░░░░░░░ ·······\n"
          "cat  │ ▓▓▓▓▓▓▓ ▒▒▒▒▒▒▒ ▓▓▓▓▓▓▓\n"
          "\n"
          "░ from 0.100   ▒ from 0.200   ▓ from 0.300   █ from 0.400   largest 0.500   · masked\n");
    // Magnitudes decide, and an all-zero map is blank.
    const Table scores{
        "Scores", {"0"}, {"0", "1", "2"}, Matrix(3, 1, {-2, 1.59, std::numeric_limits<double>::quiet_NaN()})};
    CHECK(table_shades(scores) ==
          "Scores\n\n  │ 0 \n──┼───\n0 │ ██\n1 │ ▓▓\n2 │ ??\n\n"
          "░ from 0.400   ▒ from 0.800   ▓ from 1.200   █ from 1.600   largest 2.000, whatever the sign\n");
    CHECK_THAT(table_shades({"Nothing", {"0"}, {"0"}, Matrix(1, 1)}),
               Catch::Matchers::ContainsSubstring("0 │   \n\n░ from 0.000"));
    // If there are many columns, they have numbers.
    Table wide{"Wide", {}, {"q"}, Matrix(1, 40)};
    for (int i = 0; i < 40; ++i) wide.columns.push_back("name");
    CHECK_THAT(table_shades(wide), Catch::Matchers::ContainsSubstring("│ 0   1   2 "));
}
