// Tests that the list of keys matches the reader: each key of each class is computed, changes nothing, or is
// refused by name.
#include "io/config_keys.hpp"

#include <catch_amalgamated.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "io/model_config.hpp"
#include "support/files.hpp"
#include "support/shared_data.hpp"

using namespace attn;
using attn::test::as_bytes;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

Result<ModelConfig> configured(const json& config) {
    const std::string text = config.dump();
    return parse_model_config(as_bytes(text));
}

// A 32-bit program cannot hold the largest of them.
std::vector<ConfigClass> classes_that_fit() {
    std::vector<ConfigClass> all;
    for (const ConfigClass& each : config_classes())
        if (sizeof(void*) > 4 || configured({{"model_type", each.model_type}})) all.push_back(each);
    return all;
}

json set_key(json config, std::string_view key, json value) {
    config[std::string(key)] = std::move(value);
    return config;
}

// Returns configurations of a class that together use all of its keys.
std::vector<json> configs_of(const ConfigClass& each) {
    const json plain{{"model_type", each.model_type}};
    std::vector<json> all{plain};
    if (each.model_type.starts_with("qwen")) all.push_back(set_key(plain, "use_sliding_window", true));
    if (each.model_type == "falcon") all.push_back(set_key(plain, "new_decoder_architecture", true));
    if (each.model_type == "phi3")
        all.push_back(set_key(plain, "rope_scaling",
                              {{"type", "longrope"},
                               {"short_factor", std::vector(48, 1)},
                               {"long_factor", std::vector(48, 2)}}));
    return all;
}

std::set<std::string> all_names() {
    std::set<std::string> all;
    for (const ConfigClass& each : config_classes()) {
        const json defaults = json::parse(each.defaults);
        for (const auto& [key, value] : defaults.items()) all.insert(key);
    }
    for (const KeyRow& row : config_key_rows()) all.emplace(row.name);
    for (const KeyAlias& alias : config_key_aliases()) all.emplace(alias.name);
    return all;
}

bool is_alias(std::string_view type, std::string_view key) {
    return std::ranges::any_of(config_key_aliases(), [&](const KeyAlias& alias) {
        return alias.name == key && is_among(alias.types, type);
    });
}

}  // namespace

TEST_CASE("a file that leaves everything out has its configuration class's defaults", "[config]") {
    CHECK(config_classes().size() == 21);
    for (const ConfigClass& each : classes_that_fit()) {
        CAPTURE(each.model_type);
        const json defaults = json::parse(each.defaults);
        json written = defaults;
        written["model_type"] = each.model_type;
        const auto least = configured({{"model_type", each.model_type}}), whole = configured(written);
        INFO((least ? "" : least.error().message));
        REQUIRE(least);
        REQUIRE(whole);
        CHECK(*least == *whole);
        CHECK(least->vocab_size == defaults["vocab_size"].get<Index>());
    }
    const auto llama = configured({{"model_type", "llama"}});
    CHECK((llama->context == 2048 && llama->d_model == 4096 && llama->d_ff == 11008 && llama->layers == 32));
    CHECK((llama->bos_ids == std::vector<std::int64_t>{1} && llama->eos_ids == std::vector<std::int64_t>{2}));
    CHECK(configured({{"model_type", "mistral"}})->windows.front() == 4096);
    CHECK(configured({{"model_type", "gemma3_text"}, {"vocab_size", 1000}})->context == 131072);
}

TEST_CASE("a null means that the key is missing, or that there is none", "[config]") {
    for (const ConfigClass& each : classes_that_fit()) {
        const json plain{{"model_type", each.model_type}}, defaults = json::parse(each.defaults);
        for (const auto& [key, value] : defaults.items()) {
            if (none_if_null(key)) continue;
            CAPTURE(each.model_type, key);
            const auto config = configured(set_key(plain, key, nullptr));
            REQUIRE(config);
            CHECK(*config == *configured(plain));
        }
    }
    CHECK(configured({{"model_type", "mistral"}, {"sliding_window", nullptr}})->windows.front() == 0);
    CHECK(configured({{"model_type", "qwen2"}, {"vocab_size", 1000}, {"num_key_value_heads", nullptr}})
              ->kv_heads == 32);
    CHECK(configured({{"model_type", "gemma2"}, {"vocab_size", 1000}, {"attn_logit_softcapping", nullptr}})
              ->score_cap == 0);
}

TEST_CASE("each key of each class is computed, harmless, or refused by name", "[config]") {
    for (const ConfigClass& each : classes_that_fit()) {
        const json defaults = json::parse(each.defaults);
        for (const std::string& key : all_names()) {
            CAPTURE(each.model_type, key);
            bool read = false, changes = false, unknown = false;
            const json odd = key.starts_with("rope_") && key != "rope_theta" && key != "rope_local_base_freq"
                                 ? json("x")
                                 : json::object();
            for (const json& config : configs_of(each)) {
                const auto before = configured(config);
                REQUIRE(before);
                auto after = configured(set_key(config, key, odd));
                if (!after) {
                    CHECK_THAT(after.error().message, ContainsSubstring(key));
                    read = true;
                    continue;
                }
                unknown |= after->unknown_keys == std::vector{key};
                after->unknown_keys.clear();
                changes |= *after != *before;
            }
            CHECK(!changes);
            const KeyRow* row = config_key_row(each.model_type, key);
            if (defaults.contains(key)) {
                CHECK(read);
            } else if (is_alias(each.model_type, key)) {
                CHECK(read);
            } else if (key == "model_type") {
                CHECK(read);
            } else if (!row) {
                CHECK((!read && unknown));
            } else if (row->use == KeyUse::refused) {
                CHECK((read || row->passes.find("{}") != std::string_view::npos));
            } else if (row->use == KeyUse::harmless) {
                CHECK((!read && !unknown));
            }
        }
    }
}

