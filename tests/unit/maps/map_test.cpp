#include "maps/map.hpp"

#include <bit>
#include <cstring>

#include "kernels/backward.hpp"
#include "unit/maps/support.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

constexpr Stage all_stages[] = {Stage::raw,    Stage::scaled, Stage::capped,
                                Stage::masked, Stage::weight, Stage::contribution};

double dot(const float* x, const float* y, Index n) {
    double sum = 0;
    for (Index i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    return sum;
}

// Returns every cell of a stage in double, and masked_cell where it is masked.
std::vector<double> reference(const Record& r, Index head, Stage stage) {
    const ConstMatrix q = r.q().heads().head(head), k = r.k().heads().head(r.kv_head(head)),
                      v = r.v().heads().head(r.kv_head(head));
    const AttentionSpec& spec = r.spec();
    std::vector<double> all;
    for (Index i = 0; i < r.queries(); ++i) {
        std::vector<double> row, masked;
        double max = -HUGE_VAL, sum = 0;
        for (Index j = 0; j < r.keys(); ++j) {
            double s = dot(q.row(i), k.row(j), r.d_k());
            if (stage != Stage::raw) s *= static_cast<double>(r.scale());
            if (spec.softcap != 0 && stage != Stage::raw && stage != Stage::scaled) {
                const auto cap = static_cast<double>(spec.softcap);
                s = cap * std::tanh(s / cap);
            }
            const bool allowed = spec.mask.allows(head, i, j);
            const double bias = spec.bias.empty() ? 0 : static_cast<double>(spec.bias.at(head, i, j));
            row.push_back(allowed ? s : -HUGE_VAL);
            masked.push_back(allowed ? s + bias : -HUGE_VAL);
            max = std::max(max, masked.back());
        }
        if (stage == Stage::masked) row = masked;
        if (stage == Stage::weight || stage == Stage::contribution) {
            for (const double m : masked) sum += m == -HUGE_VAL ? 0 : std::exp(m - max);
            for (Index j = 0; j < r.keys(); ++j) {
                const double m = masked[static_cast<std::size_t>(j)];
                const double norm = stage == Stage::weight ? 1 : std::sqrt(dot(v.row(j), v.row(j), r.d_v()));
                row[static_cast<std::size_t>(j)] = m == -HUGE_VAL ? m : std::exp(m - max) / sum * norm;
            }
        }
        all.insert(all.end(), row.begin(), row.end());
    }
    return all;
}

// Returns the largest difference relative to the largest magnitude of the row's sums, which is what f32 can
// promise for a sum of products, or inf if only one of the two is masked.
double relative_difference(std::span<const float> actual, std::span<const double> expected) {
    REQUIRE(actual.size() == expected.size());
    double largest = 0, extent = 1e-30;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        if (std::isinf(expected[i]) || std::isinf(actual[i])) {
            if (static_cast<double>(actual[i]) != expected[i]) return HUGE_VAL;
            continue;
        }
        extent = std::max(extent, std::abs(expected[i]));
        largest = std::max(largest, std::abs(static_cast<double>(actual[i]) - expected[i]));
    }
    return largest / extent;
}

// Returns the largest difference relative to the cell itself. This is what f32 can promise for weights:
// the error of their scores.
double cell_difference(std::span<const float> actual, std::span<const double> expected) {
    double largest = 0;
    for (std::size_t i = 0; i < actual.size(); ++i)
        if (expected[i] > 1e-30)
            largest = std::max(largest, std::abs(static_cast<double>(actual[i]) / expected[i] - 1));
    return largest;
}

Bias bias_of(Tensor values) { return {std::make_shared<Tensor>(std::move(values))}; }

