// Compares runs with ablated heads with runs of the checkpoint whose rows of W_O for these heads are 0
// (shared/families).
#include <algorithm>
#include <catch_amalgamated.hpp>
#include <nlohmann/json.hpp>

#include "analysis/attribution/effects.hpp"
#include "io/safetensors.hpp"
#include "model/forward.hpp"
#include "support/files.hpp"
#include "support/shared_data.hpp"

using namespace attn;
using namespace attn::test;

namespace {

struct FamilyFiles {
    Bytes config, weights, expected;
};

std::shared_ptr<const Model> family_model(const FamilyFiles& family, Bytes weights) {
    ModelFiles files{.config = family.config, .index = {}, .weights = {}};
    files.weights["model.safetensors"] = std::move(weights);
    const auto model = Model::load(std::move(files));
    REQUIRE(model);
    return *model;
}

std::shared_ptr<const Trace> family_run(const FamilyFiles& family,
                                        const std::shared_ptr<const Model>& model) {
    const auto expected = nlohmann::json::parse(
        std::string_view(reinterpret_cast<const char*>(family.expected.data()), family.expected.size()));
    const auto trace = run_forward(model, expected["ids"].get<std::vector<std::int32_t>>(), default_kernels(),
                                   expected.value("token_type_ids", std::vector<std::int32_t>{}),
                                   expected.value("decoder_ids", std::vector<std::int32_t>{}));
    REQUIRE(trace);
    return *trace;
}

// The file with W_O, [out, in], a row of `in` for each output, 0 where it reads the head.
Bytes without_reader(Bytes file, const Linear& output, Index first, Index count) {
    const auto parsed = parse_safetensors(file);
    REQUIRE(parsed);
    // A family's names may have a prefix in the file.
    const auto entry = std::ranges::find_if(parsed->header.tensors, [&](const TensorEntry& each) {
        return each.name.ends_with(output.name + ".weight");
    });
    REQUIRE(entry != parsed->header.tensors.end());
    REQUIRE(entry->dtype == DType::f32);
    REQUIRE(output.weight.layout == WeightView::Layout::out_in);
    const auto at = static_cast<std::ptrdiff_t>(parsed->header.data_offset + entry->begin);
    for (Index row = 0; row < output.weight.out; ++row)
        std::fill_n(file.begin() + at + (row * output.weight.in + first) * 4, count * 4, std::byte{0});
    return file;
}

}  // namespace

TEST_CASE("a run without a head equals a run of a checkpoint in which nothing reads the head",
          "[conformance][analysis]") {
    const auto folder = shared_data("families");
    if (!folder) SKIP("shared/families is not beside this project; set ATTN_SHARED to the folder above it");
    for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
        if (!entry.is_directory()) continue;
        CAPTURE(entry.path().filename().string());
        const FamilyFiles family{read_file(entry.path() / "config.json"),
                                 read_file(entry.path() / "model.safetensors"),
                                 read_file(entry.path() / "expect.json")};
        const auto trace = family_run(family, family_model(family, family.weights));
        const LogitLoss target{.raise = 17, .over = 1};
        auto effects = AblationEffects::start(trace, target, without_heads(*trace, Operation::zero));
        REQUIRE(effects);
        while (effects->step()) continue;
        std::size_t done = 0;
        for (Index attention = 0; attention < trace->attentions(); ++attention) {
            const Record& record = trace->attention(attention).record();
            const Linear& output = trace->network().attention(attention).attention_out;
            for (Index head = 0; head < record.heads(); ++head) {
                CAPTURE(attention, head);
                const auto without = family_run(
                    family, family_model(family, without_reader(family.weights, output, head * record.d_v(),
                                                                record.d_v())));
                // Both have the same zero products, so the numbers are equal.
                CHECK(effects->effects()[done++] == loss_in(*without, target) - loss_in(*trace, target));
            }
        }
        CHECK(done == effects->effects().size());
    }
}
