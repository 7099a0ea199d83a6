// Runs other people's trained checkpoints, and compares with the numbers of an independent float64 forward
// pass.
#include "model/forward.hpp"
#include "model/generate.hpp"
#include "models.hpp"
#include "support/shared_data.hpp"

using namespace attn;
using namespace attn::test;
using nlohmann::json;

namespace {

void flatten(const json& value, std::vector<float>& out) {
    if (value.is_array())
        for (const json& item : value) flatten(item, out);
    else
        out.push_back(value.get<float>());
}

std::vector<float> flat(const json& value) {
    std::vector<float> out;
    flatten(value, out);
    return out;
}

}  // namespace

TEST_CASE("trained checkpoints give the expected logits, attention and greedy tokens", "[golden][model]") {
    const std::string name = GENERATE("gpt-nano-sort", "babyllama-tok105");
    const auto folder = shared_data("models");
    if (!folder) SKIP("the shared checkpoints are not here; set ATTN_SHARED to their folder");
    CAPTURE(name);
    const auto model = load(*folder / name);
    CHECK(model->notes().empty());
    const Bytes text = read_file(*folder / "expect" / (name + ".json"));
    const json expected =
        json::parse(std::string(reinterpret_cast<const char*>(text.data()), text.size()), nullptr, false);
    REQUIRE(!expected.is_discarded());

    for (const json& sample : expected["texts"]) {
        const auto trace = run_forward(model, sample["ids"].get<std::vector<std::int32_t>>());
        REQUIRE(trace);
        const Index n = (*trace)->tokens();
        CHECK(deviation((*trace)->logits({n - 1, n}).values(), flat(sample["logits_last"])) < 1e-4);
        std::vector<float> weights;
        for (const LayerTrace& layer : (*trace)->layers()) {
            const Tensor of_layer = weights_of(layer.attention);
            weights.insert(weights.end(), of_layer.values().begin(), of_layer.values().end());
        }
        CHECK(deviation(weights, flat(sample["attention"])) < 1e-5);
    }

    const json& greedy = expected["greedy"];
    auto generator = Generator::start(model, greedy["prompt_ids"].get<std::vector<std::int32_t>>(), {});
    REQUIRE(generator);
    for (const json& want : greedy["new_ids"]) {
        const auto id = generator->next();
        REQUIRE(id);
        CHECK(*id == want.get<std::int32_t>());
    }
}
