// Compares directions and the runs that they steer with PyTorch in float64 and forward hooks:
// tests/golden/steering/generate.py.
#include <cmath>
#include <map>

#include "analysis/heads/steering.hpp"
#include "unit/analysis/golden_runs.hpp"

using namespace attn;
using namespace attn::test;

namespace {

Steering steering_of(const nlohmann::json& each) {
    using Kind = SteeringDirection::Kind;
    static const std::map<std::string, Kind> kinds{
        {"embedding", Kind::embedding}, {"unembedding", Kind::unembedding}, {"written", Kind::written},
        {"second", Kind::second_text},  {"texts", Kind::many_texts},        {"contrast", Kind::contrast}};
    Steering steering{.direction = {.kind = kinds.at(each["kind"]), .token = each.value("token", 0)},
                      .attention = each["attention"],
                      .site = *site_by_key(each["site"].get<std::string>()),
                      .dial = each["dial"]};
    if (each.contains("head")) steering.direction.head = {each["head"][0], each["head"][1]};
    if (each.contains("place")) steering.direction.place = each["place"].get<Index>();
    if (each.contains("row")) steering.row = each["row"].get<Index>();
    return steering;
}

template <class Number>
double largest_error(std::span<const Number> found, const nlohmann::json& expected) {
    REQUIRE(found.size() == expected.size());
    double most = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
        most = std::max(most, std::abs(static_cast<double>(found[i]) - expected[i].get<double>()));
    return most;
}

}  // namespace

TEST_CASE("directions, and the logits of runs that they steer, agree with PyTorch’s hooks",
          "[golden][analysis]") {
    const auto golden = json_in(source_dir() / "tests/golden/steering/directions.json");
    using Ids = std::vector<std::int32_t>;
    using Runs = std::vector<std::shared_ptr<const Trace>>;
    for (const std::string name : {"gpt2-f32", "llama3-scaled-f32"}) {
        GoldenText unused;
        const auto model = golden_model(name, unused);
        const auto run = [&](const nlohmann::json& ids) { return run_of(model, {ids.get<Ids>(), {}, {}}); };
        const auto runs = [&](const nlohmann::json& texts) {
            Runs all;
            for (const auto& ids : texts) all.push_back(run(ids));
            return all;
        };
        const auto here = run(golden["ids"]), second = run(golden["second"]);
        const Runs positive = runs(golden["positive"]), negative = runs(golden["negative"]);
        const SteeringRuns others{second.get(), positive, positive, negative};
        for (const auto& each : golden["cases"]) {
            if (each["model"] != name) continue;
            CAPTURE(name, each["kind"].dump(), each["site"].dump());
            const Steering steering = steering_of(each);
            const auto vector = steering_vector(steering, *here, others);
            REQUIRE(vector);
            // What is made of weights is computed in double; the streams of runs are f32, and within ±10.
            const bool is_of_weights = steering.direction.is_of_token();
            CHECK(largest_error<double>(vector->direction, each["direction"]) <
                  (is_of_weights ? 1e-7 : 1e-5));
            CHECK(std::abs(vector->stream - each["stream"].get<double>()) < 1e-5);
            auto pass = ForwardPass::start_with({intervention_of(steering, *vector)}, here);
            REQUIRE(pass);
            const auto steered = pass->finish();
            REQUIRE(steered);
            const Tensor logits = (*steered)->logits({here->tokens() - 3, here->tokens()});
            // The kernels leave 2e-5 of the logits, as under every intervention, and what is added is f32.
            CHECK(largest_error<float>(logits.values(), each["logits"]) < 5e-5);
        }
    }
}
