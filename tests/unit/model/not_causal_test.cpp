// Tests decoders made bidirectional, from config.json and from GGUF: every query sees every key, or those in
// its window on either side.
#include "io/config_keys.hpp"
#include "model/network.hpp"
#include "support/gguf_writer.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::vector<std::int32_t> both_ways_ids{3, 1, 4, 1, 5, 9, 2, 6};

std::shared_ptr<const Trace> run_with(const SmallFamily& family, const std::string& key,
                                      const nlohmann::json& value) {
    auto config = nlohmann::json::parse(family.config);
    config[key] = value;
    const std::string text = config.dump();
    const auto bytes = as_bytes(text);
    ModelFiles files = files_of(family);
    files.config.assign(bytes.begin(), bytes.end());
    auto model = Model::load(std::move(files));
    INFO((model ? "" : model.error().message));
    REQUIRE(model);
    const auto run = run_forward(*model, both_ways_ids);
    REQUIRE(run);
    return *run;
}

// Checks which cells have a weight: those that the mask allows, and no others.
void check_seen(const Trace& run, bool causal) {
    for (Index layer = 0; layer < run.attentions(); ++layer) {
        const Index window = run.attention(layer).half.window;
        const Tensor weights = weights_of(run.attention(layer).record());
        for (Index head = 0; head < weights.heads().heads; ++head)
            for (Index q = 0; q < run.tokens(); ++q)
                for (Index k = 0; k < run.tokens(); ++k) {
                    const bool seen = (!causal || k <= q) && (window == 0 || std::abs(q - k) < window);
                    CHECK((weights.heads().head(head)(q, k) > 0) == seen);
                }
    }
}

GgufWriter gguf_with(const SmallFamily& family, const auto& add) {
    GgufWriter writer = converted_to_gguf(files_of(family));
    add(writer);
    return writer;
}

const SmallFamily& decoder_named(std::string_view name) {
    return *std::ranges::find(small_families, name,
                              [](const SmallFamily& f) { return std::string_view(f.name); });
}

}  // namespace

TEST_CASE("a decoder that is not causal attends to all keys", "[model]") {
    for (const SmallFamily& family : small_families) {
        if (!family.causal) continue;
        CAPTURE(family.name);
        const auto both = run_with(family, "is_causal", false), one = run_with(family, "is_causal", true);
        check_seen(*both, false);
        check_seen(*one, true);
        CHECK(deviation(both->logits({0, 1}).values(), one->logits({0, 1}).values()) > 1e-3);
    }
    for (const char* name : {"gemma", "gemma2", "gemma3_text"}) {
        CAPTURE(name);
        check_seen(*run_with(decoder_named(name), "use_bidirectional_attention", true), false);
    }
}

TEST_CASE("GGUF files say the same by attention.causal", "[gguf][model]") {
    for (const char* name : {"llama", "qwen3", "gpt2"}) {
        CAPTURE(name);
        const auto model = Model::load(gguf_files(gguf_with(decoder_named(name), [&](GgufWriter& writer) {
                                                      writer.number(std::string(name) + ".attention.causal",
                                                                    GgufType::boolean, std::uint8_t{0});
                                                  }).file()));
        REQUIRE(model);
        const auto run = run_forward(*model, both_ways_ids);
        REQUIRE(run);
        check_seen(**run, false);
    }
    const auto windowed = Model::load(gguf_files(gguf_with(decoder_named("gemma2"), [](GgufWriter& writer) {
                                                     writer.number("gemma2.attention.causal",
                                                                   GgufType::boolean, std::uint8_t{0});
                                                 }).file()));
    REQUIRE(!windowed);
    CHECK_THAT(windowed.error().message, ContainsSubstring("gemma2.attention.causal"));
}

TEST_CASE("GGUF files of 2023 scale rotary positions by another key", "[gguf][model]") {
    const auto frequencies = [](const auto& add) {
        const auto model = Model::load(gguf_files(gguf_with(decoder_named("llama"), add).file()));
        REQUIRE(model);
        return (*model)->network().rotary.front().frequencies;
    };
    const auto none = frequencies([](GgufWriter&) {});
    const auto old = frequencies([](GgufWriter& w) { w.real("llama.rope.scale_linear", 4); });
    CHECK(old == frequencies([](GgufWriter& w) {
              w.text("llama.rope.scaling.type", "linear");
              w.real("llama.rope.scaling.factor", 4);
          }));
    CHECK(old[0] == none[0] / 4);
    CHECK(none == frequencies([](GgufWriter& w) { w.real("llama.rope.scale_linear", 0); }));
    // The newer key takes precedence, as in llama.cpp.
    CHECK(none == frequencies([](GgufWriter& w) {
              w.real("llama.rope.scale_linear", 4);
              w.real("llama.rope.scaling.factor", 1);
          }));
}

TEST_CASE("each key that llama.cpp knows is computed, harmless, or refused by name", "[gguf][model]") {
    CHECK(gguf_key_names().size() > 120);
    for (const char* name : {"llama", "qwen3", "gemma2", "phi3", "gpt2"}) {
        const SmallFamily& family = decoder_named(name);
        const auto plain = Model::load(gguf_files(converted_to_gguf(files_of(family)).file()));
        REQUIRE(plain);
        for (const std::string_view key : gguf_key_names()) {
            CAPTURE(name, key);
            const std::string whole = std::string(name) + "." + std::string(key);
            const auto use = gguf_key_use(name, key);
            REQUIRE(use);
            if ((*plain)->gguf()->find(whole)) {
                CHECK(use != KeyUse::refused);
                continue;
            }
            const auto opened = [&](const auto& add) {
                return Model::load(gguf_files(gguf_with(family, add).file()));
            };
            const auto odd = opened([&](GgufWriter& w) { w.text(whole, "odd"); });
            CHECK(static_cast<bool>(odd) == (use == KeyUse::harmless || key == "feed_forward_length"));
            if (!odd) CHECK_THAT(odd.error().message, ContainsSubstring(whole));
            if (use != KeyUse::refused) continue;
            CHECK(!opened([&](GgufWriter& w) { w.real(whole, 0.5); }));
            CHECK(!opened([&](GgufWriter& w) { w.numbers(whole, GgufType::u32, std::vector{1u, 0u}); }));
            CHECK(opened([&](GgufWriter& w) { w.count(whole, 0); }));
        }
    }
    const auto own = Model::load(gguf_files(
        gguf_with(decoder_named("llama"), [](GgufWriter& w) { w.count("llama.of_somebody", 1); }).file()));
    REQUIRE(own);
    CHECK((*own)->config().unknown_keys == std::vector<std::string>{"llama.of_somebody"});
    CHECK_THAT((*own)->notes().front(), ContainsSubstring("'llama.of_somebody'"));
}
