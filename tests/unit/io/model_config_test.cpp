#include "io/model_config.hpp"

#include <catch_amalgamated.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/shared_data.hpp"

using namespace attn;
using attn::test::as_bytes;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

json parsed(const std::string& text) { return json::parse(text, nullptr, false); }

// Returns the published config.json of gpt2 (OpenAI), without its task settings.
json gpt2() {
    return parsed(R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": 0.1, "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256,
        "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024,
        "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.1,
        "vocab_size": 50257})");
}

// Returns the config.json of Llama 3.2 1B as transformers 4 writes it.
json llama3() {
    return parsed(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false,
        "attention_dropout": 0.0, "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009],
        "head_dim": 64, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
        "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false,
        "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16,
        "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
        "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                         "original_max_position_embeddings": 8192, "rope_type": "llama3"},
        "rope_theta": 500000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
        "transformers_version": "4.45.0.dev0", "use_cache": true, "vocab_size": 128256})");
}

// Returns the config.json of Qwen 2.5 0.5B as transformers 4 writes it.
json qwen2() {
    return parsed(R"({"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0,
        "bos_token_id": 151643, "eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 896,
        "intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 24,
        "model_type": "qwen2", "num_attention_heads": 14, "num_hidden_layers": 24,
        "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
        "sliding_window": 32768, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
        "use_mrope": false, "use_sliding_window": false, "vocab_size": 151936})");
}

// Returns the config.json of Mistral 7B v0.1 as transformers 4 writes it.
json mistral() {
    return parsed(R"({"architectures": ["MistralForCausalLM"], "bos_token_id": 1, "eos_token_id": 2,
        "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
        "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32,
        "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0, "sliding_window": 4096, "tie_word_embeddings": false,
        "torch_dtype": "bfloat16", "vocab_size": 32000})");
}

json with(json config, const std::string& key, json value) {
    config[key] = std::move(value);
    return config;
}

json without(json config, const std::string& key) {
    config.erase(key);
    return config;
}

ModelConfig read(const json& config) {
    const std::string text = config.dump();
    const auto result = parse_model_config(as_bytes(text));
    if (!result) FAIL(result.error().message);
    return *result;
}

std::string config_refusal(const json& config) {
    const std::string text = config.dump();
    const auto result = parse_model_config(as_bytes(text));
    REQUIRE(!result);
    REQUIRE(result.error().message.starts_with("config.json "));
    return result.error().message.substr(12);
}

}  // namespace

TEST_CASE("gpt2", "[config]") {
    const ModelConfig c = read(gpt2());
    ModelConfig expected;
    expected.family = Family::gpt2;
    expected.model_type = "gpt2";
    expected.vocab_size = 50257;
    expected.layers = expected.heads = expected.kv_heads = 12;
    expected.d_model = 768;
    expected.head_dim = 64;
    expected.d_ff = 3072;
    expected.context = 1024;
    expected.norm_epsilon = 1e-5;
    expected.activation = Activation::gelu_tanh;
    expected.qkv_bias = expected.attention_output_bias = expected.mlp_bias = true;
    expected.tie_word_embeddings = true;
    expected.scale_by_head_dim = true;
    expected.scale_by_layer_index = false;
    expected.windows.assign(12, 0);
    expected.learned_positions = true;
    expected.bos_ids = expected.eos_ids = {50256};
    CHECK(c == expected);

    CHECK(read(with(gpt2(), "n_inner", 1000)).d_ff == 1000);
    CHECK(read(with(gpt2(), "n_inner", nullptr)).d_ff == 3072);
    CHECK(!read(with(gpt2(), "tie_word_embeddings", false)).tie_word_embeddings);
    CHECK(!read(with(gpt2(), "scale_attn_weights", false)).scale_by_head_dim);
    CHECK(read(with(gpt2(), "scale_attn_by_inverse_layer_idx", true)).scale_by_layer_index);
    CHECK(read(with(gpt2(), "bos_token_id", nullptr)).bos_ids.empty());
}

