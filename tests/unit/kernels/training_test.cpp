// Compares cross-entropy, AdamW and the norm of a gradient with the reference in double.

#include <catch_amalgamated.hpp>

#include "support/backward.hpp"
#include "support/threads.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

struct Losses {
    Tensor gradient;
    std::vector<float> loss;
    bool operator==(const Losses&) const = default;
};

Losses cross_entropy(const BackwardKernels& kernels, const Tensor& logits, std::vector<std::int32_t> targets,
                     float weight = 1) {
    Losses result{logits, std::vector<float>(targets.size(), not_a_number)};
    kernels.cross_entropy(result.gradient.matrix(), targets, weight, result.loss);
    return result;
}

struct Weights {
    Tensor parameters, m, v;
    bool operator==(const Weights&) const = default;
};

Weights take_steps(const BackwardKernels& kernels, Index size, int steps, AdamW a) {
    Weights w{random_tensor({size}, 1), Tensor({size}), Tensor({size})};
    for (int step = 1; step <= steps; ++step) {
        a.correction1 = 1 - std::pow(a.beta1, static_cast<float>(step));
        a.correction2 = 1 - std::pow(a.beta2, static_cast<float>(step));
        const Tensor gradient = random_tensor({size}, static_cast<std::uint64_t>(100 + step), 0.1f);
        kernels.adamw(a, w.parameters.values(), gradient.values(), w.m.values(), w.v.values());
    }
    return w;
}

}  // namespace

TEST_CASE("Cross-entropy", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    for (Index n = 1; n <= 130; ++n) {
        const Tensor logits = random_tensor({3, n}, static_cast<std::uint64_t>(n), 4);
        const auto last = static_cast<std::int32_t>(n - 1);
        const std::vector<std::int32_t> targets{0, last, -1};
        const Losses actual = cross_entropy(kernels, logits, targets, 0.5f),
                     expected = cross_entropy(reference_backward(), logits, targets, 0.5f);
        // Weights are below 1, as in softmax; losses are below 30, with a few roundings of 2^-24 of that.
        REQUIRE_THAT(largest_difference(actual.gradient.values(), expected.gradient.values()),
                     WithinAbs(0, 3e-7));
        REQUIRE_THAT(largest_difference(actual.loss, expected.loss), WithinAbs(0, 4e-6));
        REQUIRE(actual.loss[2] == 0);
        for (Index c = 0; c < n; ++c) REQUIRE(actual.gradient.matrix()(2, c) == 0);
    }
}

TEST_CASE("Cross-entropy of large logits and of certainty", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_and_reference_backward()));
    const Tensor logits({2, 3}, std::vector<float>{1e30f, -1e30f, 0, 300, 0, -300});
    const Losses certain = cross_entropy(kernels, logits, {0, 0});
    CHECK(certain.gradient == Tensor({2, 3}));
    CHECK(certain.loss == std::vector<float>{0, 0});
    const Losses wrong = cross_entropy(kernels, logits, {2, 2});
    CHECK(wrong.gradient == Tensor({2, 3}, std::vector<float>{1, 0, -1, 1, 0, -1}));
    CHECK(wrong.loss == std::vector<float>{1e30f, 600});
}

TEST_CASE("A NaN logit shows in the loss", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_and_reference_backward()));
    Tensor logits = random_tensor({2, 20}, 2);
    logits.data()[GENERATE(0, 7, 19)] = GENERATE(not_a_number, infinity);
    const Losses losses = cross_entropy(kernels, logits, {3, 3});
    CHECK(std::isnan(losses.loss[0]));
    CHECK_FALSE(std::isnan(losses.loss[1]));
}

TEST_CASE("AdamW", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const AdamW a{.rate = 0.01f,
                  .beta2 = 0.95f,
                  .weight_decay = 0.1f,
                  .correction1 = 1,
                  .correction2 = 1,
                  .gradient_factor = GENERATE(1.0f, 0.3f)};
    for (const Index size : {0, 1, 3, 17, 64, 130, 20000}) {
        const int steps = GENERATE(1, 10);
        const Weights actual = take_steps(kernels, size, steps, a),
                      expected = take_steps(reference_backward(), size, steps, a);
        // Weights are below 5, and there are ten steps, each with a few roundings of 2^-24 of a
        // weight or of a step of 0.01.
        REQUIRE_THAT(largest_difference(actual.parameters.values(), expected.parameters.values()),
                     WithinAbs(0, 4e-6));
        REQUIRE_THAT(largest_difference(actual.m.values(), expected.m.values()), WithinAbs(0, 1e-7));
        REQUIRE_THAT(largest_difference(actual.v.values(), expected.v.values()), WithinAbs(0, 1e-7));
    }
}

TEST_CASE("AdamW by hand: the first step has the size of the rate, whatever the gradient",
          "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_and_reference_backward()));
    const AdamW a{.rate = 0.5f, .weight_decay = 0.25f, .correction1 = 0.1f, .correction2 = 0.001f};
    std::vector<float> p{4, 4, 4}, m(3), v(3);
    kernels.adamw(a, p, std::vector<float>{100, -0.01f, 0}, m, v);
    CHECK_THAT(p[0], WithinRel(3.0f, 1e-5f));  // 4 · (1 − 1/8) − 1/2
    CHECK_THAT(p[1], WithinRel(4.0f, 1e-5f));
    CHECK(p[2] == 3.5f);
}

TEST_CASE("The sum of squares", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    CHECK(kernels.sum_of_squares({}) == 0);
    for (const Index size : {1, 2, 17, 130, 5000, 40000}) {
        const Tensor x = random_tensor({size}, 3);
        // Sums of at most 64 vectors are in f32, and sums of these in double.
        CHECK_THAT(kernels.sum_of_squares(x.values()),
                   WithinRel(reference_backward().sum_of_squares(x.values()), 1e-6));
    }
}

TEST_CASE("A training step has the same bits for any number of threads", "[unit][kernels][threads]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const Tensor logits = random_tensor({100, 70}, 4, 3), x = random_tensor({40000}, 5);
    const std::vector<std::int32_t> targets(100, 7);
    const AdamW a{.rate = 0.01f, .weight_decay = 0.1f, .correction1 = 1, .correction2 = 1};
    const Threads one(1);
    const Losses losses = cross_entropy(kernels, logits, targets);
    const Weights weights = take_steps(kernels, 40000, 2, a);
    const double squares = kernels.sum_of_squares(x.values());
    const Threads several(GENERATE(2, 5));
    CHECK(cross_entropy(kernels, logits, targets) == losses);
    CHECK(take_steps(kernels, 40000, 2, a) == weights);
    CHECK(kernels.sum_of_squares(x.values()) == squares);
}
