// Compares softmax, norms, activations and rotary positions with the reference in double.

#include <catch_amalgamated.hpp>
#include <vector>

#include "support/kernels.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

// Applies both to the same values and returns their difference.
template <class F>
double difference(const Kernels& kernels, const Tensor& input, F apply) {
    Tensor actual = input, expected = input;
    apply(kernels, actual);
    apply(reference_kernels(), expected);
    return largest_difference(actual.values(), expected.values());
}

}  // namespace

TEST_CASE("softmax", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const auto apply = [](const Kernels& k, Tensor& x) { k.softmax(x.matrix()); };
    // Weights are at most 1: 2 ulp of exp, the sum and the quotient add up to less than 4 · 2^-24 = 2.4e-7.
    for (Index n : vector_lengths)
        REQUIRE_THAT(difference(kernels, random_tensor({3, n}, 1, 4), apply), WithinAbs(0, 3e-7));
    CHECK_THAT(difference(kernels, Tensor({4, 0}), apply), WithinAbs(0, 0));
}

TEST_CASE("softmax at the edges", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const auto softmax = [&](std::vector<float> row) {
        Tensor t({1, std::ssize(row)}, row);
        kernels.softmax(t.matrix());
        return std::vector<float>(t.values().begin(), t.values().end());
    };
    CHECK(softmax({5}) == std::vector<float>{1});
    CHECK(softmax({-infinity, -infinity}) == std::vector<float>{0, 0});
    CHECK(softmax({1, infinity, -infinity, infinity}) == std::vector<float>{0, 0.5f, 0, 0.5f});
    CHECK(softmax({3e38f, -3e38f}) == std::vector<float>{1, 0});
    CHECK(softmax({-1e38f, -1e38f}) == std::vector<float>{0.5f, 0.5f});
    for (float w : softmax({0, not_a_number, 1})) CHECK(std::isnan(w));
    for (float w : softmax({not_a_number, -infinity})) CHECK(std::isnan(w));
}

TEST_CASE("layer_norm", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    for (Index n : vector_lengths) {
        const Tensor gain = random_tensor({n}, 2), bias = random_tensor({n}, 3);
        const auto with_bias = [&](const Kernels& k, Tensor& x) {
            k.layer_norm(Tensor(x).matrix(), gain.values(), bias.values(), 1e-5f, x.matrix());
        };
        const auto without = [&](const Kernels& k, Tensor& x) {
            k.layer_norm(Tensor(x).matrix(), gain.values(), {}, 1e-5f, x.matrix());
        };
        // Inputs are normal: |y| stays below 10, with a few roundings of 6e-8 each; n = 2
        // divides by a small deviation.
        REQUIRE_THAT(difference(kernels, random_tensor({5, n}, 4), with_bias), WithinAbs(0, 1e-5));
        REQUIRE_THAT(difference(kernels, random_tensor({5, n}, 5), without), WithinAbs(0, 1e-5));
    }
}

TEST_CASE("layer_norm of a large mean loses only the input's precision", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    Tensor x = random_tensor({2, 100}, 6), gain({100});
    for (float& v : x.values()) v += 1000;
    for (float& g : gain.values()) g = 1;
    const auto apply = [&](const Kernels& k, Tensor& t) {
        k.layer_norm(Tensor(t).matrix(), gain.values(), {}, 1e-5f, t.matrix());
    };
    // The mean, in f32, is off by up to 3e-5 at 1000, and deviations are about 1.
    CHECK_THAT(difference(kernels, x, apply), WithinAbs(0, 1e-4));
}

TEST_CASE("rms_norm", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    for (Index n : vector_lengths) {
        const Tensor gain = random_tensor({n}, 7);
        const auto apply = [&](const Kernels& k, Tensor& x) {
            k.rms_norm(Tensor(x).matrix(), gain.values(), 1e-6f, x.matrix());
        };
        REQUIRE_THAT(difference(kernels, random_tensor({5, n}, 8), apply), WithinAbs(0, 3e-6));
    }
}

TEST_CASE("Norms of a constant row", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const Tensor x({1, 4}, std::vector<float>{3, 3, 3, 3});
    const std::vector<float> gain{1, 2, 3, 4}, bias{4, 3, 2, 1};
    Tensor y({1, 4});
    kernels.layer_norm(x.matrix(), gain, bias, 1e-5f, y.matrix());
    CHECK(y == Tensor({1, 4}, bias));
    kernels.rms_norm(Tensor({1, 4}).matrix(), gain, 1e-6f, y.matrix());
    CHECK(y == Tensor({1, 4}));
}

TEST_CASE("Weights come from the two numbers of their row", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    for (std::size_t n = 1; n <= 130; ++n) {
        const Tensor scores = random_tensor({static_cast<Index>(n)}, 20 + n);
        Tensor actual = scores, expected = scores;
        const float entropy = kernels.weights(actual.values(), 5, 1.25f),
                    expected_entropy = reference_kernels().weights(expected.values(), 5, 1.25f);
        REQUIRE_THAT(entropy, WithinRel(expected_entropy, 2e-6f));
        // Weights are below 1: exp is within 2 units of 2^-24, its argument within 2^-22, the sum within
        // 2^-23.
        REQUIRE_THAT(largest_difference(actual.values(), expected.values()), WithinAbs(0, 2e-6));
    }
}

