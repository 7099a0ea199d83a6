// Tests every key of every family's configuration missing, of a wrong type and with a wrong value, and every
// tensor missing or with a wrong shape: each gives one sentence that names it, or the family's default. Small
// families always, the goldens of others if they are present.
#include <algorithm>

#include "io/config_keys.hpp"
#include "support/shared_data.hpp"
#include "support/small_families.hpp"
#include "support/this_build.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

struct FamilyFiles {
    std::string name;
    nlohmann::json config;
    ModelFiles files;
};

std::vector<FamilyFiles> small_checkpoints() {
    std::vector<FamilyFiles> all;
    for (const SmallFamily& family : all_small_families())
        all.push_back({family.name, nlohmann::json::parse(family.config), files_of(family)});
    return all;
}

std::vector<FamilyFiles> golden_checkpoints(const std::vector<const char*>& spellings) {
    std::vector<FamilyFiles> all;
    const auto folder = shared_data("families");
    if (!folder) SKIP("shared/families is not beside this project; set ATTN_SHARED to the folder above it");
    for (const auto& entry : std::filesystem::directory_iterator(*folder))
        for (const char* config : spellings) {
            if (!std::filesystem::exists(entry.path() / config)) continue;
            const Bytes text = read_file(entry.path() / config);
            ModelFiles files{.config = text, .index = {}, .weights = {}};
            files.weights["model.safetensors"] = read_file(entry.path() / "model.safetensors");
            all.push_back({entry.path().filename().string() + "/" + config,
                           nlohmann::json::parse(reinterpret_cast<const char*>(text.data()),
                                                 reinterpret_cast<const char*>(text.data()) + text.size()),
                           std::move(files)});
        }
    CHECK(all.size() > 20 * spellings.size());
    return all;
}

// Returns why a model with these keys is refused; empty if it opens.
std::string told_of(const FamilyFiles& checkpoint, const nlohmann::json& config) {
    const std::string text = config.dump();
    const auto bytes = as_bytes(text);
    ModelFiles files = checkpoint.files;
    files.config.assign(bytes.begin(), bytes.end());
    const auto model = Model::load(std::move(files));
    if (model) return "";
    CHECK(model.error().message.find('\n') == std::string::npos);
    return model.error().message;
}

bool mentions(const std::string& told, const std::string& key) { return told.find(key) != std::string::npos; }
bool mentions_key(const std::string& told, const nlohmann::json& config) {
    for (const auto& [key, value] : config.items())
        if (mentions(told, key)) return true;
    return false;
}
bool mentions_tensor(const std::string& told) {
    return mentions(told, "layers in 'layer_types'") ||  // layer_types determines the layers' tensors
           mentions(told, "the weights lack tensor") ||
           (mentions(told, "tensor '") && mentions(told, "by config.json"));
}

// Keys that the list calls harmless, and keys that are read only if another key requires it.
bool is_unread(const std::string& type, const std::string& key, const nlohmann::json& config) {
    const bool windows = config.value("use_sliding_window", true),
               grouped = config.value("new_decoder_architecture", false),
               by_layer = config.contains("layer_types");
    const auto* of = std::ranges::find(config_classes(), type, &ConfigClass::model_type).base();
    const KeyRow* row = config_key_row(type, key);
    if (!nlohmann::json::parse(of->defaults).contains(key) && row && row->use == KeyUse::harmless)
        return true;
    return (key == "original_max_position_embeddings" &&
            !(config.contains("rope_scaling") && config["rope_scaling"].is_object())) ||
           ((key == "num_kv_heads" || key == "num_ln_in_parallel_attn") && !grouped) ||
           (key == "multi_query" && grouped) || (key.ends_with("sliding_window_pattern") && by_layer) ||
           (!windows && (key == "layer_types" || key == "max_window_layers" || key == "sliding_window"));
}

// Keys for numbers of heads, which no tensor reveals if the widths stay the same.
bool counts_heads(const std::string& key) {
    return key == "num_attention_heads" || key == "n_head" || key == "n_heads" || key == "num_heads";
}

bool is_activation(const std::string& key) {
    return key == "hidden_act" || key == "hidden_activation" || key == "activation" ||
           key == "activation_function" || key == "feed_forward_proj" || key == "dense_act_fn";
}

void check_keys(const std::vector<FamilyFiles>& checkpoints) {
    for (const FamilyFiles& checkpoint : checkpoints) {
        const nlohmann::json& config = checkpoint.config;
        const auto type = config["model_type"].get<std::string>();
        CAPTURE(checkpoint.name);
        CHECK(told_of(checkpoint, config) == "");
        for (const auto& [key, value] : config.items()) {
            CAPTURE(key);
            auto lacking = config, wrong = config;
            lacking.erase(key);
            // The class's default may contradict another key, or the tensors.
            const std::string without = told_of(checkpoint, lacking);
            CHECK((without.empty() || mentions_tensor(without) || mentions_key(without, config) ||
                   mentions(without, "head_dim") || mentions(without, "_factor'")));
            const bool of_object = value.is_object() || key == "rope_scaling";
            wrong[key] = of_object ? nlohmann::json("x") : nlohmann::json::object();
            const std::string odd = told_of(checkpoint, wrong);
            CHECK(odd.empty() == is_unread(type, key, config));
            CHECK((odd.empty() || mentions(odd, "'" + key + "'")));
            if (value.is_number_integer() && !is_unread(type, key, config)) {
                // None of the widths is divisible by 7.
                wrong[key] = counts_heads(key) ? 7 : value.get<int>() + 1;
                const std::string off = told_of(checkpoint, wrong);
                CHECK((off.empty() || mentions(off, key) || mentions_tensor(off)));
                wrong[key] = -1;
                CHECK((told_of(checkpoint, wrong).empty() == key.ends_with("_token_id") ||
                       mentions(told_of(checkpoint, wrong), "'" + key + "'")));
            }
            if (value.is_string() && is_activation(key) && !config_key_row(type, key)) {
                wrong[key] = "snake";
                CHECK_THAT(told_of(checkpoint, wrong),
                           ContainsSubstring("'snake'") && ContainsSubstring("'" + key + "'"));
            }
            if (!value.is_object()) continue;
            for (const auto& [inner, number] : value.items()) {
                CAPTURE(inner);
                auto changed = config;
                changed[key][inner] = number.is_object() ? nlohmann::json("x") : nlohmann::json::object();
                const std::string told = told_of(checkpoint, changed);
                CHECK((told.empty() || mentions(told, "'" + inner + "'") || mentions(told, "'" + key + "'")));
            }
        }
    }
}

