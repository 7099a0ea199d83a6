// Compares the sum of a logit's parts with the logit that other people's code computes in float64
// (shared/families).
#include <catch_amalgamated.hpp>
#include <nlohmann/json.hpp>

#include "analysis/attribution/direct_attribution.hpp"
#include "model/forward.hpp"
#include "support/npz.hpp"
#include "support/shared_data.hpp"
#include "unit/model/models.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("the parts of a logit add up to their authors' code's result", "[conformance][analysis]") {
    const auto folder = shared_data("families");
    if (!folder) SKIP("shared/families is not beside this project; set ATTN_SHARED to the folder above it");
    for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
        if (!entry.is_directory()) continue;
        CAPTURE(entry.path().filename().string());
        ModelFiles files{.config = read_file(entry.path() / "config.json"), .index = {}, .weights = {}};
        files.weights["model.safetensors"] = read_file(entry.path() / "model.safetensors");
        const auto model = Model::load(std::move(files));
        REQUIRE(model);
        const auto bytes = read_file(entry.path() / "expect.json");
        const auto expected = nlohmann::json::parse(
            std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
        const auto trace =
            run_forward(*model, expected["ids"].get<std::vector<std::int32_t>>(), default_kernels(),
                        expected.value("token_type_ids", std::vector<std::int32_t>{}),
                        expected.value("decoder_ids", std::vector<std::int32_t>{}));
        REQUIRE(trace);
        const auto npz = read_file(entry.path() / "expect.npz");
        const auto arrays = parse_npz(npz);
        REQUIRE(arrays);
        const Tensor logits = array_of(*arrays, "logits");
        for (Index row = 0; row < (*trace)->tokens(); row += 3)
            for (const std::int32_t token : {1, 17}) {
                auto parts = DirectAttribution::start(*trace, row, token);
                REQUIRE(parts);
                while (parts->step()) continue;
                double size = 0;
                for (const LogitShare& share : parts->shares()) size += std::abs(share.value);
                // The run may deviate by the tolerance, and each part by a few roundings of f32.
                const double off = expected["tolerance"]["logits"].get<double>() + 4e-6 * size;
                CAPTURE(row, token, parts->shares().size());
                CHECK(std::abs(parts->capped() - static_cast<double>(logits.matrix()(row, token))) < off);
            }
    }
}
