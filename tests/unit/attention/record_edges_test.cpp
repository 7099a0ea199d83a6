// Tests the defined results of edge cases, both in the stages and in the output.

#include <catch_amalgamated.hpp>

#include "attention/record.hpp"
#include "support/kernels.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

SoftmaxPrecision generate_precision() {
    return GENERATE(SoftmaxPrecision::f32, SoftmaxPrecision::f64, SoftmaxPrecision::f16,
                    SoftmaxPrecision::bf16);
}

// With d_k = 1 and scale 1, a score is q · k. The values are `v`.
Record record_of(const Kernels& kernels, std::vector<float> q, std::vector<float> k, std::vector<float> v,
                 Mask mask = {}, SoftmaxPrecision precision = SoftmaxPrecision::f32) {
    AttentionSpec spec;
    spec.scale = 1;
    spec.mask = std::move(mask);
    spec.softmax_precision = precision;
    auto record = Record::run(Tensor({1, std::ssize(q), 1}, q), Tensor({1, std::ssize(k), 1}, k),
                              Tensor({1, std::ssize(k), std::ssize(v) / std::ssize(k)}, v), spec, kernels);
    REQUIRE(record);
    return *std::move(record);
}

std::vector<float> row(const Record& r, Stage stage, Index query) {
    std::vector<float> out(static_cast<std::size_t>(r.keys()));
    r.stage(stage, 0, {query, query + 1}, {0, r.keys()}, out);
    return out;
}

}  // namespace

TEST_CASE("A masked cell: −inf, weight 0, contribution 0, whatever key and value hold", "[unit][record]") {
    const float poison = GENERATE(infinity, -infinity, not_a_number);
    const Record r = record_of(generate_kernels(), {1, 1}, {1, poison}, {3, poison}, Mask::padding(1),
                               generate_precision());
    CHECK(row(r, Stage::masked, 0) == std::vector<float>{1, -infinity});
    CHECK(row(r, Stage::weight, 0) == std::vector<float>{1, 0});
    CHECK(row(r, Stage::contribution, 1) == std::vector<float>{3, 0});
    CHECK(r.output() == Tensor({1, 2, 1}, std::vector<float>{3, 3}));
}

TEST_CASE("A row without an allowed cell", "[unit][record]") {
    const Record r =
        record_of(generate_kernels(), {1, 1}, {1, 2}, {3, 4}, Mask::causal(-1), generate_precision());
    CHECK(row(r, Stage::masked, 0) == std::vector<float>{-infinity, -infinity});
    CHECK(row(r, Stage::weight, 0) == std::vector<float>{0, 0});
    CHECK(row(r, Stage::contribution, 0) == std::vector<float>{0, 0});
    CHECK(row(r, Stage::weight, 1) == std::vector<float>{1, 0});
    CHECK(r.output() == Tensor({1, 2, 1}, std::vector<float>{0, 3}));
    CHECK(r.row_max().data()[0] == -infinity);
    CHECK(r.row_log_sum().data()[0] == -infinity);
}

TEST_CASE("A row of −inf scores, and +inf scores that share", "[unit][record]") {
    const Record r = record_of(generate_kernels(), {1, -1}, {-infinity, -infinity, 0}, {3, 5, infinity},
                               Mask::padding(3) & !Mask::window(-2, 2), generate_precision());
    CHECK(row(r, Stage::weight, 0) == std::vector<float>{0, 0, 0});
    CHECK(r.output().data()[0] == 0);
    const auto weights = row(r, Stage::weight, 1);
    CHECK_THAT(weights[0], WithinAbs(0.5, 1e-7));  // computed with the logarithm of the sum
    CHECK_THAT(weights[1], WithinAbs(0.5, 1e-7));
    CHECK(weights[2] == 0);
    CHECK(row(r, Stage::contribution, 1)[2] == 0);  // the value is infinite
    CHECK(r.output().data()[1] == 4);
}

TEST_CASE("A NaN score: its row NaN, masked cells still 0, other rows untouched", "[unit][record]") {
    const Record r = record_of(generate_kernels(), {1, not_a_number, 1}, {1, 1, 1}, {3, 3, 3},
                               Mask::padding(2), generate_precision());
    CHECK(row(r, Stage::weight, 0) == std::vector<float>{0.5f, 0.5f, 0});
    CHECK(row(r, Stage::weight, 2) == std::vector<float>{0.5f, 0.5f, 0});
    const auto weights = row(r, Stage::weight, 1);
    CHECK(std::isnan(weights[0]));
    CHECK(std::isnan(weights[1]));
    CHECK(weights[2] == 0);
    CHECK(r.output().data()[0] == 3);
    CHECK(std::isnan(r.output().data()[1]));
    CHECK(r.output().data()[2] == 3);
}

