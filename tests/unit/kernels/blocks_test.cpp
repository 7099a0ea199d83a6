#include "tensor/blocks.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/table.hpp"
#include "support/blocks.hpp"
#include "support/kernels.hpp"
#include "tensor/random.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// A matrix as it lies in files, in panels, and widened.
struct Stored {
    std::vector<std::byte> bytes, panels;
    Tensor wide;
    WeightView view, in_panels, wide_view;

    Stored(DType dtype, Index in, Index out) : Stored(random_weights(dtype, in * out, 1), dtype, in, out) {}
    Stored(std::vector<std::byte> from, DType dtype, Index in, Index out)
        : bytes(std::move(from)), wide({out, in}) {
        convert_to_f32(dtype, bytes, wide.values());
        panels = bytes;
        put_into_panels(dtype, out, panels);
        view = {bytes.data(), dtype, in, out};
        in_panels = {.data = panels.data(),
                     .dtype = dtype,
                     .in = in,
                     .out = out,
                     .rows_in_panels = out / panel_rows * panel_rows,
                     .finite = true};
        wide_view = {reinterpret_cast<const std::byte*>(wide.data()), DType::f32, in, out};
    }
};

}  // namespace

TEST_CASE("Kernels widen weights to the last bit", "[unit][kernels][blocks]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const DType dtype = GENERATE(from_range(weight_types));
    INFO(kernels.name << ", " << name(dtype));
    // The rows of the identity select the inputs of each output, one after the other.
    const Index in = block_elements(dtype) == 256 ? 512 : 32 * 11, out = 37;
    const Stored w(dtype, in, out);
    Tensor identity({in, in}), picked({in, out}), one({1, out});
    for (Index k = 0; k < in; ++k) identity.matrix()(k, k) = 1;
    for (const WeightView& view : {w.view, w.in_panels}) {
        kernels.linear(identity.matrix(), view, {}, Activation::none, picked.matrix());
        for (Index k = 0; k < in; ++k) {
            kernels.linear(rows(identity.matrix(), {k, k + 1}), view, {}, Activation::none, one.matrix());
            for (Index o = 0; o < out; ++o) {
                INFO("input " << k << ", output " << o);
                REQUIRE(picked.matrix()(k, o) == w.wide.matrix()(o, k));
                REQUIRE(one.matrix()(0, o) == w.wide.matrix()(o, k));
            }
        }
    }
}

TEST_CASE("linear over stored weights has the bits of linear over their values", "[unit][kernels][blocks]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const DType dtype = GENERATE(from_range(weight_types));
    if (block_elements(dtype) > 1) return;  // Blocks scale sums.
    INFO(kernels.name << ", " << name(dtype));
    const Index block = std::max<Index>(block_elements(dtype), 11);
    for (const auto [n, blocks, out] : {std::array<Index, 3>{1, 1, 1},
                                        {1, 3, 129},
                                        {5, 3, 33},
                                        {1, 25, 301},
                                        {130, 9, 63},
                                        {40, 30, 200}}) {
        const Index in = block * blocks;
        const Stored w(dtype, in, out);
        const Tensor x = random_tensor({n, in}, 2), b = random_tensor({out}, 3);
        // Some of the outputs, which may begin within a panel.
        for (const Range some : {Range{0, out}, Range{out / 3, out}, Range{out / 2, out - out / 4}}) {
            const auto bias = b.values().subspan(static_cast<std::size_t>(some.begin),
                                                 static_cast<std::size_t>(some.size()));
            Tensor y({n, some.size()}), expected(y.shape()), one({1, some.size()});
            kernels.linear(x.matrix(), rows(w.wide_view, some), bias, Activation::gelu, expected.matrix());
            for (WeightView view : {w.view, w.in_panels}) {
                view = rows(view, some);
                kernels.linear(x.matrix(), view, bias, Activation::gelu, y.matrix());
                INFO(n << " " << in << " " << out << ", from " << some.begin << ", panels of "
                       << view.rows_in_panels);
                REQUIRE(y == expected);
                // A row alone, as in decoding.
                kernels.linear(rows(x.matrix(), {n - 1, n}), view, bias, Activation::gelu, one.matrix());
                for (Index o = 0; o < some.size(); ++o) REQUIRE(one.matrix()(0, o) == y.matrix()(n - 1, o));
            }
        }
    }
}

