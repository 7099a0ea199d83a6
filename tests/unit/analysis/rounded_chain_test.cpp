#include "analysis/numerics/rounded_chain.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <functional>

#include "attention/explain.hpp"
#include "io/json.hpp"
#include "support/files.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;

namespace {

using Numbers = std::vector<float>;

std::shared_ptr<const Record> record_of(Tensor q, Tensor k, Tensor v, AttentionSpec spec) {
    auto record = Record::run(std::move(q), std::move(k), std::move(v), std::move(spec));
    REQUIRE(record);
    return std::make_shared<const Record>(*std::move(record));
}
Tensor tensor_of(std::vector<Index> shape, const Numbers& values) {
    Tensor tensor(std::move(shape));
    std::ranges::copy(values, tensor.values().begin());
    return tensor;
}
AttentionSpec spec_of(std::optional<double> scale, Mask mask = {}, double softcap = 0, Bias bias = {}) {
    AttentionSpec spec;
    spec.scale = scale;
    spec.mask = std::move(mask);
    spec.softcap = softcap;
    spec.bias = std::move(bias);
    return spec;
}
// One query of one component against these keys, with a scale of 1.
std::shared_ptr<const Record> row_of(float query, const Numbers& keys, const Numbers& values) {
    const Index n = std::ssize(keys);
    return record_of(tensor_of({1, 1, 1}, {query}), tensor_of({1, n, 1}, keys), tensor_of({1, n, 1}, values),
                     spec_of(1));
}

std::shared_ptr<const RoundedChain> chain_of(const std::shared_ptr<const Record>& record, Arithmetic how,
                                             Index head = 0) {
    const ChainWindow window{record, head, {0, record->queries()}};
    auto exact = std::make_shared<RoundedChain>(window, exact_arithmetic(how.subtracts_max));
    while (exact->step()) continue;
    auto chain = std::make_shared<RoundedChain>(window, how, exact);
    while (chain->step()) continue;
    return chain;
}

// ---- The same in plain f32 --------------------------------------------------------------------------------

float exponential(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }

float plain_sum(const Numbers& values, SumOrder order) {
    if (order == SumOrder::pairs) {
        const std::function<float(std::size_t, std::size_t)> halves = [&](std::size_t begin,
                                                                          std::size_t end) {
            if (end - begin == 1) return values[begin];
            const std::size_t middle = begin + (end - begin) / 2;
            return halves(begin, middle) + halves(middle, end);
        };
        return halves(0, values.size());
    }
    float sum = 0, lost = 0;
    for (const float value : values) {
        const float next = sum + value;
        if (std::fabs(sum) >= std::fabs(value))
            lost += (sum - next) + value;
        else
            lost += (value - next) + sum;
        sum = next;
    }
    return order == SumOrder::compensated ? sum + lost : sum;
}

struct PlainRow {
    Numbers raw, scaled, exponentials, weights, output;
    float sum = 0;
};

PlainRow plain_row(const Record& record, Index head, Index query, SumOrder order, bool subtracts_max) {
    PlainRow row;
    const auto q = record.q().heads().head(head), k = record.k().heads().head(record.kv_head(head)),
               v = record.v().heads().head(record.kv_head(head));
    const auto scale = static_cast<float>(record.scale());
    for (Index key = 0; key <= query; ++key) {
        Numbers products;
        for (Index a = 0; a < record.d_k(); ++a) products.push_back(q(query, a) * k(key, a));
        row.raw.push_back(plain_sum(products, order));
        row.scaled.push_back(row.raw.back() * scale);
    }
    const float max = subtracts_max ? std::ranges::max(row.scaled) : 0;
    for (const float score : row.scaled) row.exponentials.push_back(exponential(score - max));
    Numbers running(static_cast<std::size_t>(record.d_v()));
    float so_far = -HUGE_VALF;
    if (order == SumOrder::online)
        for (std::size_t j = 0; j < row.scaled.size(); ++j) {
            const float next = std::max(so_far, row.scaled[j]),
                        factor = std::isinf(so_far) ? 0 : exponential(so_far - next),
                        part = exponential(row.scaled[j] - next);
            row.sum = row.sum * factor + part;
            for (std::size_t b = 0; b < running.size(); ++b)
                running[b] = running[b] * factor + part * v(static_cast<Index>(j), static_cast<Index>(b));
            so_far = next;
        }
    else
        row.sum = plain_sum(row.exponentials, order);
    for (const float each : row.exponentials) row.weights.push_back(each / row.sum);
    for (Index b = 0; b < record.d_v(); ++b) {
        Numbers parts;
        for (Index key = 0; key <= query; ++key)
            parts.push_back(row.weights[static_cast<std::size_t>(key)] * v(key, b));
        row.output.push_back(order == SumOrder::online ? running[static_cast<std::size_t>(b)] / row.sum
                                                       : plain_sum(parts, order));
    }
    return row;
}

std::shared_ptr<const Record> grouped_causal() {
    return record_of(random_tensor({4, 19, 6}, 1), random_tensor({2, 19, 6}, 2), random_tensor({2, 19, 5}, 3),
                     spec_of(0.7, Mask::causal()));
}

}  // namespace

