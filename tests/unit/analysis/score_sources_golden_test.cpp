// Compares the sources of scores with PyTorch's autograd through frozen norms (tests/golden/sources): GPT-2
// and Llama with grouped heads from the golden models, and Qwen3, Gemma 2, Pythia, BERT and T5 with
// cross-attention from shared/families, where that is beside the project.
#include <catch_amalgamated.hpp>
#include <cmath>
#include <map>

#include "analysis/attribution/score_sources.hpp"
#include "unit/analysis/golden_runs.hpp"

using namespace attn;
using namespace attn::test;

namespace {

std::size_t place_of(const nlohmann::json& wanted, const std::vector<Source>& sources) {
    static const std::map<std::string, SourcePart> parts{
        {"token_embedding", SourcePart::token_embedding},
        {"position_embedding", SourcePart::position_embedding},
        {"segment_embedding", SourcePart::segment_embedding},
        {"embedding_norm", SourcePart::embedding_norm},
        {"head", SourcePart::head},
        {"attention_bias", SourcePart::attention_bias},
        {"attention_norm", SourcePart::attention_norm},
        {"mlp", SourcePart::mlp},
        {"mlp_norm", SourcePart::mlp_norm},
        {"input_norm", SourcePart::input_norm},
        {"projection_bias", SourcePart::projection_bias},
        {"vector_norm", SourcePart::vector_norm}};
    const Source source{.part = parts.at(wanted[0]), .number = wanted[1], .head = wanted[2]};
    CAPTURE(wanted.dump());
    const auto found = std::ranges::find_if(sources, [&](const Source& each) { return each.is(source); });
    REQUIRE(found != sources.end());
    return static_cast<std::size_t>(found - sources.begin());
}

}  // namespace

TEST_CASE("the terms of scores agree with PyTorch's autograd through frozen norms", "[analysis]") {
    const auto cases = json_in(source_dir() / "tests/golden/sources/terms.json");
    std::size_t compared = 0;
    for (const auto& each : cases) {
        const std::string name = each["model"];
        const auto trace = golden_run(name);
        if (!trace) continue;
        ++compared;
        CAPTURE(name, each["attention"].get<Index>());
        const auto score = score_sources(*trace, each["attention"], each["head"], each["query"], each["key"]);
        REQUIRE(score);
        CHECK(score->query.size() == each["query_sources"].size());
        CHECK(score->key.size() == each["key_sources"].size());
        double size = 1;
        for (const auto& row : each["terms"])
            for (const double term : row) size += std::abs(term);
        // The runs differ by f32: in q and k, in what is written, and in the statistics of the norms.
        const double off = 3e-6 * size;
        CHECK(std::abs(score->sum() - each["score"].get<double>()) < off);
        for (std::size_t s = 0; s < each["query_sources"].size(); ++s)
            for (std::size_t t = 0; t < each["key_sources"].size(); ++t)
                CHECK(std::abs(score->term(place_of(each["query_sources"][s], score->query),
                                           place_of(each["key_sources"][t], score->key)) -
                               each["terms"][s][t].get<double>()) < off);
    }
    CHECK(compared >= 3);
    if (compared < cases.size())
        WARN("shared/families is not beside this project; GPT-2 and Llama were compared");
}
