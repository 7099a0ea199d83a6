// Compares gradients of linear layers, norms, activations and embeddings with the reference in double.

#include "kernels/backward.hpp"

#include <catch_amalgamated.hpp>

#include "support/backward.hpp"
#include "support/threads.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

struct Gradients {
    Tensor d_x, d_weight, d_bias;
    bool operator==(const Gradients&) const = default;
};

void check(const Gradients& actual, const Gradients& expected, double bound_x, double bound_sums) {
    REQUIRE_THAT(largest_difference(actual.d_x.values(), expected.d_x.values()), WithinAbs(0, bound_x));
    REQUIRE_THAT(largest_difference(actual.d_weight.values(), expected.d_weight.values()),
                 WithinAbs(0, bound_sums));
    REQUIRE_THAT(largest_difference(actual.d_bias.values(), expected.d_bias.values()),
                 WithinAbs(0, bound_sums));
}

// The bound of a sum of n products of standard-normal numbers in blocks of 256, as in linear_test.cpp,
// on top of a number near 1.
double sum_bound_near_one(Index n) {
    const double roundings = static_cast<double>(std::min<Index>(n, 256) + n / 256);
    return 2e-6 + 0.2 * roundings * 0x1p-24 * 4 * std::sqrt(static_cast<double>(n));
}

Gradients linear(const BackwardKernels& kernels, Index n, Index in, Index out, WeightView::Layout layout) {
    const Tensor x = random_tensor({n, in}, 1), dy = random_tensor({n, out}, 2);
    const bool in_out = layout == WeightView::Layout::in_out;
    Gradients g{{}, random_tensor({in_out ? in : out, in_out ? out : in}, 3), random_tensor({out}, 4)};
    kernels.linear(x.matrix(), dy.matrix(), layout, g.d_weight.matrix(), g.d_bias.values());
    return g;
}

Gradients norm(const BackwardKernels& kernels, bool centred, const Tensor& x) {
    const Index n = x.dim(0), d = x.dim(1);
    const Tensor gain = random_tensor({d}, 5), dy = random_tensor({n, d}, 6);
    Gradients g{Tensor({n, d}), random_tensor({d}, 7), random_tensor({d}, 8)};
    if (centred)
        kernels.layer_norm(x.matrix(), gain.values(), 1e-2f, dy.matrix(), g.d_x.matrix(), g.d_weight.values(),
                           g.d_bias.values());
    else
        kernels.rms_norm(x.matrix(), gain.values(), 1e-2f, dy.matrix(), g.d_x.matrix(), g.d_weight.values());
    return g;
}

}  // namespace

TEST_CASE("The weight gradient of a linear layer, in either layout", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const auto layout = GENERATE(WeightView::Layout::in_out, WeightView::Layout::out_in);
    for (const auto [n, in, out] : {std::array<Index, 3>{1, 1, 1},
                                    {0, 3, 4},
                                    {3, 5, 7},
                                    {64, 64, 64},
                                    {130, 17, 63},
                                    {257, 65, 130},
                                    {600, 33, 5},
                                    {2, 300, 220},
                                    {5, 0, 3}}) {
        INFO("n " << n << ", in " << in << ", out " << out);
        check(linear(kernels, n, in, out, layout), linear(reference_backward(), n, in, out, layout), 0,
              sum_bound_near_one(n));
    }
}

TEST_CASE("The weight gradient of a linear layer of every size from 1 to 130", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    for (Index n = 1; n <= 130; ++n) {
        INFO(n);
        const Index in = 1 + n * 7 % 50, out = 131 - n;
        check(linear(kernels, n, in, out, WeightView::Layout::in_out),
              linear(reference_backward(), n, in, out, WeightView::Layout::in_out), 0, sum_bound_near_one(n));
    }
}

TEST_CASE("The input gradient of a linear layer is `linear` with the other layout", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const Index n = 9, in = 40, out = 33;
    const Tensor w = random_tensor({in, out}, 9), dy = random_tensor({n, out}, 10);
    Tensor dx({n, in}), expected({n, in});
    const auto* bytes = reinterpret_cast<const std::byte*>(w.data());
    // [in, out] is read as [out', in'] of a layer from `out` numbers to `in` numbers.
    kernels.linear(dy.matrix(), {bytes, DType::f32, out, in, WeightView::Layout::out_in}, {},
                   Activation::none, dx.matrix());
    for (Index i = 0; i < n; ++i)
        for (Index a = 0; a < in; ++a) {
            double sum = 0;
            for (Index o = 0; o < out; ++o)
                sum += static_cast<double>(dy.matrix()(i, o)) * static_cast<double>(w.matrix()(a, o));
            expected.matrix()(i, a) = static_cast<float>(sum);
        }
    CHECK_THAT(largest_difference(dx.values(), expected.values()), WithinAbs(0, sum_bound_near_one(out)));
}