TEST_CASE("a chain in f32 is bit for bit that of plain floats, in every order of sums", "[analysis]") {
    const auto record = grouped_causal();
    for (const SumOrder order :
         {SumOrder::in_order, SumOrder::pairs, SumOrder::compensated, SumOrder::online})
        for (const bool subtracts_max : {true, false})
            for (const RoundedSteps steps : {RoundedSteps::all, RoundedSteps::sums, RoundedSteps::fused}) {
                const Arithmetic how{NumberFormat::f32, steps, order, subtracts_max};
                const auto chain = chain_of(record, how, 3);
                CAPTURE(static_cast<int>(order), subtracts_max);
                for (Index query = 0; query < record->queries(); ++query) {
                    const PlainRow plain = plain_row(*record, 3, query, order, how.is_shifted());
                    CHECK(chain->at({ChainStage::sum, query, 0}) == static_cast<double>(plain.sum));
                    for (Index key = 0; key <= query; ++key) {
                        const auto j = static_cast<std::size_t>(key);
                        const auto at = [&](ChainStage stage) { return chain->at({stage, query, key}); };
                        REQUIRE(at(ChainStage::raw) == static_cast<double>(plain.raw[j]));
                        REQUIRE(at(ChainStage::scaled) == static_cast<double>(plain.scaled[j]));
                        REQUIRE(at(ChainStage::exponential) == static_cast<double>(plain.exponentials[j]));
                        REQUIRE(at(ChainStage::weight) == static_cast<double>(plain.weights[j]));
                    }
                    for (Index b = 0; b < record->d_v(); ++b)
                        REQUIRE(chain->at({ChainStage::output, query, b}) ==
                                static_cast<double>(plain.output[static_cast<std::size_t>(b)]));
                }
            }
}

TEST_CASE("a chain in double is the reference’s, with a soft cap, a bias and grouped heads", "[analysis]") {
    const auto bias = std::make_shared<const Tensor>(random_tensor({4, 7, 9}, 5));
    const auto record = record_of(random_tensor({4, 7, 6}, 1), random_tensor({2, 9, 6}, 2),
                                  random_tensor({2, 9, 5}, 3), spec_of({}, Mask::causal(1), 2, {bias}));
    for (const SumOrder order :
         {SumOrder::in_order, SumOrder::pairs, SumOrder::compensated, SumOrder::online}) {
        const auto chain = chain_of(record, {NumberFormat::f64, RoundedSteps::fused, order}, 2);
        for (Index query = 0; query < record->queries(); ++query) {
            const RowChain row = row_chain(*record, 2, query);
            for (Index key = 0; key <= query + 1; ++key) {
                const CellExplanation cell = row.at(key);
                const auto at = [&](ChainStage stage) { return chain->at({stage, query, key}); };
                // Some 20 operations of double are left, on numbers of at most 30.
                CHECK(at(ChainStage::raw) == Catch::Approx(cell.raw).margin(1e-13));
                CHECK(at(ChainStage::capped) == Catch::Approx(cell.capped).margin(1e-13));
                CHECK(at(ChainStage::masked) == Catch::Approx(cell.masked).margin(1e-13));
                CHECK(at(ChainStage::weight) == Catch::Approx(cell.weight).margin(1e-13));
            }
            for (Index b = 0; b < record->d_v(); ++b)
                CHECK(chain->at({ChainStage::output, query, b}) ==
                      Catch::Approx(explain_output(*record, 2, query, b).f64).margin(1e-13));
            CHECK_FALSE(chain->sees({ChainStage::weight, query, 8}));
        }
        for (const StageErrors& each : chain->errors()) {
            CHECK(each.not_finite == 0);
            CHECK(each.largest[0].error < 1e-13);
        }
    }
    for (const StageErrors& each : chain_of(record, {NumberFormat::f64})->exact().errors())
        CHECK(each.largest[0].error <= 0);
    CHECK(chain_stages(*record, true, true).size() == chain_stage_count);
    CHECK(chain_stages(*grouped_causal(), false, false).size() == chain_stage_count - 5);
}

