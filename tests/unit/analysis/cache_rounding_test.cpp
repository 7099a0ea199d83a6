#include "analysis/theory/cache_rounding.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "tensor/dtype.hpp"
#include "tensor/random.hpp"

using namespace attn;

namespace {

Tensor cache_rows_of(Random& random, Index tokens, Index channels, double size) {
    Tensor rows({tokens, channels});
    for (float& value : rows.values()) value = static_cast<float>(size * random.normal());
    return rows;
}

double as_half(double value) {
    return static_cast<double>(f16_to_f32(f32_to_f16(static_cast<float>(value))));
}

// Applies KIVI's formula, number by number in double, given the members of its group.
double read_back(double number, const std::vector<double>& members, Index bits) {
    const double least = *std::ranges::min_element(members), most = *std::ranges::max_element(members);
    const double codes = std::pow(2.0, static_cast<double>(bits)) - 1, step = as_half((most - least) / codes);
    if (step == 0) return as_half(least);
    return as_half(least) + step * std::clamp(std::round((number - as_half(least)) / step), 0.0, codes);
}

}  // namespace

TEST_CASE("keys are rounded by channel and values by token, following the formula", "[analysis]") {
    Random random(5);
    for (const Index bits : {4, 8})
        for (const double size : {1.0, 1e-3, 300.0})
            for (const Index channels : {6, 7, 1}) {
                const CacheRounding rounding{bits, 4};
                CAPTURE(bits, size, channels);
                const Tensor before = cache_rows_of(random, 4, channels, size);
                Tensor keys = before, values = before;
                round_keys(rounding, keys.matrix());
                round_values(rounding, values.matrix());
                for (Index t = 0; t < 4; ++t)
                    for (Index c = 0; c < channels; ++c) {
                        std::vector<double> column, row;
                        for (Index i = 0; i < 4; ++i)
                            column.push_back(static_cast<double>(before.matrix()(i, c)));
                        for (Index i = c / 4 * 4; i < std::min(c / 4 * 4 + 4, channels); ++i)
                            row.push_back(static_cast<double>(before.matrix()(t, i)));
                        const auto number = static_cast<double>(before.matrix()(t, c));
                        const auto check = [&](float kept, const std::vector<double>& members) {
                            const double step = as_half(
                                (*std::ranges::max_element(members) - *std::ranges::min_element(members)) /
                                static_cast<double>((1 << bits) - 1));
                            // In f32 the codes may differ where a number lies halfway between two codes.
                            CHECK(std::abs(static_cast<double>(kept) - read_back(number, members, bits)) <=
                                  (std::abs(std::fmod(std::abs(number) / step, 1.0) - 0.5) < 1e-3
                                       ? 1.01 * step
                                       : 1e-4 * size));
                        };
                        check(keys.matrix()(t, c), column);
                        check(values.matrix()(t, c), row);
                    }
            }
}

TEST_CASE("a rounded number is off by at most half a step plus f16's rounding", "[analysis]") {
    Random random(6);
    for (const Index bits : {4, 8}) {
        Tensor rows = cache_rows_of(random, 16, 12, 2);
        const Tensor before = rows;
        const CacheRounding rounding{bits, 16};
        round_keys(rounding, rows.matrix());
        for (Index t = 0; t < 16; ++t)
            for (Index c = 0; c < 12; ++c) {
                const RoundedGroup group = group_of_key(rounding, before.matrix(), t, c);
                const auto off = static_cast<double>(std::abs(rows.matrix()(t, c) - before.matrix()(t, c)));
                const auto step = static_cast<double>(group.step), least = static_cast<double>(group.least);
                // f16 has 11 bits: the smallest number and the largest code each have a relative error of
                // 2⁻¹¹.
                CHECK(off <=
                      step / 2 + (std::abs(least) + step * static_cast<double>(1 << bits)) / 2048 + 1e-6);
                const Index code = group.code(before.matrix()(t, c), bits);
                CHECK(code >= 0);
                CHECK(code < (Index{1} << bits));
                CHECK(rows.matrix()(t, c) == group.read(code));
            }
    }
}

TEST_CASE("equal or nearly equal numbers are kept, and f16 has no groups", "[analysis]") {
    const CacheRounding rounding{4, 3};
    Tensor same({3, 2});
    std::ranges::fill(same.values(), 0.75f);
    const Tensor before = same;
    round_keys(rounding, same.matrix());
    round_values(rounding, same.matrix());
    CHECK(same == before);
    Tensor close({3, 1}, std::vector<float>{1, 1 + 1e-7f, 1});
    round_keys(rounding, close.matrix());
    for (const float value : close.values()) CHECK(value == 1);
    Tensor halves({2, 2}, std::vector<float>{0.1f, 1000.3f, -1e-9f, 3});
    const Tensor exact = halves;
    round_keys({16, 8}, halves.matrix());
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(halves.values()[i] == f16_to_f32(f32_to_f16(exact.values()[i])));
}

TEST_CASE("tokens are rounded once their group is complete", "[analysis]") {
    const CacheRounding groups{4, 8};
    for (const auto& [position, rounded] : {std::pair{0, 0}, {7, 0}, {8, 8}, {15, 8}, {16, 16}})
        CHECK(groups.rounded_before(position) == rounded);
    CHECK(CacheRounding{16, 8}.rounded_before(7) == 7);
}