TEST_CASE("One NaN key makes all weights of the rows that see it NaN", "[unit][record]") {
    const Record r = record_of(generate_kernels(), {1, 1}, {1, not_a_number}, {3, 4}, Mask::causal());
    CHECK(row(r, Stage::weight, 0) == std::vector<float>{1, 0});
    for (float w : row(r, Stage::weight, 1)) CHECK(std::isnan(w));
    CHECK(r.output().data()[0] == 3);
    CHECK(std::isnan(r.output().data()[1]));
}

TEST_CASE("Large scores keep the weights of their differences", "[unit][record]") {
    const Kernels& kernels = generate_kernels();
    const float large = GENERATE(1e4f, -1e4f, 1e38f, -1e38f);
    const float above = large + std::abs(large) / 4096;  // 2.44 for 1e4
    const Record r = record_of(kernels, {1}, {large, large, above}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
    const double w = std::exp(static_cast<double>(above) - static_cast<double>(large));
    const double expected = std::isinf(w) ? 1 : w / (2 + w);
    const auto weights = row(r, Stage::weight, 0);
    CHECK_THAT(weights[2], WithinAbs(expected, 2e-7));
    CHECK_THAT(weights[0], WithinAbs((1 - expected) / 2, 2e-7));
    CHECK_THAT(r.output().data()[2], WithinAbs(expected, 2e-7));
    CHECK(r.row_max().data()[0] == above);
}

TEST_CASE("A saturated row", "[unit][record]") {
    const Record r = record_of(generate_kernels(), {1}, {100, 1, 1, 1}, {1, 2, 3, 4});
    const auto weights = row(r, Stage::weight, 0);
    CHECK(weights[0] == 1);
    for (int j = 1; j < 4; ++j)
        CHECK_THAT(weights[static_cast<std::size_t>(j)], WithinRel(std::exp(-99.0f), 0.01f));
    CHECK(r.output().data()[0] == 1);
}

TEST_CASE("Rows sum to one even if 10,000 keys share", "[unit][record]") {
    const Record r =
        record_of(generate_kernels(), {1}, std::vector<float>(10000, 3e4f), std::vector<float>(10000, 2));
    double sum = 0;
    for (float w : row(r, Stage::weight, 0)) sum += static_cast<double>(w);
    CHECK_THAT(sum, WithinAbs(1, 1e-6));
    CHECK_THAT(r.output().data()[0], WithinRel(2.0f, 1e-6f));
}

TEST_CASE("Empty sequences", "[unit][record]") {
    const Kernels& kernels = generate_kernels();
    const auto none = Record::run(Tensor({2, 0, 4}), Tensor({2, 3, 4}), Tensor({2, 3, 4}), {}, kernels);
    REQUIRE(none);
    CHECK(none->output().shape() == Shape{2, 0, 4});
    const auto blind =
        Record::run(random_tensor({2, 3, 4}, 1), Tensor({2, 0, 4}), Tensor({2, 0, 5}), {}, kernels);
    REQUIRE(blind);
    CHECK(blind->output() == Tensor({2, 3, 5}));
    blind->stage(Stage::weight, 0, {0, 3}, {0, 0}, {});
    const auto neither = Record::run(Tensor({1, 0, 1}), Tensor({1, 0, 1}), Tensor({1, 0, 0}), {}, kernels);
    REQUIRE(neither);
    CHECK(neither->output().size() == 0);
}

TEST_CASE("One token attends to itself entirely", "[unit][record]") {
    const Record r =
        record_of(generate_kernels(), {0.3f}, {5}, {7, -2}, Mask::causal(), generate_precision());
    CHECK(r.cell(Stage::weight, 0, 0, 0) == 1);
    CHECK(r.output() == Tensor({1, 1, 2}, std::vector<float>{7, -2}));
}

TEST_CASE("A soft cap of infinite scores", "[unit][record]") {
    AttentionSpec spec;
    spec.scale = 1;
    spec.softcap = 3;
    const auto r = Record::run(Tensor({1, 1, 1}, std::vector<float>{1}),
                               Tensor({1, 2, 1}, std::vector<float>{infinity, -infinity}),
                               Tensor({1, 2, 1}, std::vector<float>{1, 0}), spec, generate_kernels());
    REQUIRE(r);
    CHECK(row(*r, Stage::capped, 0) == std::vector<float>{3, -3});
    CHECK_THAT(r->output().data()[0], WithinRel(1 / (1 + std::exp(-6.0f)), 1e-6f));
}
