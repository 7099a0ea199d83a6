#include "tensor/blocks.hpp"

#include <catch_amalgamated.hpp>
#include <vector>

#include "kernels/table.hpp"
#include "support/kernels.hpp"
#include "tensor/random.hpp"

using namespace attn;
using namespace attn::test;

namespace {

constexpr std::array block_types{DType::q4_0, DType::q4_1, DType::q5_0,  DType::q5_1,
                                 DType::q8_0, DType::q2_k, DType::q3_k,  DType::q4_k,
                                 DType::q5_k, DType::q6_k, DType::iq4_nl};

// Returns where a block has its halves.
std::vector<std::size_t> halves_of(DType dtype) {
    switch (dtype) {
        case DType::q4_1:
        case DType::q5_1:
        case DType::q4_k:
        case DType::q5_k: return {0, 2};
        case DType::q2_k: return {80, 82};
        case DType::q3_k: return {108};
        case DType::q6_k: return {208};
        default: return {0};
    }
}

// Random bits, except that halves are below 2, so that nothing is infinite.
std::vector<std::byte> random_blocks(DType dtype, Index elements, std::uint64_t seed) {
    std::vector<std::byte> bytes(bytes_of(dtype, elements));
    Random random(seed);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits() >> 56);
    for (std::size_t block = 0; block < bytes.size(); block += byte_size(dtype))
        for (const std::size_t half : halves_of(dtype)) bytes[block + half + 1] &= std::byte{0xbf};
    return bytes;
}

struct Blocks {
    std::vector<std::byte> bytes;
    Tensor wide;
    WeightView view, wide_view;

    Blocks(DType dtype, Index in, Index out) : bytes(random_blocks(dtype, in * out, 1)), wide({out, in}) {
        widen_blocks(dtype, bytes, wide.values());
        view = {bytes.data(), dtype, in, out};
        wide_view = {reinterpret_cast<const std::byte*>(wide.data()), DType::f32, in, out};
    }
};

}  // namespace

TEST_CASE("Kernels widen blocks to the last bit", "[unit][kernels][blocks]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const DType dtype = GENERATE(from_range(block_types));
    INFO(kernels.name << ", " << name(dtype));
    // The rows of the identity select the inputs of each output, one after the other.
    const Index in = block_elements(dtype) == 32 ? 32 * 11 : 512, out = 37;
    const Blocks w(dtype, in, out);
    Tensor identity({in, in}), picked({in, out}), one({1, out});
    for (Index k = 0; k < in; ++k) identity.matrix()(k, k) = 1;
    kernels.linear(identity.matrix(), w.view, {}, Activation::none, picked.matrix());
    for (Index k = 0; k < in; ++k) {
        kernels.linear(rows(identity.matrix(), {k, k + 1}), w.view, {}, Activation::none, one.matrix());
        for (Index o = 0; o < out; ++o) {
            INFO("input " << k << ", output " << o);
            REQUIRE(picked.matrix()(k, o) == w.wide.matrix()(o, k));
            REQUIRE(one.matrix()(0, o) == w.wide.matrix()(o, k));
        }
    }
}

TEST_CASE("linear over blocks has the bits of linear over their values", "[unit][kernels][blocks]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const DType dtype = GENERATE(from_range(block_types));
    INFO(kernels.name << ", " << name(dtype));
    for (const auto [n, blocks, out] :
         {std::array<Index, 3>{1, 1, 1}, {1, 3, 129}, {5, 3, 33}, {1, 25, 301}, {130, 9, 63}}) {
        const Index in = block_elements(dtype) * blocks;
        const Blocks w(dtype, in, out);
        const Tensor x = random_tensor({n, in}, 2), b = random_tensor({out}, 3);
        Tensor y({n, out}), expected({n, out}), one({1, out});
        kernels.linear(x.matrix(), w.view, b.values(), Activation::gelu, y.matrix());
        kernels.linear(x.matrix(), w.wide_view, b.values(), Activation::gelu, expected.matrix());
        INFO(n << " " << in << " " << out);
        REQUIRE(y == expected);
        // A row alone, as in decoding.
        kernels.linear(rows(x.matrix(), {n - 1, n}), w.view, b.values(), Activation::gelu, one.matrix());
        for (Index o = 0; o < out; ++o) REQUIRE(one.matrix()(0, o) == y.matrix()(n - 1, o));
    }
}

TEST_CASE("From outputs back to inputs, blocks have the bits of their values", "[unit][kernels][blocks]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const DType dtype = GENERATE(from_range(block_types));
    INFO(kernels.name << ", " << name(dtype));
    for (const auto [n, blocks, out] : {std::array<Index, 3>{1, 1, 1}, {1, 3, 300}, {70, 2, 33}}) {
        const Index in = block_elements(dtype) * blocks;
        const Blocks w(dtype, in, out);
        const auto back = [&](WeightView view) {
            view.in = out;
            view.out = in;
            view.layout = WeightView::Layout::in_out;
            Tensor d_x({n, in});
            kernels.linear(random_tensor({n, out}, 4).matrix(), view, {}, Activation::none, d_x.matrix());
            return d_x;
        };
        INFO(n << " " << in << " " << out);
        REQUIRE(back(w.view) == back(w.wide_view));
    }
}
