#include "io/csv.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "support/files.hpp"

using namespace attn;
using attn::test::as_bytes;

namespace {

using Labels = std::vector<std::string>;

CsvMatrix table(const std::string& text) {
    auto matrix = CsvReading(as_bytes(text)).finish();
    INFO(text);
    if (!matrix) INFO(matrix.error().message);
    REQUIRE(matrix);
    return *std::move(matrix);
}

std::string csv_refusal(const std::string& text) {
    const auto matrix = CsvReading(as_bytes(text)).finish();
    INFO(text);
    REQUIRE(!matrix);
    return matrix.error().message;
}

const Tensor two_by_three({2, 3}, std::vector<float>{0.5f, -1, 2e-3f, 0, 1, 3});

}  // namespace

TEST_CASE("numbers separated by each of the separators", "[csv]") {
    for (const std::string text : {
             "0.5,-1,2e-3\n0,1,3\n",
             "0.5;-1;2e-3\n0;1;3",
             "0.5\t-1\t2e-3\r\n0\t1\t3\r\n\r\n",
             "0.5 -1 2e-3\n0 1 3\n",
             "  0.5   -1  2E-3 \n\n 0 1\t3\n \n",
             "+0.5, -1.0, .002\n0., 1.000e+00, 3\n",
             "\xef\xbb\xbf\"0.5\",-1,2e-3\n0,\"1\",3\n",
             "0,5;-1;2e-3\n0;1,0;3\n",
             "0,5\t-1\t0,002\n0\t1\t3\n",
         }) {
        INFO(text);
        const CsvMatrix matrix = table(text);
        CHECK(matrix.values == two_by_three);
        CHECK(matrix.row_labels.empty());
        CHECK(matrix.column_labels.empty());
    }
    CHECK(table("1\n2\n3\n").values == Tensor({3, 1}, std::vector<float>{1, 2, 3}));
    CHECK(table("1,2").values == Tensor({1, 2}, std::vector<float>{1, 2}));
    CHECK(table("7").values == Tensor({1, 1}, std::vector<float>{7}));
    const CsvMatrix special = table("nan,inf\n-Infinity,NaN\n");
    CHECK(std::isnan(special.values.values()[0]));
    CHECK(special.values.values()[1] == INFINITY);
    CHECK(special.values.values()[2] == -INFINITY);
}

TEST_CASE("labels in the first row, the first column, or both", "[csv]") {
    const Labels columns{"a", "b", "c"}, rows{"x", "y"};
    for (const std::string text : {
             ",a,b,c\nx,0.5,-1,2e-3\ny,0,1,3\n",
             "token,a,b,c\nx,0.5,-1,2e-3\ny,0,1,3\n",
             "a b c\nx 0.5 -1 2e-3\ny 0 1 3\n",  // R's format
             "\ta\tb\tc\nx\t0.5\t-1\t2e-3\ny\t0\t1\t3\n",
             "\"\";\"a\";\"b\";\"c\"\n\"x\";0,5;-1;0,002\n\"y\";0;1;3\n",
         }) {
        INFO(text);
        const CsvMatrix matrix = table(text);
        CHECK(matrix.values == two_by_three);
        CHECK(matrix.row_labels == rows);
        CHECK(matrix.column_labels == columns);
    }
    CHECK(table("a,b,c\n0.5,-1,2e-3\n0,1,3\n").column_labels == columns);
    CHECK(table("a,b,c\n0.5,-1,2e-3\n0,1,3\n").row_labels.empty());
    CHECK(table("x,0.5,-1,2e-3\ny,0,1,3\n").row_labels == rows);
    CHECK(table("x,0.5,-1,2e-3\ny,0,1,3\n").column_labels.empty());
    // pandas writes tables like this: the empty corner turns numbers into labels.
    const CsvMatrix pandas = table(",0,1,2\n0,0.5,-1,2e-3\n1,0,1,3\n");
    CHECK(pandas.values == two_by_three);
    CHECK(pandas.row_labels == Labels{"0", "1"});
    CHECK(pandas.column_labels == Labels{"0", "1", "2"});
    // Most of the labels are not numbers.
    CHECK(table("the,2,cats,sat\n1,2,3,4\n").column_labels == Labels{"the", "2", "cats", "sat"});
    CHECK(table("the,1\n2,2\ncats,3\n").row_labels == Labels{"the", "2", "cats"});
}

TEST_CASE("labels in quotes", "[csv]") {
    const CsvMatrix matrix =
        table(",\",\",\"say \"\"hi\"\"\",\"two\nlines\"\n\";\",0.5,-1,2e-3\n\"\"\"\",0,1,3\n");
    CHECK(matrix.values == two_by_three);
    CHECK(matrix.column_labels == Labels{",", "say \"hi\"", "two\nlines"});
    CHECK(matrix.row_labels == Labels{";", "\""});
    // A separator that occurs only in some rows separates nothing, and blanks belong to a label.
    CHECK(table(" the,;,a b\n1,2,3\n").column_labels == Labels{" the", ";", "a b"});
    CHECK(table("x, \"a,b\"\n1,2\n").column_labels == Labels{"x", "a,b"});
    CHECK(table("it\"s,5\"\n1,2\n").column_labels == Labels{"it\"s", "5\""});
    CHECK(csv_refusal("a,b\n1,\"2\n3,4\n") == "this table has a quote in row 2 that is not closed");
}