TEST_CASE("llama with the RoPE scaling of Llama 3", "[config]") {
    const ModelConfig c = read(llama3());
    ModelConfig expected;
    expected.family = Family::llama;
    expected.model_type = "llama";
    expected.dtype = "bfloat16";
    expected.vocab_size = 128256;
    expected.layers = 16;
    expected.heads = 32;
    expected.kv_heads = 8;
    expected.d_model = 2048;
    expected.head_dim = 64;
    expected.d_ff = 8192;
    expected.context = 131072;
    expected.norm_epsilon = 1e-5;
    expected.activation = Activation::silu;
    expected.tie_word_embeddings = true;
    expected.rope_theta = 500000;
    expected.rotary_dim = 64;
    expected.rope_scaling = {RopeScaling::Kind::llama3, 32, 1, 4, 8192};
    expected.windows.assign(16, 0);
    expected.bos_ids = {128000};
    expected.eos_ids = {128001, 128008, 128009};
    CHECK(c == expected);

    json five = without(without(without(llama3(), "rope_theta"), "rope_scaling"), "torch_dtype");
    five["dtype"] = "bfloat16";
    five["rope_parameters"] = llama3()["rope_scaling"];
    five["rope_parameters"]["rope_theta"] = 500000.0;
    CHECK(read(five) == expected);

    json old = with(llama3(), "rope_scaling", {{"type", "linear"}, {"factor", 4}});
    CHECK(read(old).rope_scaling == RopeScaling{RopeScaling::Kind::linear, 4});
    CHECK(read(with(llama3(), "rope_scaling", nullptr)).rope_scaling == RopeScaling{});
    CHECK(read(with(without(llama3(), "rope_scaling"), "rope_parameters",
                    {{"rope_type", "default"}, {"rope_theta", 1e6}}))
              .rope_theta == 1e6);

    CHECK(read(without(llama3(), "tie_word_embeddings")).tie_word_embeddings == false);
    CHECK(read(without(llama3(), "num_key_value_heads")).kv_heads == 32);
    CHECK(read(without(llama3(), "head_dim")).head_dim == 64);
    CHECK(read(with(llama3(), "head_dim", 128)).head_dim == 128);
    CHECK(read(without(llama3(), "rms_norm_eps")).norm_epsilon == 1e-6);
    CHECK(read(without(llama3(), "rope_theta")).rope_theta == 10000);
    const ModelConfig biased = read(with(with(llama3(), "attention_bias", true), "mlp_bias", true));
    CHECK((biased.qkv_bias && biased.attention_output_bias && biased.mlp_bias));
}

TEST_CASE("qwen2 has biases on q, k and v, and windows only if it says so", "[config]") {
    const ModelConfig c = read(qwen2());
    CHECK(c.family == Family::llama);
    CHECK((c.qkv_bias && !c.attention_output_bias && !c.mlp_bias));
    CHECK(c.head_dim == 64);
    CHECK(c.windows == std::vector<Index>(24, 0));
    CHECK(!read(without(qwen2(), "tie_word_embeddings")).tie_word_embeddings);

    json windowed = with(with(qwen2(), "use_sliding_window", true), "max_window_layers", 22);
    std::vector<Index> last_two(24, 0);
    last_two[22] = last_two[23] = 32768;
    CHECK(read(windowed).windows == last_two);
    CHECK(read(with(windowed, "max_window_layers", 28)).windows == std::vector<Index>(24, 0));
    CHECK(read(without(windowed, "sliding_window")).windows[23] == 4096);

    json types = json::array();
    for (int i = 0; i < 24; ++i) types.push_back(i < 22 ? "full_attention" : "sliding_attention");
    CHECK(read(with(windowed, "layer_types", types)).windows == last_two);
    CHECK(read(with(qwen2(), "layer_types", types)).windows == std::vector<Index>(24, 0));
    types[3] = "linear_attention";
    CHECK(config_refusal(with(windowed, "layer_types", types)) ==
          "has 'linear_attention' in 'layer_types', which is not supported; full_attention and "
          "sliding_attention are");
    types.erase(0);
    CHECK(config_refusal(with(windowed, "layer_types", types)) ==
          "should have one entry for each of its 24 layers in 'layer_types'");
}

TEST_CASE("mistral has a window in every layer, unless it is null", "[config]") {
    const ModelConfig c = read(mistral());
    CHECK((!c.qkv_bias && !c.attention_output_bias && !c.mlp_bias));
    CHECK(c.windows == std::vector<Index>(32, 4096));
    CHECK(read(with(mistral(), "sliding_window", nullptr)).windows == std::vector<Index>(32, 0));
    CHECK(read(without(mistral(), "sliding_window")).windows == std::vector<Index>(32, 4096));
}