TEST_CASE("Weights at the edges", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    std::vector<float> row{1, -infinity, not_a_number, infinity};
    const std::vector<float> two{infinity, 3, infinity};
    std::vector<float> shared = two;
    CHECK_THAT(kernels.weights(shared, infinity, std::log(2.0f)), WithinRel(std::log(2.0f), 1e-6f));
    CHECK_THAT(shared[2], WithinRel(0.5f, 1e-6f));
    kernels.weights(row, infinity, 0);  // +inf shares the row
    CHECK(row[0] == 0);
    CHECK(row[1] == 0);
    CHECK(std::isnan(row[2]));
    CHECK(row[3] == 1);
    row = {-infinity, -infinity};
    CHECK(kernels.weights(row, -infinity, -infinity) == 0);  // an empty row
    CHECK(row == std::vector<float>{0, 0});
    row = {1e38f, 1e38f - 1e32f};
    CHECK(kernels.weights(row, 1e38f, 0) == 0);
    CHECK(row == std::vector<float>{1, 0});
}

TEST_CASE("Soft cap of a row", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    for (std::size_t n = 1; n <= 130; ++n) {
        Tensor actual = random_tensor({static_cast<Index>(n)}, 20 + n, 4), expected = actual;
        kernels.soft_cap(actual.values(), 3);
        reference_kernels().soft_cap(expected.values(), 3);
        REQUIRE_THAT(largest_difference(actual.values(), expected.values()), WithinAbs(0, 1e-6));  // below 3
    }
}

TEST_CASE("Activations", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const auto activation =
        GENERATE(Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu);
    for (float x = -12; x <= 12; x += 0.0037f) {
        std::vector<float> actual{x}, expected{x};
        kernels.activate(activation, actual);
        reference_kernels().activate(activation, expected);
        // In the left tail, the exact gelu is a difference of numbers near 1, with an absolute error of 6e-8
        // · |x|/2.
        REQUIRE_THAT(actual[0],
                     WithinRel(expected[0], 2e-6f) || WithinAbs(static_cast<double>(expected[0]), 1e-6));
    }
}

TEST_CASE("Activations at the edges", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const auto activation =
        GENERATE(Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu);
    std::vector<float> x{0, infinity, not_a_number, 1e10f, -1e10f};
    kernels.activate(activation, x);
    CHECK(x[0] == 0);
    CHECK(x[1] == infinity);
    CHECK(std::isnan(x[2]));
    CHECK(x[3] == 1e10f);
    CHECK(x[4] == 0);
    kernels.activate(activation, {});
}

TEST_CASE("Activations have the same bits wherever an element stands", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const auto activation =
        GENERATE(Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu);
    const Tensor x = random_tensor({67}, 9, 3);
    Tensor all = x;
    kernels.activate(activation, all.values());
    for (std::size_t i = 0; i < 67; ++i) {
        std::vector<float> one{x.values()[i]};
        kernels.activate(activation, one);
        REQUIRE(one[0] == all.values()[i]);
    }
}

TEST_CASE("rope rotates pairs, in both layouts", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const bool interleaved = GENERATE(false, true);
    for (Index half : {1, 2, 5, 16, 32}) {
        const Tensor angles = random_tensor({6, half}, 10, 2);
        Tensor cosine({6, half}), sine({6, half});
        for (Index i = 0; i < angles.size(); ++i) {
            cosine.data()[i] = std::cos(angles.data()[i]);
            sine.data()[i] = std::sin(angles.data()[i]);
        }
        const Tensor x = random_tensor({6, 2 * half + 3}, 11);
        const auto apply = [&](const Kernels& k, Tensor& t) {
            k.rope(t.matrix(), std::as_const(cosine).matrix(), std::as_const(sine).matrix(), interleaved);
        };
        // These are two products and a sum of numbers below 5.
        REQUIRE_THAT(difference(kernels, x, apply), WithinAbs(0, 1e-6));

        Tensor turned = x;
        apply(kernels, turned);
        for (Index r = 0; r < 6; ++r) {
            double before = 0, after = 0;
            for (Index c = 0; c < 2 * half; ++c) {
                before += std::pow(x.matrix()(r, c), 2);
                after += std::pow(turned.matrix()(r, c), 2);
            }
            CHECK_THAT(after, WithinRel(before, 1e-6));  // a rotation keeps lengths
            for (Index c = 2 * half; c < x.dim(1); ++c) CHECK(turned.matrix()(r, c) == x.matrix()(r, c));
        }
    }
}

TEST_CASE("rope by hand: a quarter turn", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const Tensor cosine({1, 2}, std::vector<float>{0, 0}), sine({1, 2}, std::vector<float>{1, 1});
    Tensor half({1, 4}, std::vector<float>{1, 2, 3, 4}), interleaved = half;
    kernels.rope(half.matrix(), cosine.matrix(), sine.matrix(), false);
    CHECK(half == Tensor({1, 4}, std::vector<float>{-3, -4, 1, 2}));
    kernels.rope(interleaved.matrix(), cosine.matrix(), sine.matrix(), true);
    CHECK(interleaved == Tensor({1, 4}, std::vector<float>{-2, 1, -4, 3}));
}
