#include "io/model_config.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "io/config_reader.hpp"
#include "io/json.hpp"

namespace attn {

Activation activation_named(Reader& in, const char* key, std::string_view name) {
    struct Known {
        std::string_view name;
        Activation activation;
    };
    constexpr std::array known{
        Known{"relu", Activation::relu},          Known{"gelu", Activation::gelu},
        Known{"gelu_new", Activation::gelu_tanh}, Known{"gelu_pytorch_tanh", Activation::gelu_tanh},
        Known{"silu", Activation::silu},          Known{"swish", Activation::silu},
    };
    const auto* match = std::ranges::find(known, name, &Known::name);
    if (match != known.end()) return match->activation;
    in.refuse("has the activation " + quote(name) + " as " + quote(key) +
              ", which is not supported; relu, gelu, gelu_new, gelu_pytorch_tanh, silu and swish are");
    return {};
}

Activation read_activation(Reader& in, const char* key, std::string_view absent) {
    return activation_named(in, key, in.word(key, absent));
}

namespace {

struct Spelling {
    std::string_view type;
    void (*read)(Reader& in, ModelConfig& c);
};
constexpr std::array spellings{
    Spelling{"gpt2", read_gpt2},
    Spelling{"llama", read_llama},
    Spelling{"mistral", read_llama},
    Spelling{"mixtral", read_llama},
    Spelling{"qwen2", read_llama},
    Spelling{"qwen3", read_llama},
    Spelling{"gemma", read_llama},
    Spelling{"gemma2", read_llama},
    Spelling{"gemma3_text", read_llama},
    Spelling{"phi", read_llama},
    Spelling{"phi3", read_llama},
    Spelling{"olmo2", read_llama},
    Spelling{"stablelm", read_llama},
    Spelling{"gpt_neox", read_gpt_neox},
    Spelling{"gptj", read_gptj},
    Spelling{"falcon", read_falcon},
    Spelling{"opt", read_opt},
    Spelling{"bert", read_bert},
    Spelling{"roberta", read_bert},
    Spelling{"distilbert", read_distilbert},
    Spelling{"t5", read_t5},
};

void check_sizes(Reader& in, const ModelConfig& c) {
    const auto fits = [&](std::string_view what, Index rows, Index cols) {
        if (auto count = element_count({rows, cols}, sizeof(float)); !count)
            in.refuse("describes a model that is too large: its " + std::string(what) + " of " +
                      count.error().message);
    };
    fits("token embedding", c.vocab_size, c.d_model);
    fits("position embedding", c.learned_positions ? c.first_position + c.context : 0, c.d_model);
    fits("segment embedding", c.segments, c.d_model);
    fits("query, key and value projection", 3 * c.heads * c.head_dim, c.d_model);
    fits("MLP", c.d_ff, c.d_model);
}

}  // namespace

Result<ModelConfig> parse_model_config(std::span<const std::byte> text) {
    auto tree = parse_json(text, "config.json", {.bytes = 1 << 20, .depth = 16, .values = 100'000});
    if (!tree) return tree.error();
    if (!tree->is_object()) return Error{"config.json should hold an object, but holds " + shown(*tree)};

    std::string problem;
    Reader in(*tree, problem);
    ModelConfig c;
    c.model_type = in.word("model_type", "");
    const std::string_view type = c.model_type;
    constexpr std::array attention_free{"mamba", "mamba2", "falcon_mamba", "rwkv", "xlstm"};
    if (type.empty()) {
        in.refuse("has no 'model_type', so its architecture is unknown");
    } else if (std::ranges::find(attention_free, type) != attention_free.end()) {
        in.refuse("has model_type " + quote(type) + ", which is not a transformer with attention");
    } else if (const auto known = std::ranges::find(spellings, type, &Spelling::type);
               known != spellings.end()) {
        known->read(in, c);
    } else {
        std::string names;
        for (const Spelling& each : spellings)
            names += (names.empty()                ? ""
                      : &each == &spellings.back() ? " and "
                                                   : ", ") +
                     std::string(each.type);
        in.refuse("has model_type " + quote(type) + ", which is not supported yet; the supported ones are " +
                  names);
    }
    if (!problem.empty()) return Error{std::move(problem)};

    c.vocab_size = in.size("vocab_size", max_vocab);
    c.dtype = in.word(in.has("dtype") ? "dtype" : "torch_dtype", "");
    c.bos_ids = in.ids("bos_token_id");
    if (in.find("eos_token_id")) c.eos_ids = in.ids("eos_token_id");
    if (in.find("quantization_config"))
        in.refuse("says that the weights are quantised (quantization_config), which is not supported");
    if (c.decoder_layers == 0 && in.flag("is_encoder_decoder", false))
        in.refuse("describes an encoder with a decoder (is_encoder_decoder), which is not supported");
    if (c.start_id >= c.vocab_size)
        in.refuse("has decoder_start_token_id = " + std::to_string(c.start_id) +
                  ", which is outside the vocabulary of " + std::to_string(c.vocab_size));
    check_sizes(in, c);
    if (!problem.empty()) return Error{std::move(problem)};
    return c;
}

}  // namespace attn
