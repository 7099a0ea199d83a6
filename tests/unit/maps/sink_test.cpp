#include "maps/sink.hpp"

#include "support.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("Without the first key a map is the same except for that key", "[maps]") {
    for (const Mask& mask : all_masks(20, 33)) {
        const auto record = random_record(20, 33, masked_by(mask));
        for (const Stage stage : {Stage::scaled, Stage::weight}) {
            const MapPointer map = stage_map(record, 1, stage), without = without_first_key(map);
            CHECK(without->is_signed() == map->is_signed());
            const auto before = cells_of(*map), after = cells_of(*without);
            for (std::size_t i = 0; i < before.size(); ++i) {
                CAPTURE(i);
                CHECK(after[i] == (i % 33 == 0 ? masked_cell : before[i]));
            }
        }
    }
}

// Compares with the weights of the same keys with key 0 masked from the start: a softmax without it. The
// bound 2e-6 covers a division and two sums of 33 weights in f32, at values up to 1.
TEST_CASE("Renormalised weights equal those of a softmax without the first key", "[maps]") {
    for (const Mask& mask : all_masks(20, 33)) {
        const MapPointer weights = stage_map(random_record(20, 33, masked_by(mask)), 0, Stage::weight);
        const MapPointer expected = stage_map(
            random_record(20, 33, masked_by(mask & Mask::painted([] {
                                                PaintedBits bits{
                                                    1, 20, 33,
                                                    std::vector<std::uint8_t>(std::size_t{20} * 33, 1)};
                                                for (std::size_t row = 0; row < 20; ++row)
                                                    bits.allowed[row * 33] = 0;
                                                return bits;
                                            }()))),
            0, Stage::weight);
        const auto found = cells_of(*without_first_key(weights, weights)), wanted = cells_of(*expected);
        for (std::size_t i = 0; i < found.size(); ++i) {
            CAPTURE(i);
            if (wanted[i] == masked_cell)
                CHECK(found[i] == masked_cell);
            else
                CHECK(std::abs(found[i] - wanted[i]) <= 2e-6f);
        }
    }
}

TEST_CASE("Renormalised contributions are divided by the first key's complement", "[maps]") {
    const auto record = random_record(9, 9, masked_by(Mask::causal()));
    const MapPointer weights = stage_map(record, 0, Stage::weight),
                     map = contribution_map(record, 0, value_norms(*record, 0));
    const auto found = cells_of(*without_first_key(map, weights));
    for (Index i = 0; i < 9; ++i)
        for (Index j = 1; j <= i; ++j)
            CHECK(found[static_cast<std::size_t>(i * 9 + j)] == map->cell(i, j) / (1 - weights->cell(i, 0)));
}

TEST_CASE("A row that gives all to the first key is left with zeros", "[maps]") {
    // The scores of key 0 are so far above all others that its weight is 1 to the last bit.
    const std::vector<float> ones{1, 1, 1}, scores{200, 0, 0};
    Tensor q({1, 3, 1}, ones), k({1, 3, 1}, scores), v({1, 3, 1}, ones);
    const MapPointer weights = stage_map(record(std::move(q), std::move(k), std::move(v)), 0, Stage::weight);
    REQUIRE(weights->cell(0, 0) == 1);
    const auto found = cells_of(*without_first_key(weights, weights));
    CHECK(found[0] == masked_cell);
    CHECK(found[1] == 0);
    CHECK(found[2] == 0);
}

TEST_CASE("Its coverage and entropy cover the remaining keys", "[maps]") {
    const MapPointer weights = stage_map(random_record(12, 12, masked_by(Mask::causal())), 0, Stage::weight);
    const MapPointer map = without_first_key(weights, weights);
    CHECK(map->coverage({0, 1}, {0, 12}) != Coverage::all);
    CHECK(map->coverage({5, 9}, {0, 1}) == Coverage::none);
    CHECK(map->coverage({5, 9}, {0, 3}) == Coverage::some);
    CHECK(map->coverage({5, 9}, {1, 3}) == Coverage::all);
    CHECK(map->coverage({1, 3}, {6, 9}) == Coverage::none);

    std::vector<float> cells(12 * 12);
    std::vector<double> entropies(12);
    map->cells(whole(*map), {cells.data(), 12, 12, 12}, entropies);
    const auto check_entropies = [&](double bound) {
        for (std::size_t i = 1; i < 12; ++i) {
            double expected = 0;
            for (std::size_t j = 1; j <= i; ++j)
                expected -=
                    static_cast<double>(cells[i * 12 + j]) * std::log(static_cast<double>(cells[i * 12 + j]));
            CHECK(std::abs(entropies[i] - expected) <= bound);
        }
    };
    check_entropies(1e-12);
    // If the others are not renormalised, the kernels sum their entropy, in f32.
    entropies.assign(12, 0);
    without_first_key(weights)->cells(whole(*map), {cells.data(), 12, 12, 12}, entropies);
    check_entropies(1e-6);
}