TEST_CASE("an invalid table is refused with row and column", "[csv]") {
    CHECK(csv_refusal("") == "this table is empty");
    CHECK(csv_refusal(" \n\r\n\t") == "this table is empty");
    CHECK(csv_refusal("a,b\n") == "this table has labels but no row of numbers");
    CHECK(csv_refusal("1,2\n3,x\n") == "this table has 'x' in row 2, column 2, where a number should be");
    CHECK(csv_refusal("1,2\nx,4\n5,6\n") ==
          "this table has 'x' in row 2, column 1, where a number should be");
    CHECK(csv_refusal("1,2\n\n3,\n") ==
          "this table has nothing in row 3, column 2, where a number should be");
    CHECK(csv_refusal("1,2\n3\n") == "this table has 1 fields in row 2 where 2 stand above");
    CHECK(csv_refusal("1,2\n3,4,5\n") == "this table has 3 fields in row 2 where 2 stand above");
    CHECK(csv_refusal("a,b,c,d\n1,2\n") == "this table has 2 fields in row 2 where 4 stand above");
    CHECK(csv_refusal(",a,b\nx,1,2,3\n") == "this table has 4 fields in row 2 where 3 stand above");
    for (const std::string field :
         {"0x10", "1e999", "1.2.3", "1e", "--1", "1_000", "nano", "infinite", "1 2"})
        CHECK(csv_refusal("1,2\n3," + field + "\n") ==
              "this table has '" + field + "' in row 2, column 2, where a number should be");
    CHECK(csv_refusal("1,2\n3," + std::string(100, '1') + "\n").size() < 200);
}

TEST_CASE("a large table is read in slices", "[csv]") {
    std::string text;
    for (int row = 0; row < 300; ++row)
        for (int column = 0; column < 100; ++column)
            text += std::to_string(row) + "." + std::to_string(column) + (column == 99 ? "\n" : ",");
    CsvReading reading(as_bytes(text));
    int steps = 1;
    float progress = 0;
    while (reading.step()) {
        ++steps;
        CHECK(reading.progress() >= progress);
        progress = reading.progress();
    }
    CHECK(steps >= 20);
    const auto matrix = reading.finish();
    REQUIRE(matrix);
    CHECK(matrix->values.shape() == Shape{300, 100});
    CHECK(matrix->values.matrix()(299, 25) == 299.25f);
}

TEST_CASE("a header written by numpy.savetxt names the columns", "[csv]") {
    const Tensor two({2, 2}, std::vector<float>{0.5f, 0.5f, 1, 0});
    for (const std::string text :
         {"# the cat\n0.5 0.5\n1 0\n", "# the,cat\n0.5,0.5\n1,0\n", "# the\tcat\n0.5\t0.5\n1\t0\n",
          "# made by a script, in July\n# the cat\n0.5 0.5\n1 0\n# the end\n"}) {
        INFO(text);
        CHECK(table(text).values == two);
        CHECK(table(text).column_labels == Labels{"the", "cat"});
        CHECK(table(text).row_labels.empty());
    }
    // A line that does not fit is a comment.
    for (const std::string text :
         {"# attention of layer 0\n0.5 0.5\n1 0\n", "# from the middle layer\n0.5 0.5\n1 0\n"}) {
        INFO(text);
        CHECK(table(text).values == two);
        CHECK(table(text).column_labels.empty());
    }
    CHECK(csv_refusal("# the cat\n") == "this table is empty");
}

TEST_CASE("tokens that begin with # are ordinary labels", "[csv]") {
    const Tensor two({2, 2}, std::vector<float>{0.5f, 0.5f, 1, 0});
    CHECK(table("##s the\n0.5 0.5\n1 0\n").column_labels == Labels{"##s", "the"});
    CHECK(table("#the,cat\n0.5,0.5\n1,0\n").column_labels == Labels{"#the", "cat"});
    const CsvMatrix hashed = table("# the\n# 0.5 0.5\nthe 1 0\n");
    CHECK(hashed.values == two);
    CHECK(hashed.column_labels == Labels{"#", "the"});
    CHECK(hashed.row_labels == Labels{"#", "the"});
    const CsvMatrix alone = table("# 0.5 0.5\nthe 1 0\n");
    CHECK(alone.values == two);
    CHECK(alone.row_labels == Labels{"#", "the"});
    CHECK(table("# 0 1\n0.5 0.5\n1 0\n").column_labels == Labels{"0", "1"});
    const CsvMatrix quoted = table(",\"# x\",y\n\"# x\",0.5,0.5\ny,1,0\n");
    CHECK(quoted.values == two);
    CHECK(quoted.row_labels == Labels{"# x", "y"});
}