TEST_CASE("Blocks scale sums: alone, in panels and among many, a row has the same bits",
          "[unit][kernels][blocks]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const DType dtype = GENERATE(from_range(weight_types));
    if (block_elements(dtype) == 1) return;
    INFO(kernels.name << ", " << name(dtype));
    // A part of 32 is summed in 32 steps, and so are up to three for each part of 16. Each rounds by at most
    // 2⁻²⁴ of the magnitudes so far, which count what a type subtracts from its quants.
    const auto magnitude = [&](const WeightView& view, Index o, std::size_t k) {
        const WeightBlock block = block_of(view, o, static_cast<Index>(k));
        const std::size_t i = k % block.elements, part = i / block.part;
        const int subtracted = dtype == DType::q6_k ? 32 : dtype == DType::q3_k ? 4 : 0;
        return std::abs(double{block.scale[part]} * (block.quant[i] + subtracted)) +
               (subtracted > 0 ? std::abs(double{block.scale[part]}) * subtracted
                               : std::abs(double{block.offset[part]}));
    };
    for (const auto [n, blocks, out] :
         {std::array<Index, 3>{1, 1, 1}, {1, 2, 129}, {5, 3, 33}, {70, 2, 200}, {9, 11, 45}}) {
        const Index in = block_elements(dtype) * blocks;
        const Stored w(dtype, in, out);
        const Tensor x = random_tensor({n, in}, 2);
        for (const Range some : {Range{0, out}, Range{out / 3, out}, Range{out / 2, out - out / 4}}) {
            INFO(n << " " << in << " " << out << ", from " << some.begin);
            Tensor y({n, some.size()}), other(y.shape()), one({1, some.size()});
            kernels.linear(x.matrix(), rows(w.in_panels, some), {}, Activation::none, y.matrix());
            kernels.linear(x.matrix(), rows(w.view, some), {}, Activation::none, other.matrix());
            REQUIRE(y == other);
            for (const WeightView& view : {w.view, w.in_panels}) {
                kernels.linear(rows(x.matrix(), {n - 1, n}), rows(view, some), {}, Activation::none,
                               one.matrix());
                for (Index o = 0; o < some.size(); ++o) REQUIRE(one.matrix()(0, o) == y.matrix()(n - 1, o));
            }
            for (Index o = 0; o < some.size(); ++o) {
                double exact = 0, magnitudes = 0;
                for (std::size_t k = 0; k < static_cast<std::size_t>(in); ++k) {
                    const double value = x.matrix()(n - 1, static_cast<Index>(k));
                    exact += value * double{w.wide.matrix()(some.begin + o, static_cast<Index>(k))};
                    magnitudes += std::abs(value) * magnitude(w.view, some.begin + o, k);
                }
                const double steps = 64 + 3.0 * static_cast<double>(in) / 16;
                REQUIRE(std::abs(exact - double{y.matrix()(n - 1, o)}) <= steps * 0x1p-24 * magnitudes);
            }
        }
    }
}

TEST_CASE("Blocks are multiplied by vectors of any size", "[unit][kernels][blocks]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const DType dtype = GENERATE(from_range(weight_types));
    if (block_elements(dtype) == 1) return;
    INFO(kernels.name << ", " << name(dtype));
    const Stored w(dtype, 256, 35);
    Tensor x = random_tensor({2, 256}, 6), y({2, 35}), one({1, 35});
    // 2⁹⁰ is too large for quants where they lie.
    for (const float factor : {0x1p-100f, 0x1p-60f, 0x1p60f, 0x1p95f}) {
        INFO(factor);
        Tensor scaled = x;
        for (float& each : scaled.values()) each *= factor;
        kernels.linear(scaled.matrix(), w.in_panels, {}, Activation::none, y.matrix());
        kernels.linear(rows(scaled.matrix(), {1, 2}), w.in_panels, {}, Activation::none, one.matrix());
        for (Index o = 0; o < 35; ++o) REQUIRE(one.matrix()(0, o) == y.matrix()(1, o));
    }
    x.matrix()(1, 7) = std::numeric_limits<float>::infinity();
    kernels.linear(rows(x.matrix(), {1, 2}), w.in_panels, {}, Activation::none, one.matrix());
    for (Index o = 0; o < 35; ++o) CHECK_FALSE(std::isfinite(one.matrix()(0, o)));
}

TEST_CASE("From outputs back to inputs, stored weights have the bits of their values",
          "[unit][kernels][blocks]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const DType dtype = GENERATE(from_range(weight_types));
    INFO(kernels.name << ", " << name(dtype));
    const Index block = std::max<Index>(block_elements(dtype), 11);
    for (const auto [n, blocks, out] :
         {std::array<Index, 3>{1, 1, 1}, {1, 3, 300}, {70, 2, 33}, {3, 20, 300}}) {
        const Index in = block * blocks;
        const Stored w(dtype, in, out);
        for (const Range some : {Range{0, out}, Range{out / 3, out}}) {
            const auto back = [&](const WeightView& view) {
                Tensor d_x({n, in});
                kernels.linear(random_tensor({n, some.size()}, 4).matrix(), transposed(rows(view, some)), {},
                               Activation::none, d_x.matrix());
                return d_x;
            };
            INFO(n << " " << in << " " << out << ", from " << some.begin);
            REQUIRE(back(w.view) == back(w.wide_view));
            REQUIRE(back(w.in_panels) == back(w.wide_view));
        }
    }
}

TEST_CASE("Halves that are not finite, and vectors that are large, are multiplied as they are",
          "[unit][kernels][blocks]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const Index in = 40, out = 32;
    Stored w(DType::f16, in, out);
    Tensor x = random_tensor({1, in}, 5), y({1, out}), expected({1, out});
    const auto compare = [&] {
        kernels.linear(x.matrix(), w.in_panels, {}, Activation::none, y.matrix());
        kernels.linear(x.matrix(), w.wide_view, {}, Activation::none, expected.matrix());
        for (Index o = 0; o < out; ++o) {
            INFO(kernels.name << ", output " << o);
            if (std::isnan(expected.matrix()(0, o)))
                CHECK(std::isnan(y.matrix()(0, o)));
            else
                CHECK(y.matrix()(0, o) == expected.matrix()(0, o));
        }
    };
    x.matrix()(0, 3) = 1e30f;
    compare();
    x.matrix()(0, 3) = 1;
    for (const std::uint16_t bits : {std::uint16_t{0x7c00}, std::uint16_t{0xfc00}, std::uint16_t{0x7e00}}) {
        w = Stored(DType::f16, in, out);
        std::memcpy(w.bytes.data() + 2 * (5 * in + 7), &bits, sizeof bits);
        w = Stored(std::move(w.bytes), DType::f16, in, out);
        w.in_panels.finite = false;
        compare();
    }
}
