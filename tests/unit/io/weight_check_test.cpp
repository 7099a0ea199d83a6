#include "io/weight_check.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace attn;

namespace {

std::vector<std::string> sentences(const Findings& findings, std::string_view what) {
    std::vector<std::string> all;
    for (const OddityTold& each : told(findings, what)) all.push_back(each.sentence);
    return all;
}

// Rows of [layers, heads, rows, columns], each 1/columns at first.
struct Weights {
    Shape shape;
    std::vector<float> values;

    explicit Weights(Shape s) : shape(std::move(s)) {
        values.assign(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]),
                      1 / static_cast<float>(shape[3]));
    }
    float& at(Index layer, Index head, Index row, Index column) {
        return values[static_cast<std::size_t>(((layer * shape[1] + head) * shape[2] + row) * shape[3] +
                                               column)];
    }
    void set_row(Index layer, Index head, Index row, float value) {
        for (Index j = 0; j < shape[3]; ++j) at(layer, head, row, j) = value;
    }
    ArrayView view() const {
        return {DType::f32, false, shape, row_major_strides(shape), std::as_bytes(std::span(values))};
    }
};

Findings check(std::vector<ArrayView> arrays, ValueChecking::Kind kind = ValueChecking::Kind::weights) {
    ValueChecking checking(std::move(arrays), kind);
    while (checking.step()) {
    }
    CHECK(checking.progress() == 1);
    return checking.findings();
}

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("proper weights give no remarks", "[weight_check]") {
    const Weights weights({2, 3, 5, 7});
    const Findings found = check({weights.view()});
    CHECK(found.rows == 30);
    CHECK(found.cells == 210);
    CHECK(sentences(found, "a.npy").empty());
}

TEST_CASE("odd weights are counted, and the first place named", "[weight_check]") {
    Weights weights({2, 3, 5, 7});
    weights.at(0, 1, 2, 3) = not_a_number;
    weights.at(0, 1, 2, 5) = not_a_number;
    weights.at(1, 0, 0, 6) = infinity;
    weights.at(0, 2, 4, 0) = 0.5f;  // sums to 1.357
    weights.set_row(1, 1, 1, 0);    // sees nothing
    weights.set_row(1, 2, 3, -1);   // sums to -7
    weights.at(1, 2, 4, 0) += 2;    // sums to one, with
    weights.at(1, 2, 4, 1) -= 2;    // a negative weight
    const Findings found = check({weights.view()});
    CHECK(found.nan.count == 2);
    CHECK(found.infinite.count == 1);
    CHECK(found.negative.count == 8);
    CHECK(found.unlike_one.count == 2);
    CHECK(found.zero.count == 1);
    CHECK(sentences(found, "a.npy") ==
          std::vector<std::string>{
              "a.npy: 2 of 210 numbers are NaN, the first at layer 0, head 1, row 2, column 3; shown as NaN.",
              "a.npy: 1 of 210 numbers is infinite, the first at layer 1, head 0, row 0, column 6.",
              "a.npy: 8 of 210 numbers are below zero, which no weight is, the first at layer 1, head 2, row "
              "3, column 0: -1.",
              "a.npy: 2 of 30 rows do not sum to 1, as attention weights do, the first at layer 0, head 2, "
              "row 4, which sums to 1.357; shown as they are.",
              "a.npy: 1 of 30 rows is zero: a query that looks at nothing, the first at layer 1, head 1, row "
              "1.",
          });
}

TEST_CASE("opposite infinities and mixed rows", "[weight_check]") {
    Weights weights({1, 1, 2, 4});
    weights.at(0, 0, 0, 0) = infinity;
    weights.at(0, 0, 0, 1) = -infinity;
    const Findings found = check({weights.view()});
    CHECK(found.nan.count == 0);
    CHECK(found.infinite.count == 2);
    CHECK(found.unlike_one.count == 0);
    CHECK(sentences(found, "a") ==
          std::vector<std::string>{"a: 2 of 8 numbers are infinite, the first at row 0, column 0."});
}

TEST_CASE("an array for each layer counts as layers", "[weight_check]") {
    Weights first({1, 2, 3, 4}), second({1, 2, 3, 4});
    second.set_row(0, 1, 2, 0.3f);
    const Findings found = check({first.view(), second.view()});
    CHECK(found.layers == 2);
    CHECK(found.rows == 12);
    CHECK(found.unlike_one.count == 1);
    CHECK(found.unlike_one.layer == 1);
    CHECK_THAT(found.unlike_one.value, Catch::Matchers::WithinRel(1.2, 1e-6));
}

TEST_CASE("values may be anything but NaN and infinite", "[weight_check]") {
    Weights values({1, 1, 3, 4});
    values.set_row(0, 0, 1, -5);
    values.at(0, 0, 2, 3) = not_a_number;
    const Findings found = check({values.view()}, ValueChecking::Kind::values);
    CHECK(sentences(found, "q.npy") ==
          std::vector<std::string>{
              "q.npy: 1 of 12 numbers is NaN, the first at row 2, column 3; shown as NaN."});
}

TEST_CASE("rounded softmax rows stay within the tolerance of their type", "[weight_check]") {
    // Rows of n equal weights are all rounded in the same direction, the worst case for a sum.
    const auto dtype = GENERATE(DType::f16, DType::bf16, DType::f32);
    double worst = 0;
    for (Index n = 1; n <= 2000; ++n) {
        float w = 1 / static_cast<float>(n);
        round_to(dtype, std::span(&w, 1));
        worst = std::max(worst, std::abs(static_cast<double>(n) * static_cast<double>(w) - 1));
    }
    CHECK(worst < row_sum_tolerance(dtype));
    if (dtype != DType::f32) CHECK(worst > row_sum_tolerance(dtype) / 4);  // not much wider than needed
    float w = 1.0f / 16384 * 1.001f;
    round_to(DType::f16, std::span(&w, 1));
    CHECK(std::abs(16384 * static_cast<double>(w) - 1.001) < 1e-3);
}

TEST_CASE("a large array is checked in slices, in any order of axes", "[weight_check]") {
    const Index rows = 600, columns = 1000;
    std::vector<std::uint16_t> halves(static_cast<std::size_t>(rows * columns), f32_to_f16(1e-3f));
    const Shape shape{1, 1, rows, columns};
    ArrayView view{DType::f16, false, shape, row_major_strides(shape), std::as_bytes(std::span(halves))};
    ValueChecking checking({view}, ValueChecking::Kind::weights);
    int steps = 1;
    while (checking.step()) ++steps;
    CHECK(steps == 3);
    CHECK(sentences(checking.findings(), "a").empty());
    view.shape = {1, 1, columns, rows};
    view.strides = {0, 0, 1, columns};  // transposed: rows sum to 0.6
    CHECK(check({view}).unlike_one.count == columns);
}
