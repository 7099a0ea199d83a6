#include "io/csv_writer.hpp"

#include <bit>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "io/csv.hpp"
#include "support/files.hpp"

using namespace attn;

TEST_CASE("a matrix is written according to RFC 4180", "[csv]") {
    const std::vector<std::string> columns{"the", "a,b", "say \"x\""};
    CsvWriter csv(columns);
    csv.row("1", std::vector{0.5f, -std::numeric_limits<float>::infinity(), 1e-10f});
    csv.row("", std::vector{1.0f, std::numeric_limits<float>::quiet_NaN(), 0.1f});
    CHECK(csv.text() == ",\"the\",\"a,b\",\"say \"\"x\"\"\"\r\n\"1\",0.5,-inf,1e-10\r\n\"\",1,nan,0.1\r\n");
}

TEST_CASE("a written matrix is read back, to the last bit", "[csv]") {
    const std::vector<std::string> columns{" of", "\"", "7", "\n"}, rows{"-1", "é", ";"};
    const std::vector<float> values{0.1f, 1 / 3.0f, 1e-45f, -3.4e38f, -std::numeric_limits<float>::infinity(),
                                    0,    16777216, -0.0f,  1e38f,    0.3f,
                                    2.5f, 1};
    CsvWriter csv(columns);
    for (std::size_t r = 0; r < rows.size(); ++r) csv.row(rows[r], std::span(values).subspan(4 * r, 4));
    const auto read = CsvReading(test::as_bytes(csv.text())).finish();
    REQUIRE(read);
    CHECK(read->row_labels == rows);
    CHECK(read->column_labels == columns);
    REQUIRE(read->values.shape() == Shape{3, 4});
    for (std::size_t i = 0; i < values.size(); ++i)
        CHECK(std::bit_cast<std::uint32_t>(read->values.values()[i]) ==
              std::bit_cast<std::uint32_t>(values[i]));
}