// Computes dS and dA in double from the plain formulas.
std::vector<double> gradient_reference(const Record& r, Index head, const Tensor& d_output, GradientBy by) {
    const ConstMatrix d = d_output.matrix(), v = r.v().heads().head(r.kv_head(head));
    const std::vector<double> weights = reference(r, head, Stage::weight),
                              capped = reference(r, head, Stage::capped);
    std::vector<double> all;
    for (Index i = 0; i < r.queries(); ++i) {
        std::vector<double> by_weight;
        double mean = 0;
        for (Index j = 0; j < r.keys(); ++j) {
            by_weight.push_back(dot(d.row(i), v.row(j), r.d_v()));
            const double w = weights[static_cast<std::size_t>(i * r.keys() + j)];
            if (w > 0) mean += w * by_weight.back();
        }
        for (Index j = 0; j < r.keys(); ++j) {
            const auto at = static_cast<std::size_t>(i * r.keys() + j);
            const double da = by_weight[static_cast<std::size_t>(j)],
                         cap = static_cast<double>(r.spec().softcap),
                         slope = cap == 0 ? 1 : 1 - std::pow(capped[at] / cap, 2);
            const bool allowed = r.spec().mask.allows(head, i, j);
            all.push_back(!allowed                   ? -HUGE_VAL
                          : by == GradientBy::weight ? da
                                                     : std::max(weights[at], 0.0) * (da - mean) * slope);
        }
    }
    return all;
}

}  // namespace

// Scores are sums of 8 products, with an error of a few 2^-24 of the largest product. Weights inherit the
// rounding of scores up to about 10.
constexpr double bound = 1e-5;

TEST_CASE("Every stage under every mask matches the double reference", "[unit][maps]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const auto [n_q, n_k] = GENERATE(table<Index, Index>({{70, 70}, {33, 90}, {90, 33}, {1, 1}}));
    for (const Mask& mask : all_masks(n_q, n_k)) {
        const RecordPointer r = random_record(n_q, n_k, masked_by(mask), kernels);
        for (const Stage stage : all_stages) {
            INFO(kernels.name << ", " << info(stage).key << ", " << mask.text().substr(0, 60));
            const auto cells = cells_of(*stage_map(r, 1, stage));
            const auto expected = reference(*r, 1, stage);
            CHECK(relative_difference(cells, expected) < bound);
            if (stage == Stage::weight || stage == Stage::contribution)
                CHECK(cell_difference(cells, expected) < bound);
        }
    }
}

TEST_CASE("Soft cap, bias and scale are in the map", "[unit][maps]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const Shape shape = GENERATE(Shape{2, 40, 50}, Shape{1, 1, 50}, Shape{2, 40, 1});
    AttentionSpec spec = masked_by(Mask::causal(8));
    spec.scale = 0.7f;
    spec.softcap = 3;
    spec.bias = bias_of(random_tensor(shape, 9));
    const RecordPointer r = random_record(40, 50, spec, kernels);
    for (const Stage stage : all_stages) {
        INFO(kernels.name << ", " << info(stage).key);
        CHECK(relative_difference(cells_of(*stage_map(r, 1, stage)), reference(*r, 1, stage)) < bound);
    }
}

TEST_CASE("A bias of -inf masks from the masked scores on", "[unit][maps]") {
    AttentionSpec spec;
    Tensor bias({1, 1, 3});
    bias.data()[1] = -infinity;
    spec.bias = bias_of(bias);
    const RecordPointer r = random_record(2, 3, spec);
    CHECK(stage_map(r, 0, Stage::scaled)->cell(0, 1) != masked_cell);
    for (const Stage stage : {Stage::masked, Stage::weight, Stage::contribution})
        CHECK(stage_map(r, 0, stage)->cell(0, 1) == masked_cell);
}

TEST_CASE("A row without a visible key is masked", "[unit][maps]") {
    const RecordPointer r = random_record(70, 70, masked_by(Mask::causal(-3)));
    for (const Stage stage : all_stages) {
        const auto cells = cells_of(*stage_map(r, 0, stage));
        CHECK(std::ranges::count(std::span(cells).first(3 * 70), masked_cell) == 3 * 70);
        CHECK(cells[3 * 70] != masked_cell);
    }
}

