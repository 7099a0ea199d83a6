// Compares models of many families with the results of other people's code in float64 (shared/families): the
// logits, and the attention weights of every head, for both spellings of their configurations.
#include <catch_amalgamated.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "model/forward.hpp"
#include "support/kernels.hpp"
#include "support/npz.hpp"
#include "support/shared_data.hpp"
#include "unit/model/models.hpp"

using namespace attn;
using namespace attn::test;

namespace {

constexpr const char* no_families =
    "shared/families is not beside this project; set ATTN_SHARED to the folder above it";

// The expected numbers are float64, rounded to f32; the tolerances are 100 such roundings.
struct Tolerance {
    double logits, attention;
};

void check_text(const std::shared_ptr<const Model>& model, const Kernels& kernels, const nlohmann::json& text,
                const std::vector<NpzArray>& arrays, const std::string& prefix, const Tolerance& tolerance) {
    const auto segments = text.value("token_type_ids", std::vector<std::int32_t>{});
    const auto decoder_ids = text.value("decoder_ids", std::vector<std::int32_t>{});
    const auto trace =
        run_forward(model, text["ids"].get<std::vector<std::int32_t>>(), kernels, segments, decoder_ids);
    INFO((trace ? "" : trace.error().message));
    REQUIRE(trace);
    const Index n = (*trace)->tokens();
    CHECK(deviation((*trace)->logits({0, n}).values(), array_of(arrays, prefix + "logits").values()) <=
          tolerance.logits);
    Index number = 0;
    for (const char* kind : {"attention", "decoder_attention", "cross_attention"}) {
        if (kind != std::string_view("attention") && decoder_ids.empty()) break;
        CAPTURE(kind);
        const Tensor attention = array_of(arrays, prefix + kind);  // [layers, heads, query, key]
        const auto size = static_cast<std::size_t>(attention.size() / attention.dim(0));
        for (Index layer = 0; layer < attention.dim(0); ++layer, ++number) {
            REQUIRE((*trace)->attention(number).place.layer == layer);
            const Tensor got = weights_of((*trace)->attention(number).record());
            CHECK(deviation(got.values(), attention.values().subspan(static_cast<std::size_t>(layer) * size,
                                                                     size)) <= tolerance.attention);
        }
    }
    CHECK(number == (*trace)->attentions());
}

}  // namespace

TEST_CASE("models of many families give their authors' code's results", "[conformance][model]") {
    const auto folder = shared_data("families");
    if (!folder) SKIP(no_families);
    const Kernels& kernels = generate_kernels();
    std::set<std::string> checked;
    for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
        const std::string name = entry.path().filename().string();
        if (!entry.is_directory()) continue;
        for (const char* config : {"config.json", "config-v5.json"}) {
            // Transformers 5 does not write a correct one for T5 v1.1 (see the folder's README).
            if (!std::filesystem::exists(entry.path() / config)) continue;
            CAPTURE(name, config, kernels.name);
            ModelFiles files{.config = read_file(entry.path() / config), .index = {}, .weights = {}};
            files.weights["model.safetensors"] = read_file(entry.path() / "model.safetensors");
            const auto model = Model::load(std::move(files));
            INFO((model ? "" : model.error().message));
            REQUIRE(model);
            CHECK((*model)->notes().empty());
            const auto bytes = read_file(entry.path() / "expect.json");
            const auto expected = nlohmann::json::parse(
                std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
            const Tolerance tolerance{expected["tolerance"]["logits"], expected["tolerance"]["attention"]};
            const auto npz = read_file(entry.path() / "expect.npz");
            const auto arrays = parse_npz(npz);
            REQUIRE(arrays);
            check_text(*model, kernels, expected, *arrays, "", tolerance);
            if (expected.contains("long"))
                check_text(*model, kernels, expected["long"], *arrays, "long_", tolerance);
        }
        checked.insert(name);
    }
    CHECK(checked.size() >= 22);
}
