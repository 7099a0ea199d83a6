#include "tensor/tensor.hpp"

#include <array>
#include <catch_amalgamated.hpp>
#include <cstdint>
#include <limits>

using namespace attn;

namespace {
constexpr Index largest = std::numeric_limits<Index>::max();
}

TEST_CASE("The elements of a shape are counted", "[unit][tensor]") {
    CHECK(*element_count({}) == 1);
    CHECK(*element_count({3, 4}) == 12);
    CHECK(*element_count({largest}) == largest);
    CHECK(*element_count({5, 0, 7}) == 0);
}

TEST_CASE("A dimension of 0 makes any shape empty, whatever the others are", "[unit][tensor]") {
    CHECK(*element_count({largest, largest, 0}, 8) == 0);
    CHECK(*element_count({0, largest, largest}, 8) == 0);
}

TEST_CASE("Shapes that no memory can hold are errors", "[unit][tensor]") {
    CHECK_FALSE(element_count({largest, 2}));
    CHECK_FALSE(element_count({largest / 4 + 1}, 4));
    CHECK_FALSE(element_count({2, -1}));
    CHECK(element_count({2, -1}).error().message == "shape 2×-1 has a negative dimension");
}

TEST_CASE("A shape is written as its dimensions", "[unit][tensor]") {
    CHECK(to_string(Shape{}) == "scalar");
    CHECK(to_string(Shape{7}) == "7");
    CHECK(to_string(Shape{2, 3, 4}) == "2×3×4");
}

TEST_CASE("A tensor begins as zeros, aligned to 64 bytes", "[unit][tensor]") {
    const Tensor t({3, 5});
    CHECK(t.size() == 15);
    CHECK(t == Tensor({3, 5}, std::array<float, 15>{}));
    CHECK(reinterpret_cast<std::uintptr_t>(t.data()) % 64 == 0);
}

TEST_CASE("Views see rows and heads of the same elements", "[unit][tensor]") {
    Tensor t({2, 2, 3});
    for (Index i = 0; i < t.size(); ++i) t.data()[i] = static_cast<float>(i);
    CHECK(t.heads().head(1)(0, 2) == 8);
    CHECK(std::as_const(t).heads().head(1).row(1) == t.data() + 9);

    Tensor m({2, 3});
    m.matrix()(1, 0) = 5;
    CHECK(std::as_const(m).matrix()(1, 0) == 5);
    CHECK(m.data()[3] == 5);
}

TEST_CASE("Tensors of equal values and different shapes differ", "[unit][tensor]") {
    CHECK_FALSE(Tensor({2, 3}) == Tensor({3, 2}));
}

TEST_CASE("A result holds a value or a sentence", "[unit][tensor]") {
    const Result<int> value = 3;
    const Result<int> error = Error{"no."};
    CHECK(value);
    CHECK(*value == 3);
    CHECK_FALSE(error);
    CHECK(error.error().message == "no.");
    CHECK(ok());
}