TEST_CASE("A map's cell equals the record's cell, bit for bit", "[unit][maps]") {
    const RecordPointer r = random_record(90, 100, masked_by(Mask::causal(10)));
    for (const Stage stage : all_stages) {
        const MapPointer map = stage_map(r, 1, stage);
        for (Index i = 0; i < 90; i += 7)
            for (Index j = 0; j <= i + 10; j += 3) REQUIRE(map->cell(i, j) == r->cell(stage, 1, i, j));
    }
}

TEST_CASE("A window and a sample of rows have the bits of the whole", "[unit][maps]") {
    const RecordPointer r = random_record(150, 170, masked_by(Mask::causal(20) & !Mask::window(5, 5)));
    for (const Stage stage : all_stages) {
        const MapPointer map = stage_map(r, 1, stage);
        const auto all = cells_of(*map);
        for (const MapWindow& window : {MapWindow{{3, 140}, {5, 169}}, MapWindow{{10, 11}, {0, 170}},
                                        MapWindow{{7, 150}, {60, 130}, 13}, MapWindow{{0, 0}, {0, 170}}}) {
            std::vector<float> expected;
            for (Index row = 0; row < window.rows(); ++row)
                for (Index j = window.keys.begin; j < window.keys.end; ++j)
                    expected.push_back(all[static_cast<std::size_t>(window.query(row) * 170 + j)]);
            CHECK(cells_of(*map, window) == expected);
        }
    }
}

TEST_CASE("The entropy of rows comes with the weights", "[unit][maps]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const RecordPointer r = random_record(40, 50, masked_by(Mask::causal(-1)), kernels);
    const MapPointer map = stage_map(r, 0, Stage::weight);
    std::vector<float> cells(40 * 50);
    std::vector<double> entropy(40);
    map->cells(whole(*map), {cells.data(), 40, 50, 50}, entropy);
    for (std::size_t i = 0; i < 40; ++i) {
        double expected = 0;
        for (std::size_t j = 0; j < 50; ++j)
            if (const auto w = static_cast<double>(cells[i * 50 + j]); w > 0) expected -= w * std::log(w);
        CHECK_THAT(entropy[i], WithinAbs(expected, 3e-6));  // below 4, computed in f32
    }
}

TEST_CASE("Contributions through W_O", "[unit][maps]") {
    const RecordPointer r = random_record(20, 30, masked_by(Mask::causal(10)));
    const auto layout = GENERATE(WeightView::Layout::in_out, WeightView::Layout::out_in);
    const Tensor w = random_tensor({12, 5}, 7);  // [heads · d_v, d_out]
    Tensor turned({5, 12});
    for (Index i = 0; i < 12; ++i)
        for (Index o = 0; o < 5; ++o) turned.matrix()(o, i) = w.matrix()(i, o);
    const Tensor& lies = layout == WeightView::Layout::in_out ? w : turned;
    const WeightView view{reinterpret_cast<const std::byte*>(lies.data()), DType::f32, 12, 5, layout};
    const MapPointer map = contribution_map(r, 1, projected_value_norms(*r, 1, view));
    const std::vector<double> weights = reference(*r, 1, Stage::weight);
    std::vector<double> expected;
    for (Index i = 0; i < 20; ++i)
        for (Index j = 0; j < 30; ++j) {
            const double a = weights[static_cast<std::size_t>(i * 30 + j)];
            double squares = 0;
            for (Index o = 0; o < 5; ++o) {
                double sum = 0;
                for (Index b = 0; b < 6; ++b)
                    sum += static_cast<double>(r->v().heads().head(0)(j, b)) *
                           static_cast<double>(w.matrix()(6 + b, o));
                squares += sum * sum;
            }
            expected.push_back(a < 0 ? a : a * std::sqrt(squares));
        }
    CHECK(relative_difference(cells_of(*map), expected) < bound);
}

