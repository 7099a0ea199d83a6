#include <array>
#include <bit>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/table.hpp"
#include "support/kernels.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;

namespace {

// A weight matrix as a file holds it, deliberately misaligned.
struct StoredWeight {
    std::vector<std::byte> bytes;
    WeightView view;

    StoredWeight(const Tensor& values, DType dtype, Index in, Index out, WeightView::Layout layout)
        : bytes(1 + static_cast<std::size_t>(values.size()) * byte_size(dtype)) {
        std::byte* to = bytes.data() + 1;
        for (float v : values.values()) {
            const std::uint16_t half = dtype == DType::f16 ? f32_to_f16(v) : f32_to_bf16(v);
            if (dtype == DType::f32)
                std::memcpy(to, &v, sizeof v);
            else
                std::memcpy(to, &half, sizeof half);
            to += byte_size(dtype);
        }
        view = {bytes.data() + 1, dtype, in, out, layout};
    }
};

// For n products of standard-normal numbers, summed in f32 in blocks of 256: an element goes through at most
// 256 + n/256 roundings, each at most 2^-24 of a partial sum that almost always stays below 4√n. A fifth of
// that worst case leaves ample room: 1.1e-5 was seen for 130 and 5.3e-5 for 3072.
double sum_bound(Index n) {
    const double roundings = static_cast<double>(std::min<Index>(n, 256) + n / 256);
    return 1e-6 + 0.2 * roundings * 0x1p-24 * 4 * std::sqrt(static_cast<double>(n));
}

}  // namespace

TEST_CASE("linear is x W + b for either layout and every weight type", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const auto dtype = GENERATE(DType::f32, DType::f16, DType::bf16);
    const auto layout = GENERATE(WeightView::Layout::in_out, WeightView::Layout::out_in);
    for (const auto [n, in, out] : {std::array<Index, 3>{1, 1, 1},
                                    {3, 5, 7},
                                    {2, 64, 64},
                                    {5, 130, 129},
                                    {1, 65, 130},
                                    {130, 17, 63},
                                    {4, 300, 16},
                                    {2, 3072, 5}}) {
        const Tensor x = random_tensor({n, in}, 1), b = random_tensor({out}, 2);
        const StoredWeight w(random_tensor({in, out}, 3), dtype, in, out, layout);
        Tensor y({n, out}), expected({n, out});
        kernels.linear(x.matrix(), w.view, b.values(), Activation::none, y.matrix());
        reference_kernels().linear(x.matrix(), w.view, b.values(), Activation::none, expected.matrix());
        INFO(n << " " << in << " " << out);
        REQUIRE_THAT(largest_difference(y.values(), expected.values()), WithinAbs(0, sum_bound(in)));

        kernels.linear(x.matrix(), w.view, {}, Activation::none, y.matrix());
        reference_kernels().linear(x.matrix(), w.view, {}, Activation::none, expected.matrix());
        REQUIRE_THAT(largest_difference(y.values(), expected.values()), WithinAbs(0, sum_bound(in)));
    }
}