TEST_CASE("an architecture outside the families is refused by name", "[config]") {
    CHECK(config_refusal(with(gpt2(), "model_type", "mamba")) ==
          "has model_type 'mamba', which is not a transformer with attention");
    CHECK(config_refusal(with(gpt2(), "model_type", "bloom")) ==
          "has model_type 'bloom', which is not supported yet; the supported ones are gpt2, llama, mistral, "
          "mixtral, qwen2, qwen3, gemma, gemma2, gemma3_text, phi, phi3, olmo2, stablelm, gpt_neox, gptj, "
          "falcon, "
          "opt, bert, roberta, distilbert and t5");
    CHECK(config_refusal(without(gpt2(), "model_type")) ==
          "has no 'model_type', so its architecture is unknown");
    CHECK(config_refusal(with(gpt2(), "model_type", 7)) == "should have a text as 'model_type', but has 7");
    CHECK(config_refusal(with(llama3(), "quantization_config", {{"quant_method", "gptq"}})) ==
          "says that the weights are quantised (quantization_config), which is not supported");
    CHECK(config_refusal(with(gpt2(), "add_cross_attention", true)) ==
          "asks for cross attention (add_cross_attention), which is not supported");
    CHECK(config_refusal(with(gpt2(), "is_encoder_decoder", true)) ==
          "describes an encoder with a decoder (is_encoder_decoder), which is not supported");
}

TEST_CASE("an activation is known or refused by name", "[config]") {
    const auto activation = [](const std::string& name) {
        return read(with(gpt2(), "activation_function", name)).activation;
    };
    CHECK(activation("relu") == Activation::relu);
    CHECK(activation("gelu") == Activation::gelu);
    CHECK(activation("gelu_new") == Activation::gelu_tanh);
    CHECK(activation("gelu_pytorch_tanh") == Activation::gelu_tanh);
    CHECK(activation("silu") == Activation::silu);
    CHECK(activation("swish") == Activation::silu);
    CHECK(config_refusal(with(gpt2(), "activation_function", "quick_gelu")) ==
          "has the activation 'quick_gelu' as 'activation_function', which is not supported; relu, gelu, "
          "gelu_new, gelu_pytorch_tanh, silu and swish are");
    CHECK_THAT(config_refusal(with(llama3(), "hidden_act", "mish")),
               ContainsSubstring("'mish' as 'hidden_act'"));
}

TEST_CASE("RoPE of another type, or with numbers out of range, is refused", "[config]") {
    const auto scaled = [](json scaling) {
        return config_refusal(with(llama3(), "rope_scaling", std::move(scaling)));
    };
    const json scaling = llama3()["rope_scaling"];
    for (const std::string type : {"dynamic", "yarn", "su"}) {
        CHECK(scaled({{"rope_type", type}, {"factor", 4.0}}) ==
              "has the RoPE type '" + type +
                  "' in 'rope_scaling', which is not supported; default, linear, llama3 and longrope are");
    }
    CHECK(scaled({{"type", "linear"}}) == "has no 'factor' in 'rope_scaling'");
    CHECK(scaled({{"type", "linear"}, {"factor", 0.5}}) ==
          "should have a number from 1.0 to 1000000.0 as 'factor', but has 0.5");
    CHECK(scaled(without(scaling, "original_max_position_embeddings")) ==
          "has no 'original_max_position_embeddings' in 'rope_scaling'");
    CHECK(scaled(without(scaling, "low_freq_factor")) == "has no 'low_freq_factor' in 'rope_scaling'");
    CHECK(scaled(with(scaling, "low_freq_factor", 4.0)) ==
          "has a 'low_freq_factor' that is not below 'high_freq_factor' in 'rope_scaling'");
    CHECK(scaled("linear") == "should have an object as 'rope_scaling'");
    CHECK(config_refusal(with(without(llama3(), "rope_scaling"), "rope_parameters",
                              {{"full_attention", {{"rope_type", "default"}}}})) ==
          "has 'rope_parameters' that differ between kinds of layers, which is not supported");
    const json plain = without(llama3(), "rope_scaling");
    CHECK(read(with(plain, "rope_parameters", {{"partial_rotary_factor", 0.5}})).rotary_dim == 32);
    CHECK(config_refusal(with(plain, "rope_parameters", {{"partial_rotary_factor", 0.05}})) ==
          "has heads of head_dim = 64, of which 3 components turn; rotary positions need an even number of "
          "them, from 2 on");
    CHECK(config_refusal(with(llama3(), "rope_theta", 0)) ==
          "should have a number from 1.0 to 1000000000000.0 as 'rope_theta', but has 0");
    CHECK(config_refusal(with(llama3(), "rope_theta", "10000")) ==
          "should have a number from 1.0 to 1000000000000.0 as 'rope_theta', but has '10000'");
}