TEST_CASE("Gradients with respect to weights and to scores", "[unit][maps]") {
    const auto by = GENERATE(GradientBy::weight, GradientBy::score);
    const float softcap = GENERATE(0.0f, 2.0f);
    for (const Mask& mask : {Mask::everything(), Mask::causal(5), Mask::causal(-2), Mask::strided(3)}) {
        AttentionSpec spec = masked_by(mask);
        spec.softcap = softcap;
        const RecordPointer r = random_record(70, 75, spec);
        const Tensor d_output = random_tensor({70, 6}, 11);
        const auto map = gradient_map(r, 1, d_output, by);
        REQUIRE(map);
        INFO(mask.text() << ", cap " << softcap);
        CHECK(relative_difference(cells_of(**map), gradient_reference(*r, 1, d_output, by)) < bound);
    }
}

TEST_CASE("The gradient with respect to scores gives the gradient of the queries", "[unit][maps]") {
    AttentionSpec spec = masked_by(Mask::causal());
    spec.softcap = 4;
    const Index n = 24;
    const RecordPointer r =
        record(random_tensor({1, n, 8}, 1), random_tensor({1, n, 8}, 2), random_tensor({1, n, 6}, 3), spec);
    const Tensor d_output = random_tensor({1, n, 6}, 4);
    Tensor d_q({1, n, 8}), d_k({1, n, 8}), d_v({1, n, 6}), output = r->output(), max = r->row_max(),
                                                           log_sum = r->row_log_sum();
    reference_backward().attention({.forward = {.q = r->q().heads(),
                                                .k = r->k().heads(),
                                                .v = r->v().heads(),
                                                .scale = static_cast<float>(r->scale()),
                                                .softcap = 4,
                                                .rule = spec.mask.rule(),
                                                .output = output.heads(),
                                                .row_max = max.matrix(),
                                                .row_log_sum = log_sum.matrix()},
                                    .d_output = d_output.heads(),
                                    .d_q = d_q.heads(),
                                    .d_k = d_k.heads(),
                                    .d_v = d_v.heads()});
    const auto map = gradient_map(r, 0, Tensor({n, 6}, d_output.values()), GradientBy::score);
    REQUIRE(map);
    const auto d_scores = cells_of(**map);
    for (Index i = 0; i < n; ++i)
        for (Index a = 0; a < 8; ++a) {
            double sum = 0;
            for (Index j = 0; j <= i; ++j)
                sum += static_cast<double>(r->scale() * d_scores[static_cast<std::size_t>(i * n + j)]) *
                       static_cast<double>(r->k().heads().head(0)(j, a));
            CHECK_THAT(sum, WithinAbs(static_cast<double>(d_q.heads().head(0)(i, a)), 1e-5));
        }
}

TEST_CASE("A gradient of another shape is refused", "[unit][maps]") {
    const auto map = gradient_map(random_record(4, 5), 0, Tensor({4, 5}), GradientBy::weight);
    REQUIRE(!map);
    CHECK(map.error().message ==
          "gradient map: the gradient of the output is 4×5 and the output 4×6; give one of the same shape");
}

TEST_CASE("The difference of two maps", "[unit][maps]") {
    const RecordPointer causal = random_record(9, 9, masked_by(Mask::causal())),
                        banded = random_record(9, 9, masked_by(Mask::causal() & Mask::window(2, 0)));
    const auto check = [&](Stage stage, auto expected) {
        const MapPointer a = stage_map(causal, 0, stage), b = stage_map(banded, 0, stage);
        const auto map = difference_map(a, b);
        REQUIRE(map);
        CHECK((*map)->is_signed());
        for (Index i = 0; i < 9; ++i)
            for (Index j = 0; j < 9; ++j)
                REQUIRE((*map)->cell(i, j) == expected(a->cell(i, j), b->cell(i, j)));
        CHECK((*map)->coverage({0, 2}, {5, 9}) == Coverage::none);
        CHECK((*map)->coverage({2, 3}, {0, 3}) == Coverage::all);
        CHECK((*map)->coverage({8, 9}, {0, 2}) == (stage == Stage::weight ? Coverage::all : Coverage::none));
    };
    check(Stage::weight, [](float a, float b) {
        if (a == masked_cell && b == masked_cell) return masked_cell;
        return std::max(a, 0.0f) - std::max(b, 0.0f);
    });
    check(Stage::scaled,
          [](float a, float b) { return a == masked_cell || b == masked_cell ? masked_cell : a - b; });

    const auto other =
        difference_map(stage_map(causal, 0, Stage::weight), stage_map(random_record(9, 8), 0, Stage::weight));
    REQUIRE(!other);
    CHECK(other.error().message ==
          "difference of maps: one is 9×9 and the other 9×8; choose two of the same shape");
}

