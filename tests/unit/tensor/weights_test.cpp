#include "tensor/weights.hpp"

#include <catch_amalgamated.hpp>
#include <vector>

#include "support/blocks.hpp"
#include "tensor/random.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("Panels hold the bytes of their rows, and give them back", "[unit][tensor][weights]") {
    const DType dtype = GENERATE(from_range(weight_types));
    INFO(name(dtype));
    for (const auto [blocks, out] : {std::array<Index, 2>{1, 16}, {3, 37}, {2, 15}, {5, 64}}) {
        const Index in = blocks * block_elements(dtype);
        const std::vector<std::byte> in_rows = random_weights(dtype, in * out, 1);
        std::vector<std::byte> bytes = in_rows;
        put_into_panels(dtype, out, bytes);
        const Index rows_in_panels = out / panel_rows * panel_rows;
        CHECK((bytes == in_rows) == (rows_in_panels == 0 || in == 1));
        const WeightView before{.data = in_rows.data(), .dtype = dtype, .in = in, .out = out},
            after{
                .data = bytes.data(), .dtype = dtype, .in = in, .out = out, .rows_in_panels = rows_in_panels};
        for (Index row = 0; row < out; ++row)
            for (const Range some :
                 {Range{0, in}, Range{in / 3, in}, Range{in - 1, in}, Range{1, in / 2 + 1}}) {
                std::vector<float> a(static_cast<std::size_t>(some.size())), b(a.size());
                read_row(before, row, some.begin, a);
                read_row(after, row, some.begin, b);
                REQUIRE(a == b);
            }
        put_into_rows(dtype, out, bytes);
        CHECK(bytes == in_rows);
    }
}

TEST_CASE("A part of the rows of a matrix in panels begins anywhere", "[unit][tensor][weights]") {
    const Index in = 64, out = 50;
    const std::vector<std::byte> in_rows = random_weights(DType::q8_0, in * out, 2);
    std::vector<std::byte> bytes = in_rows;
    put_into_panels(DType::q8_0, out, bytes);
    const WeightView before{.data = in_rows.data(), .dtype = DType::q8_0, .in = in, .out = out},
        after{.data = bytes.data(), .dtype = DType::q8_0, .in = in, .out = out, .rows_in_panels = 48};
    for (const Range some : {Range{0, 50}, Range{5, 20}, Range{16, 32}, Range{47, 50}}) {
        const WeightView a = rows(before, some), b = rows(after, some);
        CHECK(b.out == some.size());
        for (Index row = 0; row < some.size(); ++row) {
            std::vector<float> of_a(static_cast<std::size_t>(in)), of_b(of_a.size());
            read_row(a, row, 0, of_a);
            read_row(b, row, 0, of_b);
            REQUIRE(of_a == of_b);
            REQUIRE(block_of(a, row, 40).quant == block_of(b, row, 40).quant);
        }
    }
}