TEST_CASE("every number is checked", "[config]") {
    const json strange = json::array(
        {0, -1, 1.5, "12", true, json::array(), json::object(), 1e300, 1ull << 40, 18446744073709551615ull});
    for (const std::string key : {"vocab_size", "n_embd", "n_layer", "n_head", "n_positions", "n_inner"}) {
        for (const json& value : strange) {
            INFO(key << " = " << value);
            CHECK_THAT(config_refusal(with(gpt2(), key, value)), ContainsSubstring("'" + key + "'"));
        }
    }
    for (const std::string key :
         {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
          "num_key_value_heads", "max_position_embeddings", "head_dim"}) {
        for (const json& value : strange) {
            INFO(key << " = " << value);
            CHECK_THAT(config_refusal(with(llama3(), key, value)), ContainsSubstring("'" + key + "'"));
        }
    }
    CHECK(config_refusal(with(gpt2(), "n_layer", 1025)) ==
          "should have a whole number from 1 to 1024 as 'n_layer', but has 1025");
    CHECK(config_refusal(with(gpt2(), "n_head", 7)) == "has n_head = 7, which does not divide n_embd = 768");
    CHECK(config_refusal(with(llama3(), "num_key_value_heads", 5)) ==
          "has num_key_value_heads = 5, which does not divide num_attention_heads = 32");
    CHECK(config_refusal(without(with(llama3(), "num_attention_heads", 24), "head_dim")) ==
          "has num_attention_heads = 24, which does not divide hidden_size = 2048");
    CHECK(config_refusal(with(llama3(), "head_dim", 63)) ==
          "has heads of head_dim = 63, of which 63 components turn; rotary positions need an even number of "
          "them, from 2 on");
    CHECK(config_refusal(with(llama3(), "rms_norm_eps", 0)) ==
          "should have a number from 1e-12 to 1.0 as 'rms_norm_eps', but has 0");
    CHECK(config_refusal(with(llama3(), "tie_word_embeddings", 1)) ==
          "should have true or false as 'tie_word_embeddings', but has 1");
    CHECK(config_refusal(with(llama3(), "eos_token_id", "</s>")) ==
          "should have a token id or a list of token ids as 'eos_token_id', but has '</s>'");
    CHECK_THAT(config_refusal(with(llama3(), "eos_token_id", {1, 18446744073709551615ull})),
               ContainsSubstring("but has 18446744073709551615"));
    if constexpr (sizeof(Index) == 4) {
        const json large = with(with(gpt2(), "vocab_size", 1 << 24), "n_embd", 1 << 16);
        CHECK(config_refusal(with(large, "n_head", 16)) ==
              "describes a model that is too large: its token embedding of shape 16777216×65536 is larger "
              "than the address space");
    }
}

TEST_CASE("a config that is not a JSON object is refused", "[config]") {
    const auto message = [](const std::string& text) {
        return parse_model_config(as_bytes(text)).error().message;
    };
    CHECK(message("[]") == "config.json should hold an object, but holds a list");
    CHECK(message("\"gpt2\"") == "config.json should hold an object, but holds 'gpt2'");
    CHECK_THAT(message("{"), ContainsSubstring("config.json is not valid JSON at line 1, column 2"));
    CHECK(message(R"({"n_embd": 4, "n_embd": 8})") == "config.json has the key 'n_embd' twice");
    CHECK_THAT(message("[" + std::string(2'000'000, ' ')), ContainsSubstring("at most 1048576"));
    CHECK_THAT(message(std::string(1000, '[')), ContainsSubstring("more than 16 levels"));
}

TEST_CASE("other people's configs", "[config][shared]") {
    const auto folder = test::shared_data("models");
    if (!folder) SKIP("shared/models is not here");
    int files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
        if (entry.path().filename() != "config.json") continue;
        INFO(entry.path());
        CHECK(parse_model_config(test::read_file(entry.path())));
        ++files;
    }
    CHECK(files > 0);
}