TEST_CASE("Finished weights are read in place", "[unit][maps]") {
    const DType dtype = GENERATE(DType::f16, DType::bf16, DType::f32, DType::f64);
    // Two heads of [3, 4], one byte off any alignment; the second one is shown.
    const std::vector<float> values{0.5f, 0.25f, 0.25f, 0, 1, 0, 0, 0, 0.125f, 0.375f, 0.5f, 0};
    const std::size_t size = byte_size(dtype);
    const auto bytes = std::make_shared<std::vector<std::byte>>(1 + 24 * size);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const float value = values[i];
        const double wide = static_cast<double>(value);
        const std::uint16_t half = dtype == DType::f16 ? f32_to_f16(value) : f32_to_bf16(value);
        const void* from = dtype == DType::f64   ? static_cast<const void*>(&wide)
                           : dtype == DType::f32 ? static_cast<const void*>(&value)
                                                 : static_cast<const void*>(&half);
        std::memcpy(bytes->data() + 1 + (12 + i) * size, from, size);
    }
    const FinishedWeights weights{bytes,
                                  {dtype, false, {3, 4}, {4, 1}, std::span(*bytes).subspan(1 + 12 * size)}};
    const auto map = finished_map(weights);
    REQUIRE(map);
    CHECK(cells_of(**map) == values);
    CHECK(cells_of(**map, {{1, 3}, {1, 3}}) == std::vector<float>{0, 0, 0.375f, 0.5f});
    std::vector<float> cells(12);
    std::vector<double> entropy(3);
    (*map)->cells(whole(**map), {cells.data(), 3, 4, 4}, entropy);
    CHECK_THAT(entropy[0], WithinRel(1.5 * std::log(2.0), 1e-12));
    CHECK(entropy[1] == 0);

    const auto masked = finished_map(weights, Mask::causal(1));
    REQUIRE(masked);
    CHECK(cells_of(**masked, {{0, 2}, {0, 4}}) ==
          std::vector<float>{0.5f, 0.25f, masked_cell, masked_cell, 1, 0, 0, masked_cell});
}

TEST_CASE("Finished weights may have any order of bytes and axes", "[unit][maps]") {
    // The file is big-endian and column-major, as in Fortran: [[1, 3, 5], [2, 4, 6]] / 8.
    const auto bytes = std::make_shared<std::vector<std::byte>>();
    for (int i = 1; i <= 6; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(i) / 8);
        for (int shift = 24; shift >= 0; shift -= 8) bytes->push_back(static_cast<std::byte>(bits >> shift));
    }
    const auto map = finished_map({bytes, {DType::f32, true, {2, 3}, {1, 2}, *bytes}});
    REQUIRE(map);
    CHECK(cells_of(**map) == std::vector<float>{0.125f, 0.375f, 0.625f, 0.25f, 0.5f, 0.75f});
    CHECK((*map)->cell(1, 1) == 0.5f);
}

TEST_CASE("Finished weights of integers are refused", "[unit][maps]") {
    const auto map = finished_map({nullptr, {DType::i32, false, {1, 1}, {1, 1}, {}}});
    REQUIRE(!map);
    CHECK(map.error().message ==
          "attention weights: their type is int32; save them as float16, bfloat16, float32 or float64");
}
