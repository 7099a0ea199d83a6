#include "model/generate.hpp"

#include "model/forward.hpp"
#include "models.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("one token at a time with the cache equals the whole run", "[model]") {
    const std::string name = GENERATE("gpt2-f32", "gpt2-untied-f16", "llama-sharded-bf16",
                                      "llama3-scaled-f32", "qwen2-linear-f32", "mistral-window-f16");
    CAPTURE(name);
    const auto model = load(golden_folder(name));
    auto generator = Generator::start(model, {7}, {.temperature = 1, .seed = 11});
    REQUIRE(generator);
    for (int i = 0; i < 17; ++i) {
        const auto trace = run_forward(model, {generator->ids().begin(), generator->ids().end()});
        REQUIRE(trace);
        while (generator->step()) {
        }
        const Index n = (*trace)->tokens();
        CHECK(deviation(generator->logits(), (*trace)->logits({n - 1, n}).values()) < 1e-5);
        REQUIRE(generator->next());
    }
}

TEST_CASE("the seed determines the samples", "[model]") {
    const auto model = load(golden_folder("llama3-scaled-f32"));
    const auto sample = [&](const Sampling& sampling) {
        auto generator = Generator::start(model, {1, 2, 3}, sampling);
        REQUIRE(generator);
        for (int i = 0; i < 40; ++i) REQUIRE(generator->next());
        return std::vector(generator->ids().begin(), generator->ids().end());
    };
    const auto first = sample({.temperature = 1.5f, .seed = 1});
    CHECK(first == sample({.temperature = 1.5f, .seed = 1}));
    CHECK(first != sample({.temperature = 1.5f, .seed = 2}));
    CHECK(sample({.temperature = 0, .seed = 1}) == sample({.temperature = 0, .seed = 2}));
}

TEST_CASE("sampled tokens follow the distribution", "[model]") {
    const auto model = load(golden_folder("gpt2-f32"));
    const auto prompt = run_forward(model, {5, 6, 7});
    REQUIRE(prompt);
    const Sampling sampling{.temperature = 2, .top_k = 4};
    const auto expected = next_token_distribution((*prompt)->logits({2, 3}).values(), sampling, 4);
    std::map<std::int32_t, int> counts;
    const int draws = 4000;
    for (int seed = 0; seed < draws; ++seed) {
        Sampling seeded = sampling;
        seeded.seed = static_cast<std::uint64_t>(seed);
        auto generator = Generator::start(*prompt, seeded);
        REQUIRE(generator);
        const auto id = generator->next();
        REQUIRE(id);
        ++counts[*id];
    }
    CHECK(counts.size() == 4);
    for (const Candidate& c : expected)
        CHECK(std::abs(counts[c.id] / static_cast<double>(draws) - c.probability) < 0.03);
}

TEST_CASE("generation ends with the context", "[model]") {
    const auto model = load(golden_folder("gpt2-f32"));
    auto generator = Generator::start(model, std::vector<std::int32_t>(17, 3), {});
    REQUIRE(generator);
    CHECK(generator->next());
    CHECK(generator->next());  // after position 17, the last that can run
    const auto full = generator->next();
    REQUIRE(!full);
    CHECK(full.error().message == "the context of 18 tokens is full");
    CHECK(generator->ids().size() == 19);
}

TEST_CASE("sampling out of range is refused", "[model]") {
    const auto model = load(golden_folder("gpt2-f32"));
    CHECK(!Generator::start(model, {1}, {.temperature = -1}));
    CHECK(!Generator::start(model, {1}, {.temperature = std::numeric_limits<float>::quiet_NaN()}));
    CHECK(!Generator::start(model, {1}, {.top_k = -1}));
    CHECK(!Generator::start(model, {1}, {.top_p = 0}));
    CHECK(!Generator::start(model, {1}, {.top_p = 1.5f}));
    CHECK(!Generator::start(model, {}, {}));
}
