#include "io/model_config.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "io/json.hpp"
#include "io/quote.hpp"

namespace attn {

namespace {

using nlohmann::json;

// These limits are above anything published, and low enough that a product of two cannot overflow 64 bits.
constexpr Index max_vocab = Index{1} << 24;
constexpr Index max_layers = 1024;
constexpr Index max_heads = 1024;
constexpr Index max_width = Index{1} << 17;
constexpr Index max_head_dim = Index{1} << 14;
constexpr Index max_hidden = Index{1} << 20;
constexpr Index max_context = Index{1} << 26;
constexpr double max_theta = 1e12;
constexpr double max_factor = 1e6;

std::string shown(const json& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "a list";
    if (const auto* text = value.get_ptr<const std::string*>()) return quote(*text);
    return value.dump();
}

// Reads the keys of one object. Only the first error is kept; values read after it are meaningless.
class Reader {
  public:
    Reader(const json& object, std::string& problem) : object_(object), problem_(problem) {}

    void refuse(std::string what) {
        if (problem_.empty()) problem_ = "config.json " + std::move(what);
    }

    Reader inside(const json& object) const { return Reader(object, problem_); }

    bool has(const char* key) const { return object_.contains(key); }

    // Returns null if the key is absent or its value is null.
    const json* find(const char* key) const {
        const auto place = object_.find(key);
        return place == object_.end() || place->is_null() ? nullptr : &*place;
    }

    Index size(const char* key, Index max) {
        if (!find(key)) refuse("has no " + quote(key));
        return size(key, max, 1);
    }