TEST_CASE("a chain in f16 is NumPy’s, operation by operation", "[golden][analysis]") {
    const auto golden = parse_json(read_file(source_dir() / "tests/golden/formats/chain.json"), "chain");
    REQUIRE(golden);
    const auto tensor = [&](const char* name) {
        const auto rows = (*golden)[name].get<std::vector<Numbers>>();
        Numbers all;
        for (const Numbers& row : rows) all.insert(all.end(), row.begin(), row.end());
        return tensor_of({1, std::ssize(rows), std::ssize(rows.front())}, all);
    };
    const auto record = record_of(tensor("q"), tensor("k"), tensor("v"),
                                  spec_of((*golden)["scale"].get<double>(), Mask::causal()));
    const auto chain = chain_of(record, {NumberFormat::f16});
    for (std::size_t i = 0; i < chain_stage_count; ++i) {
        const std::string name(chain_stage_keys[i]);
        if (!golden->contains(name) || name == "q" || name == "k" || name == "v") continue;
        for (Index query = 0; query < record->queries(); ++query) {
            const auto& expected = (*golden)[name][static_cast<std::size_t>(query)];
            for (std::size_t column = 0; column < expected.size(); ++column) {
                CAPTURE(name, query, column);
                CHECK(chain->at({static_cast<ChainStage>(i), query, static_cast<Index>(column)}) ==
                      expected[column].get<double>());
            }
        }
    }
    // The largest error of a stage is that of its worst cell.
    for (const StageErrors& each : chain->errors()) {
        if (each.count == 0 || each.largest[0].error < 0) continue;
        const ChainCell at = each.largest[0].at;
        CHECK(each.largest[0].error == std::abs(chain->at(at) - chain->exact_at(at)));
    }
    CHECK(chain->errors()[static_cast<std::size_t>(ChainStage::weight)].count == 45);
}

TEST_CASE("a sum in order stalls in a small format; in pairs, compensated or in f32 it does not",
          "[analysis]") {
    constexpr std::size_t keys = 4096;
    const auto record = row_of(0, Numbers(keys, 1), Numbers(keys, 1));
    const auto sum = [&](Arithmetic how) { return chain_of(record, how)->at({ChainStage::sum, 0, 0}); };
    CHECK(sum({NumberFormat::f16}) == 2048);
    CHECK(sum({NumberFormat::bf16}) == 256);
    CHECK(sum({NumberFormat::e4m3}) == 16);
    CHECK(sum({NumberFormat::f16, RoundedSteps::all, SumOrder::online}) == 2048);
    CHECK(sum({NumberFormat::f16, RoundedSteps::all, SumOrder::pairs}) == 4096);
    CHECK(sum({NumberFormat::f16, RoundedSteps::all, SumOrder::compensated}) == 4096);
    CHECK(sum({NumberFormat::bf16, RoundedSteps::all, SumOrder::compensated}) == 512);
    CHECK(sum({NumberFormat::bf16, RoundedSteps::sums}) == 4096);
    CHECK(sum({NumberFormat::e4m3, RoundedSteps::fused}) == 4096);
    // A sum of 600 in f32 is stored as the nearest number of e5m2.
    CHECK(chain_of(row_of(0, Numbers(600, 1), Numbers(600, 1)), {NumberFormat::e5m2, RoundedSteps::sums})
              ->at({ChainStage::sum, 0, 0}) == 640);
    CHECK(chain_of(record, {NumberFormat::bf16})->at({ChainStage::weight, 0, 7}) == 1.0 / 256);
}

