// Checks the most extreme tokens along a direction against a sort of all tokens.
#include "analysis/heads/token_directions.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <numeric>

#include "model/explain.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;

namespace {

constexpr Index token_width = 6, token_count = 30'000;  // several steps

WeightView view_of(const Tensor& rows, WeightView::Layout layout) {
    const bool by_token = layout == WeightView::Layout::out_in;
    return {.data = reinterpret_cast<const std::byte*>(rows.data()),
            .dtype = DType::f32,
            .in = rows.dim(by_token ? 1 : 0),
            .out = rows.dim(by_token ? 0 : 1),
            .layout = layout};
}

double along(std::vector<double> row, const std::vector<double>& direction, const NormView* norm) {
    if (norm) {
        const double mean = std::accumulate(row.begin(), row.end(), 0.0) / token_width;
        double variance = 0;
        for (const double each : row) variance += (each - mean) * (each - mean) / token_width;
        for (std::size_t b = 0; b < row.size(); ++b)
            row[b] = (row[b] - mean) / std::sqrt(variance + static_cast<double>(norm->epsilon)) *
                         static_cast<double>(norm->gain[b]) +
                     static_cast<double>(norm->bias[b]);
    }
    return std::inner_product(row.begin(), row.end(), direction.begin(), 0.0);
}

}  // namespace

TEST_CASE(
    "the most extreme tokens along a direction match a sorted vocabulary, whatever its layout and norm") {
    const std::vector<double> direction{0.5, -1, 0.25, 2, 0, -0.75};
    const std::vector<float> gain{1, 2, 0.5f, 1, 1, 3}, bias{0, 0.1f, -0.2f, 0, 1, 0};
    const NormView norm{NormView::Kind::layer, gain, bias, 1e-5f};
    for (const auto layout : {WeightView::Layout::out_in, WeightView::Layout::in_out})
        for (const NormView* by : {static_cast<const NormView*>(nullptr), &norm}) {
            const bool by_token = layout == WeightView::Layout::out_in;
            const Tensor rows = random_tensor(
                by_token ? Shape{token_count, token_width} : Shape{token_width, token_count}, 3);
            const WeightView vocabulary = view_of(rows, layout);
            TokenDirections found(vocabulary, by ? std::optional(*by) : std::nullopt, direction, 4);
            while (found.step()) continue;
            std::vector<std::pair<double, std::int32_t>> all;
            for (Index token = 0; token < token_count; ++token) {
                std::vector<double> row;
                for (Index b = 0; b < token_width; ++b) row.push_back(element(vocabulary, b, token));
                all.emplace_back(along(row, direction, by), static_cast<std::int32_t>(token));
            }
            std::ranges::sort(all);
            REQUIRE(found.highest().size() == 4);
            REQUIRE(found.lowest().size() == 4);
            for (std::size_t i = 0; i < 4; ++i) {
                CHECK(found.lowest()[i].id == all[i].second);
                CHECK(found.highest()[i].id == all[all.size() - 1 - i].second);
                // Six products in f32.
                CHECK(std::abs(static_cast<double>(found.lowest()[i].along) - all[i].first) < 1e-4);
                const auto row = found.row(found.highest()[i].id);
                double sum = 0;
                for (std::size_t b = 0; b < row.size(); ++b)
                    sum += static_cast<double>(row[b]) * direction[b];
                CHECK(std::abs(sum - static_cast<double>(found.highest()[i].along)) < 1e-4);
            }
        }
}

TEST_CASE("a vocabulary smaller than the request is returned whole") {
    const Tensor rows({2, 1}, std::vector<float>{1, -1});
    TokenDirections found(view_of(rows, WeightView::Layout::out_in), {}, std::vector<double>{1}, 6);
    CHECK_FALSE(found.step());
    REQUIRE(found.highest().size() == 2);
    CHECK(found.highest()[0].id == 0);
    CHECK(found.lowest()[0].id == 1);
}