TEST_CASE("Gradients of the norms", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const bool centred = GENERATE(false, true);
    for (const Index d : vector_lengths)
        for (const Index n : {1, 5, 130}) {
            INFO("n " << n << ", d " << d << (centred ? ", layer norm" : ", RMS norm"));
            const Tensor x = random_tensor({n, d}, 11);
            // Factors are at most 1/√epsilon = 10, with a few roundings of numbers below 10 each;
            // the sums have n of these.
            check(norm(kernels, centred, x), norm(reference_backward(), centred, x), 3e-5,
                  1e-5 + 5 * sum_bound_near_one(n));
        }
}

TEST_CASE("Gradients of the norms if only that of the input is wanted, in place", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_and_reference_backward()));
    const Tensor x = random_tensor({70, 33}, 11), gain = random_tensor({33}, 5);
    Tensor d = random_tensor({70, 33}, 6);
    kernels.layer_norm(x.matrix(), gain.values(), 1e-2f, d.matrix(), d.matrix(), {}, {});
    CHECK(d == norm(kernels, true, x).d_x);
    d = random_tensor({70, 33}, 6);
    kernels.rms_norm(x.matrix(), gain.values(), 1e-2f, d.matrix(), d.matrix(), {});
    CHECK(d == norm(kernels, false, x).d_x);
}

TEST_CASE("Gradients of a norm far from zero lose only the input's precision", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    Tensor x = random_tensor({3, 100}, 12);
    for (float& v : x.values()) v += 1000;
    // The mean, in f32, is off by up to 3e-5 at 1000, and deviations are about 1.
    check(norm(kernels, true, x), norm(reference_backward(), true, x), 5e-4, 5e-4);
}

TEST_CASE("Gradients of the activations", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const auto activation = GENERATE(Activation::none, Activation::relu, Activation::gelu,
                                     Activation::gelu_tanh, Activation::silu);
    std::vector<float> z;
    for (float x = -12; x <= 12; x += 0.0037f) z.push_back(x);
    const Tensor dy = random_tensor({std::ssize(z)}, 13);
    std::vector<float> actual(z.size()), expected(z.size());
    kernels.activate(activation, z, dy.values(), actual);
    reference_backward().activate(activation, z, dy.values(), expected);
    // 1 − s of the logistic forms is off by 6e-8, times up to 10 in that of gelu_tanh; |dy| stays below 5.
    // The largest difference seen is 3.6e-6.
    CHECK_THAT(largest_difference(actual, expected), WithinAbs(0, 6e-6));
    for (std::size_t n = 0; n <= 67; ++n) {  // in every position of a vector, and in place
        std::vector<float> some(dy.values().begin(), dy.values().begin() + static_cast<std::ptrdiff_t>(n));
        kernels.activate(activation, std::span(z).first(n), some, some);
        REQUIRE(std::ranges::equal(some, std::span(actual).first(n)));
    }
}

TEST_CASE("Gradients of the activations at the edges", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_and_reference_backward()));
    const auto activation =
        GENERATE(Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu);
    const std::vector<float> z{1e10f, -1e10f, 0}, dy{1, 1, 1};
    std::vector<float> dz(3);
    kernels.activate(activation, z, dy, dz);
    CHECK(dz == std::vector<float>{1, 0, activation == Activation::relu ? 0 : 0.5f});
}

TEST_CASE("Gradients of an embedding add up where an id repeats", "[unit][kernels]") {
    const Tensor dy({3, 2}, std::vector<float>{1, 2, 10, 20, 100, 200});
    Tensor d_table({4, 2}, std::vector<float>{0, 0, 0, 0, 0, 0, 5, 5});
    embedding_backward(std::vector<std::int32_t>{1, 3, 1}, dy.matrix(), d_table.matrix());
    CHECK(d_table == Tensor({4, 2}, std::vector<float>{0, 0, 101, 202, 0, 0, 15, 25}));
}

TEST_CASE("Gradients have the same bits for any number of threads", "[unit][kernels][threads]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const auto layout = GENERATE(WeightView::Layout::in_out, WeightView::Layout::out_in);
    const Tensor x = random_tensor({300, 70}, 14), z = random_tensor({40000}, 15),
                 dy = random_tensor({40000}, 16);
    const auto activated = [&] {
        Tensor dz({40000});
        kernels.activate(Activation::gelu, z.values(), dy.values(), dz.values());
        return dz;
    };
    const Threads one(1);
    const Gradients of_linear = linear(kernels, 300, 250, 390, layout),
                    of_layer_norm = norm(kernels, true, x), of_rms_norm = norm(kernels, false, x);
    const Tensor of_gelu = activated();
    const Threads several(GENERATE(2, 5));
    CHECK(linear(kernels, 300, 250, 390, layout) == of_linear);
    CHECK(norm(kernels, true, x) == of_layer_norm);
    CHECK(norm(kernels, false, x) == of_rms_norm);
    CHECK(activated() == of_gelu);
}