TEST_CASE("a number that is not finite is traced back to the one that made it so", "[analysis]") {
    const auto traced = [](const RoundedChain& chain, ChainCell from) {
        std::vector<ChainStage> stages;
        for (const ChainCell& each : chain.traced_back(from)) stages.push_back(each.stage);
        return stages;
    };
    using enum ChainStage;
    const auto no_max = [](NumberFormat format) {
        return Arithmetic{format, RoundedSteps::all, SumOrder::in_order, false};
    };
    // exp(12) is 162,755, more than 65,504.
    const auto high = row_of(1, {0, 12}, {1, 2});
    const auto overflow = chain_of(high, no_max(NumberFormat::f16));
    CHECK(overflow->first_not_finite() == ChainCell{exponential, 0, 1});
    CHECK(std::isnan(overflow->at({weight, 0, 1})));
    CHECK(traced(*overflow, {output, 0, 0}) == std::vector{output, weight, exponential});
    CHECK(overflow->at({weight, 0, 0}) == 0);
    CHECK_FALSE(chain_of(high, no_max(NumberFormat::bf16))->first_not_finite());
    CHECK_FALSE(chain_of(high, {NumberFormat::f16})->first_not_finite());
    // exp(−20) is 2e-9, less than half of the least number of f16: 0 / 0.
    const auto low = chain_of(row_of(1, {-20, -21}, {1, 2}), no_max(NumberFormat::f16));
    CHECK(low->at({sum, 0, 0}) == 0);
    CHECK(traced(*low, {output, 0, 0}) == std::vector{output, weight, sum, exponential});
    CHECK(low->traced_back({weight, 0, 1}).back() == ChainCell{exponential, 0, 0});
    CHECK(low->errors()[static_cast<std::size_t>(exponential)].vanished == 2);
    CHECK(low->first_not_finite() == ChainCell{exponential, 0, 0});
    // 300 · 300 is too much for f16; 300 and 500 are for e4m3.
    const auto product_too_large = chain_of(row_of(300, {1, 300}, {1, 2}), {NumberFormat::f16});
    CHECK(product_too_large->first_not_finite() == ChainCell{product, 0, 1});
    CHECK(traced(*product_too_large, {weight, 0, 0}) ==
          std::vector{weight, sum, exponential, shifted, masked, capped, scaled, raw, product});
    const auto key_too_large = chain_of(row_of(1, {1, 500}, {1, 2}), {NumberFormat::e4m3});
    CHECK(key_too_large->first_not_finite() == ChainCell{k, 1, 0});
    const auto value_too_large = chain_of(row_of(1, {1, 2}, {1, 70'000}), {NumberFormat::f16});
    CHECK(value_too_large->first_not_finite() == ChainCell{v, 1, 0});
    CHECK(traced(*value_too_large, {output, 0, 0}) == std::vector{output, v});
}

TEST_CASE("the largest activations of a head are found", "[analysis]") {
    const auto record = row_of(-2, {3, -4, 0.5F}, {1, -9, 2});
    const auto chain = chain_of(record, {NumberFormat::f16});
    const auto found = extremes(chain->exact(), true);
    const auto log2 = [&](Extreme which) { return found[static_cast<std::size_t>(which)]->log2; };
    CHECK(log2(Extreme::largest_q) == 1);
    CHECK(log2(Extreme::largest_k) == 2);
    CHECK(found[static_cast<std::size_t>(Extreme::largest_v)]->at == ChainCell{ChainStage::v, 1, 0});
    CHECK(log2(Extreme::largest_raw) == 3);
    CHECK(log2(Extreme::largest_score) == 3);
    CHECK(log2(Extreme::largest_exponential) == Catch::Approx(std::log2(std::exp(8))));
    const double sum = std::exp(8) + std::exp(-6) + std::exp(-1);
    CHECK(log2(Extreme::largest_sum) == Catch::Approx(std::log2(sum)));
    CHECK(log2(Extreme::least_exponential) == Catch::Approx(std::log2(std::exp(-14))));
    CHECK(log2(Extreme::least_weight) == Catch::Approx(std::log2(std::exp(-6) / sum)));
    CHECK_FALSE(extremes(chain->exact(), false)[static_cast<std::size_t>(Extreme::largest_v)]);
}

TEST_CASE("a long head is rounded for a window of queries, in short steps", "[analysis]") {
    const auto record = record_of(random_tensor({1, 700, 8}, 1), random_tensor({1, 700, 8}, 2),
                                  random_tensor({1, 700, 8}, 3), spec_of({}, Mask::causal()));
    const ChainWindow window = chain_window(record, 0, 699);
    CHECK(window.queries.begin == 690);
    CHECK(window.queries.size() == 10);
    CHECK(chain_window(record, 0, 3).queries.size() == 23);
    auto exact = std::make_shared<RoundedChain>(window, exact_arithmetic(true));
    Index steps = 0;
    while (exact->step()) ++steps;
    CHECK(steps >= 30);
    RoundedChain chain(window, {NumberFormat::bf16}, exact);
    while (chain.step()) continue;
    CHECK(chain.row(695).query() == 695);
    CHECK(chain.errors()[static_cast<std::size_t>(ChainStage::k)].count == 8 * 700);
}
