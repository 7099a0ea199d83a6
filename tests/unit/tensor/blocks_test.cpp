#include "tensor/blocks.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/random.hpp"

using namespace attn;

namespace {

std::vector<std::byte> in_eight_bits(std::span<const float> values) {
    std::vector<std::byte> blocks(bytes_of(DType::q8_0, std::ssize(values)));
    narrow_to_q8_0(values, blocks);
    return blocks;
}

}  // namespace

TEST_CASE("a value in 8 bits is off by half a step, plus the rounding of the step to f16",
          "[tensor][blocks]") {
    Random random(11);
    for (const float size : {1e-3f, 1.0f, 5e4f}) {
        std::vector<float> values(32 * 40), back(values.size());
        for (float& each : values) each = size * static_cast<float>(random.normal());
        const auto blocks = in_eight_bits(values);
        convert_to_f32(DType::q8_0, blocks, back);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::size_t first = i / 32 * 32;
            float most = 0;
            for (std::size_t k = first; k < first + 32; ++k) most = std::max(most, std::abs(values[k]));
            // A step is most / 127, within 2⁻¹¹ of it or, below f16's normal numbers, within 2⁻²⁵.
            const float step = most / 127, rounding = std::max(step * 0x1p-11f, 0x1p-25f);
            CHECK(std::abs(back[i] - values[i]) <= (step + rounding) / 2 + 127 * rounding);
        }
    }
}

TEST_CASE("zeros stay zeros in 8 bits, and multiples of the step are unchanged", "[tensor][blocks]") {
    std::vector<float> values(64), back(64);
    for (std::size_t i = 32; i < 64; ++i) values[i] = 0.25f * static_cast<float>(static_cast<int>(i) - 48);
    values[63] = 0.25f * 127;
    convert_to_f32(DType::q8_0, in_eight_bits(values), back);
    CHECK(back == values);
}

TEST_CASE("a number that 8 bits cannot hold makes its whole block NaN", "[tensor][blocks]") {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 1e7f}) {
        std::vector<float> values(64, 127 * 0x1p-7f), back(64);  // the step is 2⁻⁷
        values[7] = bad;                                         // 1e7 / 127 is beyond f16's range
        const auto blocks = in_eight_bits(values);
        CHECK_FALSE(has_finite_scales(DType::q8_0, std::span(blocks).first(34)));
        convert_to_f32(DType::q8_0, blocks, back);
        CHECK(std::ranges::all_of(std::span(back).first(32), [](float x) { return std::isnan(x); }));
        CHECK(std::ranges::all_of(std::span(back).last(32), [](float x) { return x == 127 * 0x1p-7f; }));
    }
}

TEST_CASE("elements are read from within blocks", "[tensor][blocks]") {
    Random random(3);
    for (const DType dtype :
         {DType::q4_0, DType::q5_1, DType::q8_0, DType::q3_k, DType::q6_k, DType::iq4_nl}) {
        const std::ptrdiff_t count = 3 * block_elements(dtype);
        std::vector<std::byte> bytes(bytes_of(dtype, count));
        for (std::byte& each : bytes) each = static_cast<std::byte>(random.bits() & 0x3f);  // finite scales
        std::vector<float> all(static_cast<std::size_t>(count));
        convert_to_f32(dtype, bytes, all);
        for (std::ptrdiff_t first = 0; first < count; first += 7)
            for (const std::ptrdiff_t length : {std::ptrdiff_t{1}, std::ptrdiff_t{40}, count - first}) {
                std::vector<float> some(static_cast<std::size_t>(std::min(length, count - first)));
                convert_to_f32(dtype, bytes.data(), first, some);
                CHECK(std::ranges::equal(
                    some, std::span(all).subspan(static_cast<std::size_t>(first), some.size())));
            }
    }
}
