#include "maps/merged.hpp"

#include "maps/pyramid.hpp"
#include "maps/sink.hpp"
#include "support.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// Makes groups of these sizes in turn, up to n.
std::vector<Range> groups(Index n, std::vector<Index> sizes) {
    std::vector<Range> found;
    for (std::size_t i = 0; found.empty() || found.back().end < n; ++i) {
        const Index begin = found.empty() ? 0 : found.back().end;
        found.push_back({begin, std::min(begin + sizes[i % sizes.size()], n)});
    }
    return found;
}

double counted(float cell) { return cell == masked_cell ? 0 : static_cast<double>(cell); }

}  // namespace

// The bound 1e-6 is for a sum in double of at most 9 cells of f32 up to 1, rounded once.
TEST_CASE("Merged cells are means over queries of sums over keys", "[maps]") {
    const auto queries = groups(20, {1, 3, 2}), keys = groups(33, {2, 1, 1, 3});
    for (const Mask& mask : all_masks(20, 33)) {
        const MapPointer map = stage_map(random_record(20, 33, masked_by(mask)), 1, Stage::weight),
                         merged = merged_map(map, queries, keys);
        REQUIRE(merged->queries() == std::ssize(queries));
        REQUIRE(merged->keys() == std::ssize(keys));
        const auto cells = cells_of(*merged);
        bool any = false, every = true;
        for (std::size_t i = 0; i < queries.size(); ++i)
            for (std::size_t j = 0; j < keys.size(); ++j) {
                double sum = 0;
                bool some = false;
                for (Index q = queries[i].begin; q < queries[i].end; ++q)
                    for (Index k = keys[j].begin; k < keys[j].end; ++k) {
                        const float cell = map->cell(q, k);
                        sum += counted(cell);
                        some |= cell != masked_cell;
                    }
                const float found = cells[i * keys.size() + j];
                CAPTURE(i, j);
                CHECK((found != masked_cell) == some);
                if (some)
                    CHECK(std::abs(static_cast<double>(found) -
                                   sum / static_cast<double>(queries[i].size())) <= 1e-6);
                any |= some;
                every &= some;
            }
        const Coverage coverage = merged->coverage({0, merged->queries()}, {0, merged->keys()});
        if (coverage == Coverage::none) CHECK(!any);
        if (coverage == Coverage::all) CHECK(every);
    }
}

// The bound is 2e-6 because the f32 weights of a row sum to 1 within that; merged cells are rounded once
// more.
TEST_CASE("Rows of merged weights sum to one", "[maps]") {
    const auto words = groups(150, {1, 2, 1, 1, 5, 3});
    const auto record = random_record(150, 150, masked_by(Mask::causal()));
    const MapPointer merged = merged_map(stage_map(record, 0, Stage::weight), words, words);
    const auto cells = cells_of(*merged);
    for (Index i = 0; i < merged->queries(); ++i) {
        double sum = 0;
        for (Index j = 0; j < merged->keys(); ++j)
            sum += counted(cells[static_cast<std::size_t>(i * merged->keys() + j)]);
        CHECK(std::abs(sum - 1) <= 2e-6);
    }
}

TEST_CASE("Words of one token leave a map unchanged", "[maps]") {
    const auto words = groups(90, {1});
    const MapPointer map = stage_map(random_record(90, 90, masked_by(Mask::window(9, 0))), 0, Stage::weight);
    CHECK(cells_of(*merged_map(map, words, words)) == cells_of(*map));
}

TEST_CASE("A merged cell has the same bits in every window, and the entropy is that of the cells", "[maps]") {
    const auto words = groups(200, {2, 1, 4, 70});  // longer than what is computed at once
    const MapPointer merged = merged_map(
        stage_map(random_record(200, 200, masked_by(Mask::causal())), 1, Stage::weight), words, words);
    const Index n = merged->queries();
    const auto all = cells_of(*merged);
    const auto cell = [&](Index i, Index j) { return all[static_cast<std::size_t>(i * n + j)]; };
    for (const MapWindow& window :
         {MapWindow{{1, n}, {2, n - 1}}, MapWindow{{0, n}, {0, n}, 3}, MapWindow{{3, 7}, {0, 1}, 2}}) {
        const auto found = cells_of(*merged, window);
        for (Index r = 0; r < window.rows(); ++r)
            for (Index j = 0; j < window.keys.size(); ++j)
                CHECK(found[static_cast<std::size_t>(r * window.keys.size() + j)] ==
                      cell(window.query(r), window.keys.begin + j));
    }
    std::vector<float> out(static_cast<std::size_t>(n * n));
    std::vector<double> entropies(static_cast<std::size_t>(n));
    merged->cells(whole(*merged), {out.data(), n, n, n}, entropies);
    for (Index i = 0; i < n; ++i) {
        double expected = 0;
        for (Index j = 0; j < n; ++j)
            if (const double w = counted(cell(i, j)); w > 0) expected -= w * std::log(w);
        // At most 11 terms, each rounded to f32 with a relative error of 2^-24.
        CHECK(std::abs(entropies[static_cast<std::size_t>(i)] - expected) <= 1e-6);
    }
}

TEST_CASE("A pyramid and the first key's removal take a merged map like any other", "[maps]") {
    const auto words = groups(700, {1, 2, 1});
    const MapPointer merged = merged_map(
        stage_map(random_record(700, 700, masked_by(Mask::causal())), 0, Stage::weight), words, words);
    const auto cells = cells_of(*merged);
    Pyramid pyramid(merged);
    while (pyramid.step()) {
    }
    const Index level = pyramid.coarsest(), side = Index{1} << level;
    const Tile& tile = pyramid.tile({level, 0, 0});
    for (Index row = 0; row < tile.rows; ++row)
        for (Index col = 0; col < tile.cols; ++col) {
            const auto place = static_cast<std::size_t>(row * tile.cols + col);
            const auto expected =
                brute_force(*merged, cells, {row * side, (row + 1) * side}, {col * side, (col + 1) * side});
            CHECK(agrees(tile.strongest[place], tile.mean[place], expected, side));
        }
    const auto sums = pyramid.sums();
    for (const double sum : sums.queries) CHECK(std::abs(sum - 1) <= 5e-6);

    const MapPointer without = without_first_key(merged, merged);
    CHECK(without->cell(5, 0) == masked_cell);
    CHECK(without->cell(5, 2) == merged->cell(5, 2) / (1 - merged->cell(5, 0)));
}