// For keys that determine the shapes of tensors: if one is off by one, the sentence names the key or a
// tensor.
void check_sizes_off(const std::vector<FamilyFiles>& checkpoints) {
    for (const FamilyFiles& checkpoint : checkpoints)
        for (const char* key : {"vocab_size",
                                "hidden_size",
                                "n_embd",
                                "dim",
                                "d_model",
                                "num_hidden_layers",
                                "n_layer",
                                "n_layers",
                                "num_layers",
                                "num_decoder_layers",
                                "num_attention_heads",
                                "n_head",
                                "n_heads",
                                "num_heads",
                                "intermediate_size",
                                "ffn_dim",
                                "ffn_hidden_size",
                                "hidden_dim",
                                "d_ff",
                                "d_kv",
                                "num_local_experts",
                                "word_embed_proj_dim",
                                "type_vocab_size",
                                "relative_attention_num_buckets"}) {
            if (!checkpoint.config.contains(key)) continue;
            CAPTURE(checkpoint.name, key);
            auto off = checkpoint.config;
            off[key] = counts_heads(key) ? 7 : off[key].get<int>() + 1;
            const std::string told = told_of(checkpoint, off);
            CHECK((mentions(told, key) || mentions_tensor(told)));
            off[key] = 0;
            CHECK_THAT(told_of(checkpoint, off), ContainsSubstring("'" + std::string(key) + "'"));
        }
}

// Tensors in the file that no run reads.
bool is_unread_tensor(const std::string& name) {
    for (const char* end : {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq",
                            ".embeddings.position_ids", ".EncDecAttention.relative_attention_bias.weight"})
        if (name.ends_with(end)) return true;
    return false;
}

void check_tensors(const std::vector<FamilyFiles>& checkpoints) {
    for (const FamilyFiles& checkpoint : checkpoints) {
        const std::vector<TensorToWrite> whole = tensors_of(checkpoint.files.weights.begin()->second);
        for (std::size_t i = 0; i < whole.size(); ++i) {
            if (i % test::thinned != whole.size() % test::thinned) continue;
            CAPTURE(checkpoint.name, whole[i].name);
            std::vector<TensorToWrite> lacking = whole, odd = whole;
            lacking.erase(lacking.begin() + static_cast<std::ptrdiff_t>(i));
            odd[i].shape.push_back(1);
            const auto told = [&](const std::vector<TensorToWrite>& tensors) {
                return told_of({checkpoint.name, checkpoint.config, with_tensors(checkpoint.files, tensors)},
                               checkpoint.config);
            };
            if (is_unread_tensor(whole[i].name)) {
                CHECK(told(lacking) == "");
                continue;
            }
            // A prefix that all names have, such as "transformer.", is omitted for an absent tensor.
            const std::string absent = told(lacking), start = "the weights lack tensor '";
            REQUIRE(absent.starts_with(start));
            CHECK(whole[i].name.ends_with(
                absent.substr(start.size(), absent.find('\'', start.size()) - start.size())));
            CHECK_THAT(told(odd), ContainsSubstring("tensor '" + whole[i].name + "' has shape") &&
                                      ContainsSubstring("by config.json"));
        }
    }
}

}  // namespace

TEST_CASE("each key of each small family is read or refused by name", "[model][refusals]") {
    check_keys(small_checkpoints());
    check_sizes_off(small_checkpoints());
}

TEST_CASE("each key of each published spelling is read or refused by name", "[model][refusals]") {
    const auto goldens = golden_checkpoints({"config.json", "config-v5.json"});
    check_keys(goldens);
    check_sizes_off(goldens);
}

TEST_CASE("each tensor of each published file is needed, and refused by name", "[model][refusals]") {
    check_tensors(golden_checkpoints({"config.json"}));
}

TEST_CASE("an unknown kind of rotary position is refused by name, in every family with RoPE",
          "[model][refusals]") {
    int turning = 0;
    for (const FamilyFiles& checkpoint : small_checkpoints()) {
        const auto type = checkpoint.config["model_type"].get<std::string>();
        const auto parsed = parse_model_config(checkpoint.files.config);
        REQUIRE(parsed);
        if (parsed->rotary_dim == 0 || type == "gptj") continue;  // GPT-J has no such key
        ++turning;
        for (const char* key : {"rope_scaling", "rope_parameters"}) {
            CAPTURE(checkpoint.name, key);
            auto config = checkpoint.config;
            config.erase("rope_scaling");
            config[key] = {{"rope_type", "spiral"}, {"factor", 2}};
            CHECK_THAT(told_of(checkpoint, config),
                       ContainsSubstring("'spiral'") && ContainsSubstring("'" + std::string(key) + "'"));
            config[key] = {{"rope_type", "linear"}};
            CHECK_THAT(told_of(checkpoint, config),
                       ContainsSubstring("has no 'factor' in '" + std::string(key) + "'"));
        }
    }
    CHECK(turning >= 18);
}