TEST_CASE("linear by hand: both layouts", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const Tensor x({1, 2}, std::vector<float>{1, 2}), w({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
    Tensor y({1, 3});
    const WeightView in_out{reinterpret_cast<const std::byte*>(w.data()), DType::f32, 2, 3,
                            WeightView::Layout::in_out};
    kernels.linear(x.matrix(), in_out, std::vector<float>{0, 0, 1}, Activation::none, y.matrix());
    CHECK(y == Tensor({1, 3}, std::vector<float>{9, 12, 16}));
    const WeightView out_in{reinterpret_cast<const std::byte*>(w.data()), DType::f32, 2, 3,
                            WeightView::Layout::out_in};
    kernels.linear(x.matrix(), out_in, {}, Activation::none, y.matrix());
    CHECK(y == Tensor({1, 3}, std::vector<float>{5, 11, 17}));
}

TEST_CASE("A row of linear has the same bits whichever rows are beside it", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const Index n = 7, in = 129, out = 83;
    const Tensor x = random_tensor({n, in}, 4), w = random_tensor({in, out}, 5), b = random_tensor({out}, 6);
    const WeightView weight{reinterpret_cast<const std::byte*>(w.data()), DType::f32, in, out,
                            WeightView::Layout::in_out};
    Tensor all({n, out});
    kernels.linear(x.matrix(), weight, b.values(), Activation::none, all.matrix());
    for (Index first = 0; first < n; ++first)
        for (Index count = 1; first + count <= n; ++count) {
            Tensor some({count, out});
            kernels.linear({x.matrix().row(first), count, in, in}, weight, b.values(), Activation::none,
                           some.matrix());
            REQUIRE(some ==
                    Tensor({count, out}, all.values().subspan(static_cast<std::size_t>(first * out),
                                                              static_cast<std::size_t>(count * out))));
        }
}

TEST_CASE("Halves of a vector's product keep infinity and NaN", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    // Among numbers of every size, including subnormal ones, each row except the last has one that is not
    // finite.
    const Index in = 43, out = 37;
    std::vector<std::uint16_t> halves;
    for (Index i = 0; i < in * out; ++i)
        halves.push_back(static_cast<std::uint16_t>((i * 977) % 0x7c00 | (i % 2) << 15));
    const std::array<std::uint16_t, 4> not_finite{0x7c00, 0xfc00, 0x7e00, 0x7c01};
    for (Index o = 0; o + 1 < out; ++o)
        halves[static_cast<std::size_t>(o * in + o % in)] = not_finite[static_cast<std::size_t>(o % 4)];
    const WeightView weight{reinterpret_cast<const std::byte*>(halves.data()), DType::f16, in, out};
    for (Index k = 0; k < in; ++k) {
        Tensor x({1, in}), y({1, out});
        x.data()[k] = 1;
        kernels.linear(x.matrix(), weight, {}, Activation::none, y.matrix());
        for (Index o = 0; o < out; ++o) {
            INFO("input " << k << ", output " << o);
            // 0 times a number that is not finite is NaN.
            const float half = f16_to_f32(halves[static_cast<std::size_t>(o * in + k)]);
            const bool beside = o + 1 < out && k != o % in;
            if (beside || std::isnan(half))
                REQUIRE(std::isnan(y.data()[o]));
            else
                REQUIRE(y.data()[o] == half);
        }
    }
}

TEST_CASE("A vector's product has the same bits alone and beside another", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const auto dtype = GENERATE(DType::f32, DType::f16, DType::bf16);
    // Products of these with halves and 2¹¹² overflow a float, or some of them, or none.
    const float large = GENERATE(0.0f, 4e4f, 7e4f, 1e30f, std::numeric_limits<float>::infinity());
    const bool finite = GENERATE(true, false);
    INFO(kernels.name << ", " << name(dtype) << ", " << large << ", " << finite);
    for (const auto [in, out] : {std::array<Index, 2>{8, 16}, {43, 37}, {256, 32}, {263, 17}, {769, 130}}) {
        Tensor x = random_tensor({2, in}, 14), weights = random_tensor({out, in}, 15);
        if (large > 0) x.matrix()(0, in / 2) = large;
        // The weights include zeros and subnormal halves.
        for (Index i = 0; i < weights.size(); i += 3) weights.data()[i] *= i % 2 == 0 ? 1e-5f : -0.0f;
        if (!finite) weights.matrix()(out / 2, in - 1) = -std::numeric_limits<float>::infinity();
        const StoredWeight w(weights, dtype, in, out, WeightView::Layout::out_in);
        Tensor both({2, out}), one({1, out});
        kernels.linear(x.matrix(), w.view, {}, Activation::none, both.matrix());
        kernels.linear(rows(x.matrix(), {0, 1}), w.view, {}, Activation::none, one.matrix());
        for (Index o = 0; o < out; ++o) {
            INFO(in << " inputs, output " << o << " of " << out);
            const float alone = one.data()[o], beside = both.data()[o];
            REQUIRE((std::isnan(beside)
                         ? std::isnan(alone)
                         : std::bit_cast<std::uint32_t>(alone) == std::bit_cast<std::uint32_t>(beside)));
        }
    }
}

TEST_CASE("linear with no rows or no inputs", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    Tensor none({0, 4});
    const std::vector<float> w(16), b{1, 2, 3, 4};
    const auto* bytes = reinterpret_cast<const std::byte*>(w.data());
    kernels.linear(Tensor({0, 4}).matrix(), {bytes, DType::f32, 4, 4}, b, Activation::none, none.matrix());
    Tensor y({2, 4});
    kernels.linear(Tensor({2, 0}).matrix(), {bytes, DType::f32, 0, 4}, b, Activation::none, y.matrix());
    CHECK(y == Tensor({2, 4}, std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4}));
}

TEST_CASE("linear applies the activation after the bias", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const auto activation =
        GENERATE(Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu);
    for (const auto [n, in, out] : {std::array<Index, 3>{1, 300, 70}, {3, 5, 7}, {70, 300, 130}}) {
        const Tensor x = random_tensor({n, in}, 11), b = random_tensor({out}, 12);
        const StoredWeight w(random_tensor({in, out}, 13), DType::f32, in, out, WeightView::Layout::out_in);
        Tensor fused({n, out}), apart({n, out}), expected({n, out});
        kernels.linear(x.matrix(), w.view, b.values(), activation, fused.matrix());
        kernels.linear(x.matrix(), w.view, b.values(), Activation::none, apart.matrix());
        kernels.activate(activation, apart.values());
        CHECK(fused == apart);
        reference_kernels().linear(x.matrix(), w.view, b.values(), activation, expected.matrix());
        // No activation has a derivative above 1.13.
        REQUIRE_THAT(largest_difference(fused.values(), expected.values()),
                     WithinAbs(0, 1.13 * sum_bound(in) + 1e-6));
    }
}

TEST_CASE("dot_products are Q Kᵀ", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    for (const auto [rows, cols, d] :
         {std::array<Index, 3>{1, 1, 1}, {1, 130, 3}, {130, 1, 64}, {65, 63, 33}, {2, 129, 128}, {3, 4, 0}}) {
        const Tensor q = random_tensor({rows, d}, 7), k = random_tensor({cols, d}, 8);
        Tensor scores({rows, cols}), expected({rows, cols});
        kernels.dot_products(q.matrix(), k.matrix(), scores.matrix());
        reference_kernels().dot_products(q.matrix(), k.matrix(), expected.matrix());
        INFO(rows << " " << cols << " " << d);
        REQUIRE_THAT(largest_difference(scores.values(), expected.values()), WithinAbs(0, sum_bound(d)));
    }
}

TEST_CASE("A dot product has the same bits in every window", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const Tensor q = random_tensor({9, 37}, 9), k = random_tensor({70, 37}, 10);
    Tensor all({9, 70}), one({1, 1});
    kernels.dot_products(q.matrix(), k.matrix(), all.matrix());
    for (Index i = 0; i < 9; ++i)
        for (Index j = 0; j < 70; ++j) {
            kernels.dot_products({q.matrix().row(i), 1, 37, 37}, {k.matrix().row(j), 1, 37, 37},
                                 one.matrix());
            REQUIRE(one.data()[0] == all.matrix()(i, j));
        }
}
