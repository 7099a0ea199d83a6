#include "model/positions.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/forward.hpp"
#include "model/head_projection.hpp"
#include "support/numbers.hpp"
#include "unit/model/models.hpp"

using namespace attn;
using namespace attn::test;

namespace {

nlohmann::json position_goldens() {
    const auto bytes = read_file(source_dir() / "tests/golden/positions/positions.json");
    return nlohmann::json::parse(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace

TEST_CASE("ALiBi's slopes match its authors' code, for any number of heads") {
    auto goldens = position_goldens();
    for (const auto& [heads, expected] : goldens["slopes"].items()) {
        INFO(heads << " heads");
        const std::vector<double> found = alibi_slopes(std::stoi(heads));
        REQUIRE(found.size() == expected.size());
        for (std::size_t h = 0; h < found.size(); ++h)
            CHECK(found[h] == Catch::Approx(expected[h].get<double>()).epsilon(1e-13));
    }
}

TEST_CASE("T5's buckets match its authors' code, in both directions and in one") {
    auto goldens = position_goldens();
    for (const auto& each : goldens["buckets"]) {
        const Index distance = each["key_minus_query"];
        INFO("key − query = " << distance);
        for (const Index query : {Index{2000}, Index{1'000'000}}) {
            CHECK(relative_bucket({}, query, query + distance) == each["both_ways"].get<Index>());
            CHECK(relative_bucket({.both_ways = false}, query, query + distance) ==
                  each["one_way"].get<Index>());
        }
    }
}

TEST_CASE("buckets never fall with the distance, and none is left out") {
    for (const bool both : {false, true}) {
        const RelativeBuckets buckets{.both_ways = both};
        Index before = -1;
        for (Index distance = 0; distance <= 1000; ++distance) {
            const Index bucket = relative_bucket(buckets, distance, 0);
            CHECK(bucket >= before);
            CHECK(bucket <= before + 1);
            before = bucket;
        }
        CHECK(before == (both ? 15 : 31));
        CHECK(relative_bucket(buckets, 0, 1) == (both ? 17 : 0));
        CHECK(relative_bucket(buckets, 0, 1000) == (both ? 31 : 0));
    }
}

TEST_CASE(
    "sinusoids are sines and cosines of geometric wavelengths, whose product depends only on the distance") {
    constexpr Index width = 64;
    CHECK(sinusoid(0, 0, width) == 0);
    CHECK(sinusoid(0, 1, width) == 1);
    CHECK(sinusoid(7, 2, width) ==
          Catch::Approx(std::sin(7 / std::pow(10'000.0, 2.0 / width))).epsilon(1e-14));
    CHECK(sinusoid(7, 63, width) ==
          Catch::Approx(std::cos(7 / std::pow(10'000.0, 62.0 / width))).epsilon(1e-14));
    const auto dot = [&](Index p, Index r) {
        double sum = 0;
        for (Index a = 0; a < width; ++a) sum += sinusoid(p, a, width) * sinusoid(r, a, width);
        return sum;
    };
    // sin p sin r + cos p cos r = cos(p − r). Angles of size 1e6 are rounded to 1e-10.
    for (const Index distance : {0, 1, 5, 100})
        for (const Index shift : {1, 1000, 1'000'000})
            CHECK(dot(distance + shift, shift) == Catch::Approx(dot(distance, 0)).margin(1e-8));
}

TEST_CASE("a head's part of the projections gives its q, k and v from the layer's input") {
    for (const char* name : {"gpt2-f32", "gpt2-untied-f16", "llama-sharded-bf16", "qwen2-linear-f32"}) {
        const auto run = run_forward(load(golden_folder(name)), {1, 4, 2, 3, 4});
        REQUIRE(run);
        const Trace& trace = **run;
        const Model& model = *trace.model();
        const bool turned = !model.network().rotary.empty();
        for (Index l = 0; l < model.config().layers; ++l)
            for (Index head = 0; head < model.config().heads; ++head) {
                INFO(name << ", layer " << l << ", head " << head);
                const LayerTrace& layer = trace.layers()[static_cast<std::size_t>(l)];
                const HeadProjection made = head_projection(model, l, head);
                const auto check = [&](const HeadProjection::Part& part, const Tensor& expected, Index of) {
                    Tensor found({1, trace.tokens(), model.config().head_dim});
                    const LinearView view = part.view();
                    trace.kernels().linear(layer.attention_input.matrix(), view.weight, view.bias,
                                           Activation::none, found.heads().head(0));
                    const ConstMatrix wanted = expected.heads().head(of);
                    // The same products, which may be added in another order when there are more columns.
                    for (Index row = 0; row < wanted.rows; ++row)
                        for (Index a = 0; a < wanted.cols; ++a)
                            CHECK(std::abs(found.heads().head(0)(row, a) - wanted(row, a)) <= 2e-6f);
                };
                const Record& record = layer.attention;
                check(made.v, record.v(), record.kv_head(head));
                if (turned) continue;  // the record's q and k are rotated
                check(made.q, record.q(), head);
                check(made.k, record.k(), record.kv_head(head));
            }
    }
}