    Index size(const char* key, Index max, Index absent, Index min = 1) {
        const json* value = find(key);
        if (!value) return absent;
        const auto* number = value->get_ptr<const json::number_unsigned_t*>();
        if (number && std::cmp_greater_equal(*number, min) && std::cmp_less_equal(*number, max))
            return static_cast<Index>(*number);
        wrong(key, *value, "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
        return absent;
    }

    double number(const char* key, double absent, double min, double max) {
        const json* value = find(key);
        if (!value) return absent;
        if (value->is_number()) {
            const auto read = value->get<double>();
            if (min <= read && read <= max) return read;
        }
        wrong(key, *value, "a number from " + shown(min) + " to " + shown(max));
        return absent;
    }

    bool flag(const char* key, bool absent) {
        const json* value = find(key);
        if (!value) return absent;
        const auto* read = value->get_ptr<const bool*>();
        if (!read) wrong(key, *value, "true or false");
        return read ? *read : absent;
    }

    std::string_view word(const char* key, std::string_view absent) {
        const json* value = find(key);
        if (!value) return absent;
        const auto* read = value->get_ptr<const std::string*>();
        if (!read) wrong(key, *value, "a text");
        return read ? *read : absent;
    }

    std::vector<std::int64_t> ids(const char* key) {
        std::vector<std::int64_t> out;
        const auto add = [&](const json& value) {
            const auto* large = value.get_ptr<const json::number_unsigned_t*>();
            if (value.is_number_integer() && (!large || std::in_range<std::int64_t>(*large)))
                out.push_back(value.get<std::int64_t>());
            else
                wrong(key, value, "a token id or a list of token ids");
        };
        if (const json* value = find(key); value && value->is_array())
            for (const json& id : *value) add(id);
        else if (value)
            add(*value);
        return out;
    }

  private:
    void wrong(const char* key, const json& value, const std::string& expected) {
        refuse("should have " + expected + " as " + quote(key) + ", but has " + shown(value));
    }

    const json& object_;
    std::string& problem_;
};

Activation activation(Reader& in, const char* key, std::string_view absent) {
    struct Known {
        std::string_view name;
        Activation activation;
    };
    constexpr std::array known{
        Known{"relu", Activation::relu},          Known{"gelu", Activation::gelu},
        Known{"gelu_new", Activation::gelu_tanh}, Known{"gelu_pytorch_tanh", Activation::gelu_tanh},
        Known{"silu", Activation::silu},          Known{"swish", Activation::silu},
    };
    const std::string_view name = in.word(key, absent);
    const auto* match = std::ranges::find(known, name, &Known::name);
    if (match != known.end()) return match->activation;
    in.refuse("has the activation " + quote(name) + " as " + quote(key) +
              ", which is not supported; relu, gelu, gelu_new, gelu_pytorch_tanh, silu and swish are");
    return {};
}

void read_gpt2(Reader& in, ModelConfig& c) {
    c.d_model = in.size("n_embd", max_width);
    c.layers = in.size("n_layer", max_layers);
    c.heads = in.size("n_head", max_heads);
    c.context = in.size("n_positions", max_context);
    c.kv_heads = c.heads;
    c.head_dim = c.d_model / c.heads;
    c.d_ff = in.size("n_inner", max_hidden, 4 * c.d_model);
    c.norm_epsilon = in.number("layer_norm_epsilon", 1e-5, 1e-12, 1);
    c.activation = activation(in, "activation_function", "gelu_new");
    c.qkv_bias = c.attention_output_bias = c.mlp_bias = true;
    c.tie_word_embeddings = in.flag("tie_word_embeddings", true);
    c.scale_by_head_dim = in.flag("scale_attn_weights", true);
    c.scale_by_layer_index = in.flag("scale_attn_by_inverse_layer_idx", false);
    c.windows.assign(static_cast<std::size_t>(c.layers), 0);
    if (c.d_model % c.heads != 0)
        in.refuse("has n_head = " + std::to_string(c.heads) +
                  ", which does not divide n_embd = " + std::to_string(c.d_model));
    if (in.flag("add_cross_attention", false))
        in.refuse("asks for cross attention (add_cross_attention), which is not supported");
}

// transformers 4 writes rope_theta, and rope_scaling with rope_type or type; transformers 5 puts all
// of it in rope_parameters.
void read_rope(Reader& top, ModelConfig& c) {
    c.rope_theta = top.number("rope_theta", 10'000, 1, max_theta);
    const char* key = top.find("rope_parameters") ? "rope_parameters" : "rope_scaling";
    const json* object = top.find(key);
    if (!object) return;
    if (!object->is_object()) return top.refuse("should have an object as " + quote(key));
    if (std::ranges::any_of(*object, [](const json& value) { return value.is_object(); }))
        return top.refuse("has " + quote(key) +
                          " that differ between kinds of layers, which is not supported");

    Reader in = top.inside(*object);
    c.rope_theta = in.number("rope_theta", c.rope_theta, 1, max_theta);
    if (in.number("partial_rotary_factor", 1, 0, 1) != 1)
        in.refuse("rotates only a part of each head (partial_rotary_factor), which is not supported");
    const std::string_view type = in.word(in.has("rope_type") ? "rope_type" : "type", "default");
    if (type == "default") return;
    if (type != "linear" && type != "llama3")
        return in.refuse("has the RoPE type " + quote(type) + " in " + quote(key) +
                         ", which is not supported; default, linear and llama3 are");

    const bool llama3 = type == "llama3";
    c.rope_scaling.kind = llama3 ? RopeScaling::Kind::llama3 : RopeScaling::Kind::linear;
    if (!in.find("factor")) return in.refuse("has no 'factor' in " + quote(key));
    c.rope_scaling.factor = in.number("factor", 1, 1, max_factor);
    if (!llama3) return;
    for (const char* needed : {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"})
        if (!in.find(needed)) in.refuse("has no " + quote(needed) + " in " + quote(key));
    c.rope_scaling.low_freq_factor = in.number("low_freq_factor", 1, 1e-3, max_factor);
    c.rope_scaling.high_freq_factor = in.number("high_freq_factor", 4, 1e-3, max_factor);
    c.rope_scaling.original_context = in.size("original_max_position_embeddings", max_context);
    if (c.rope_scaling.low_freq_factor >= c.rope_scaling.high_freq_factor)
        in.refuse("has a 'low_freq_factor' that is not below 'high_freq_factor' in " + quote(key));
}

// mistral has one window for all layers: 4096 if the key is absent, none if it is null. qwen2 has windows only if
// use_sliding_window is true, in the layers that layer_types names or from max_window_layers on. llama has none.
void read_windows(Reader& in, ModelConfig& c) {
    c.windows.assign(static_cast<std::size_t>(c.layers), 0);
    const bool qwen2 = c.model_type == "qwen2";
    if (c.model_type == "llama" || (qwen2 && !in.flag("use_sliding_window", false))) return;
    const Index window = in.size("sliding_window", max_context, in.has("sliding_window") ? 0 : 4096);
    const json* types = qwen2 ? in.find("layer_types") : nullptr;
    if (!types) {
        const Index first = qwen2 ? std::min(in.size("max_window_layers", max_layers, 28, 0), c.layers) : 0;
        std::fill(c.windows.begin() + first, c.windows.end(), window);
        return;
    }
    if (!types->is_array() || types->size() != c.windows.size())
        return in.refuse("should have one entry for each of its " + std::to_string(c.layers) +
                         " layers in 'layer_types'");
    for (std::size_t layer = 0; layer < c.windows.size(); ++layer) {
        const auto* type = (*types)[layer].get_ptr<const std::string*>();
        if (type && *type == "sliding_attention")
            c.windows[layer] = window;
        else if (!type || *type != "full_attention")
            return in.refuse("has " + shown((*types)[layer]) +
                             " in 'layer_types', which is not supported; full_attention and "
                             "sliding_attention are");
    }
}

void read_llama(Reader& in, ModelConfig& c) {
    c.d_model = in.size("hidden_size", max_width);
    c.d_ff = in.size("intermediate_size", max_hidden);
    c.layers = in.size("num_hidden_layers", max_layers);
    c.heads = in.size("num_attention_heads", max_heads);
    c.kv_heads = in.size("num_key_value_heads", max_heads, c.heads);
    c.context = in.size("max_position_embeddings", max_context);
    c.head_dim = in.size("head_dim", max_head_dim, c.d_model / c.heads);
    c.norm_epsilon = in.number("rms_norm_eps", 1e-6, 1e-12, 1);
    c.activation = activation(in, "hidden_act", "silu");
    if (c.model_type == "llama") {
        c.qkv_bias = c.attention_output_bias = in.flag("attention_bias", false);
        c.mlp_bias = in.flag("mlp_bias", false);
    } else {
        c.qkv_bias = c.model_type == "qwen2";
    }
    c.tie_word_embeddings = in.flag("tie_word_embeddings", false);
    read_rope(in, c);
    read_windows(in, c);

    if (!in.find("head_dim") && c.d_model % c.heads != 0)
        in.refuse("has num_attention_heads = " + std::to_string(c.heads) +
                  ", which does not divide hidden_size = " + std::to_string(c.d_model));
    if (c.heads % c.kv_heads != 0)
        in.refuse("has num_key_value_heads = " + std::to_string(c.kv_heads) +
                  ", which does not divide num_attention_heads = " + std::to_string(c.heads));
    if (c.head_dim % 2 != 0)
        in.refuse("has heads of " + std::to_string(c.head_dim) +
                  " dimensions; rotary positions need an even number");
}

void check_sizes(Reader& in, const ModelConfig& c) {
    const auto fits = [&](std::string_view what, Index rows, Index cols) {
        if (auto count = element_count({rows, cols}, sizeof(float)); !count)
            in.refuse("describes a model that is too large: its " + std::string(what) + " of " +
                      count.error().message);
    };
    fits("token embedding", c.vocab_size, c.d_model);
    fits("position embedding", c.family == Family::gpt2 ? c.context : 0, c.d_model);
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
    } else if (type == "gpt2") {
        c.family = Family::gpt2;
        read_gpt2(in, c);
    } else if (type == "llama" || type == "mistral" || type == "qwen2") {
        c.family = Family::llama;
        read_llama(in, c);
    } else {
        in.refuse("has model_type " + quote(type) +
                  ", which is not supported yet; the supported ones are gpt2, llama, mistral and qwen2");
    }
    if (!problem.empty()) return Error{std::move(problem)};

    c.vocab_size = in.size("vocab_size", max_vocab);
    c.dtype = in.word(in.has("dtype") ? "dtype" : "torch_dtype", "");
    c.bos_ids = in.ids("bos_token_id");
    c.eos_ids = in.ids("eos_token_id");
    if (in.find("quantization_config"))
        in.refuse("says that the weights are quantised (quantization_config), which is not supported");
    if (in.flag("is_encoder_decoder", false))
        in.refuse("describes an encoder with a decoder (is_encoder_decoder), which is not supported");
    check_sizes(in, c);
    if (!problem.empty()) return Error{std::move(problem)};
    return c;
}

}  // namespace attn