TEST_CASE("a refused key opens with its allowed values, and with no others", "[config]") {
    for (const KeyRow& row : config_key_rows()) {
        if (row.use != KeyUse::refused) continue;
        CAPTURE(row.name);
        for (const ConfigClass& each : classes_that_fit()) {
            if (config_key_row(each.model_type, row.name) != &row ||
                json::parse(each.defaults).contains(std::string(row.name)))
                continue;
            CAPTURE(each.model_type);
            const json plain{{"model_type", each.model_type}};
            CHECK(configured(set_key(plain, row.name, nullptr)));
            std::string_view rest = row.passes;
            while (!rest.empty()) {
                const std::string_view first = rest.substr(0, rest.find(' '));
                CHECK(configured(set_key(plain, row.name, json::parse(first))));
                rest.remove_prefix(std::min(rest.size(), first.size() + 1));
            }
            for (const json& value : {json(true), json(false), json("x"), json({{"0", {1}}})}) {
                const auto config = configured(set_key(plain, row.name, value));
                CHECK(static_cast<bool>(config) == is_among(row.passes, value.dump()));
                if (!config) CHECK_THAT(config.error().message, ContainsSubstring(std::string(row.name)));
            }
        }
    }
    CHECK(configured({{"model_type", "falcon"}, {"alibi", true}}).error().message ==
          "config.json asks for ALiBi (alibi), which is not supported");
    CHECK(configured({{"model_type", "falcon"}, {"alibi", 3}}).error().message ==
          "config.json should have false as 'alibi', but has 3");
}

TEST_CASE("a key may have another name, but not another value under it", "[config]") {
    const auto gpt2 = configured({{"model_type", "gpt2"}, {"hidden_size", 96}, {"num_hidden_layers", 3}});
    CHECK((gpt2->d_model == 96 && gpt2->layers == 3));
    CHECK(configured({{"model_type", "t5"}, {"num_layers", 3}, {"num_hidden_layers", 3}})->layers == 3);
    CHECK(
        configured({{"model_type", "t5"}, {"num_layers", 3}, {"num_hidden_layers", 4}}).error().message ==
        "config.json has 3 as 'num_layers' and 4 as 'num_hidden_layers', which are two names of one number");
}

TEST_CASE("a null rope_type does not count, and two that differ are refused", "[config]") {
    const auto scaled = [](json scaling) {
        return configured({{"model_type", "llama"}, {"rope_scaling", std::move(scaling)}});
    };
    CHECK(scaled({{"rope_type", nullptr}, {"type", "linear"}, {"factor", 4}})->rope_scaling ==
          RopeScaling{RopeScaling::Kind::linear, 4});
    CHECK(scaled({{"type", nullptr}, {"rope_type", "linear"}, {"factor", 4}})->rope_scaling.factor == 4);
    CHECK(scaled({{"type", "linear"}, {"rope_type", "default"}, {"factor", 4}}).error().message ==
          "config.json has 'default' as 'rope_type' and 'linear' as 'type' in 'rope_scaling'; they should be "
          "the "
          "same");
    CHECK(scaled({{"factor", 4}}).error().message ==
          "config.json has 'factor' in 'rope_scaling', but no 'rope_type' that says what it scales");
    CHECK(scaled({{"rope_type", "default"}, {"spiral", 4}})->unknown_keys ==
          std::vector<std::string>{"rope_scaling.spiral"});
    CHECK_THAT(configured({{"model_type", "llama"},
                           {"rope_scaling", {{"rope_type", "linear"}, {"factor", 2}}},
                           {"rope_parameters", {{"rope_type", "linear"}, {"factor", 4}}}})
                   .error()
                   .message,
               ContainsSubstring("'rope_scaling' and 'rope_parameters' that differ"));
    CHECK(rope_key_use("factor") == KeyUse::computed);
    CHECK(rope_key_use("mscale") == KeyUse::harmless);
}

TEST_CASE("a decoder may be bidirectional", "[config]") {
    for (const ConfigClass& each : classes_that_fit()) {
        if (!json::parse(each.defaults).contains("is_causal")) continue;
        CAPTURE(each.model_type);
        CHECK(configured({{"model_type", each.model_type}})->causal);
        CHECK(!configured({{"model_type", each.model_type}, {"is_causal", false}})->causal);
    }
    // A two-sided window does not count the query itself, but Gemma's does.
    CHECK(configured({{"model_type", "mistral"}, {"is_causal", false}, {"sliding_window", 4}})->windows[0] ==
          5);
    const auto gemma = [](const char* type) {
        return configured({{"model_type", type},
                           {"vocab_size", 1000},
                           {"use_bidirectional_attention", true},
                           {"sliding_window", 8}});
    };
    CHECK((!gemma("gemma2")->causal && gemma("gemma2")->windows[0] == 8));
    CHECK((!gemma("gemma3_text")->causal && gemma("gemma3_text")->windows[0] == 5));
}

TEST_CASE("published files have no key that the list lacks", "[config][shared]") {
    const auto folder = test::shared_data("families");
    if (!folder) SKIP("shared/families is not beside this project; set ATTN_SHARED to the folder above it");
    for (const auto& entry : std::filesystem::directory_iterator(*folder))
        for (const char* name : {"config.json", "config-v5.json"})
            if (std::filesystem::exists(entry.path() / name)) {
                CAPTURE(entry.path(), name);
                const auto config = parse_model_config(test::read_file(entry.path() / name));
                REQUIRE(config);
                CHECK(config->unknown_keys.empty());
            }
}
