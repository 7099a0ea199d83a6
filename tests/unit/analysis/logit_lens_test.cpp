// Compares with the model itself without its last layers, and with its own logits at the end.
#include "analysis/attribution/logit_lens.hpp"

#include <regex>

#include "model/block.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

namespace {

const std::vector<std::int32_t> read_ids{3, 1, 4, 1, 5, 9, 2, 6};

LogitLens read_by(const std::shared_ptr<const Trace>& trace, Index row, double slice_operations = 60e6) {
    LogitLens lens(trace, row, slice_operations);
    while (lens.step()) continue;
    return lens;
}

// The same weights in a model that ends a layer earlier.
std::shared_ptr<const Model> shorter(const SmallFamily& family) {
    ModelFiles files = files_of(family);
    std::string config(reinterpret_cast<const char*>(files.config.data()), files.config.size());
    const std::regex layers(R"rx(("(?:n_layer|n_layers|num_hidden_layers|num_decoder_layers)": )([23]))rx");
    std::smatch found;
    if (!std::regex_search(config, found, layers)) return nullptr;
    config.replace(static_cast<std::size_t>(found.position(2)), 1, found[2] == "2" ? "1" : "2");
    const auto bytes = std::as_bytes(std::span(config));
    files.config.assign(bytes.begin(), bytes.end());
    auto model = Model::load(std::move(files));
    INFO(family.name << (model ? "" : ": " + model.error().message));
    REQUIRE(model);
    return *model;
}

}  // namespace

TEST_CASE("decoded at the end, the stream gives the model's logits, to the bit", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), read_ids);
        for (const Index row : {Index{0}, Index{5}, Index{7}}) {
            const LogitLens lens = read_by(trace, row, 1);
            const Index last = std::ssize(lens.places()) - 1;
            CHECK(lens.places().back() ==
                  StreamPlace{StreamPlace::After::mlp, std::ssize(trace->layers()) - 1});
            CHECK(std::ssize(lens.places()) == 1 + (trace->encoder() ? 3 : 2) * std::ssize(trace->layers()));
            CHECK(std::ranges::equal(lens.logits(last), trace->logits({row, row + 1}).values()));
            CHECK(lens.states().back().cosine.value() == Catch::Approx(1).epsilon(1e-12));
        }
    }
}

TEST_CASE("before its last layer, the stream gives the logits of the model without it", "[analysis]") {
    int compared = 0;
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = shorter(family);
        if (!model) continue;
        const auto trace = *run_text(small_model(family), read_ids), without = *run_text(model, read_ids);
        const Index layer = std::ssize(without->layers()) - 1;
        REQUIRE(std::ssize(trace->layers()) == layer + 2);
        for (const Index row : {Index{2}, Index{7}}) {
            const LogitLens lens = read_by(trace, row);
            const auto at = std::ranges::find(lens.places(), StreamPlace{StreamPlace::After::mlp, layer}) -
                            lens.places().begin();
            CHECK(std::ranges::equal(lens.logits(at), without->logits({row, row + 1}).values()));
        }
        ++compared;
    }
    CHECK(compared > 20);
}

TEST_CASE("in double, the unembedding gives the same at any place, except for the rounding of f32",
          "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), read_ids);
        const LogitLens lens = read_by(trace, 4);
        for (Index i = 0; i < std::ssize(lens.places()); ++i) {
            const ConstMatrix state =
                stream_after(*trace, lens.places()[static_cast<std::size_t>(i)]).matrix();
            const std::vector<double> read =
                head_reads(*trace->model(), {state.row(4), static_cast<std::size_t>(state.cols)});
            for (const std::int32_t token : {0, 7, 19})
                // Sums of 16 products of numbers up to 10, after a norm over 16 and possibly a layer of 16.
                CHECK(logit_of(trace->network(), read, token) ==
                      Catch::Approx(lens.logits(i)[static_cast<std::size_t>(token)]).margin(3e-5));
        }
    }
}

TEST_CASE("probabilities add up to 1, and ranks are the order of the logits", "[analysis]") {
    const auto trace = *run_text(small_model(small_families.front()), read_ids);
    const LogitLens lens = read_by(trace, 7);
    for (Index i = 0; i < std::ssize(lens.places()); ++i) {
        double sum = 0;
        std::vector<bool> taken(20);
        for (std::int32_t token = 0; token < 20; ++token) {
            sum += lens.probability(i, token);
            const Index rank = lens.rank(i, token);
            REQUIRE(rank >= 1);
            REQUIRE(rank <= 20);
            CHECK_FALSE(taken[static_cast<std::size_t>(rank - 1)]);
            taken[static_cast<std::size_t>(rank - 1)] = true;
        }
        CHECK(sum == Catch::Approx(1).epsilon(1e-12));
        const auto& likeliest = lens.states()[static_cast<std::size_t>(i)].likeliest;
        REQUIRE(std::ssize(likeliest) == LogitLens::likeliest_kept);
        for (Index k = 0; k < LogitLens::likeliest_kept; ++k)
            CHECK(lens.rank(i, likeliest[static_cast<std::size_t>(k)].id) == k + 1);
    }
}
