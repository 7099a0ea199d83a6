#include "train/t5.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "io/json.hpp"
#include "tensor/random.hpp"

namespace attn {

namespace {

using nlohmann::json;

// Null, too, is a key that is missing.
const json* given(const json& file, const char* key) {
    const auto found = file.find(key);
    return found == file.end() || found->is_null() ? nullptr : &*found;
}

Error wrong(const char* key, const json& value, const std::string& wanted) {
    return {std::string("config.json's \"") + key + "\" is " + value.dump() + "; it has to be " + wanted};
}

struct Count {
    const char* key;
    Index* to;  // 0: has to be given
    Index most;
};

Status take(const json& file, const Count& count) {
    const json* value = given(file, count.key);
    if (!value && *count.to > 0) return ok();
    if (!value) return Error{std::string("config.json has no \"") + count.key + "\", which a T5 needs"};
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() < 1 ||
        value->get<std::uint64_t>() > static_cast<std::uint64_t>(count.most))
        return wrong(count.key, *value, "a whole number from 1 to " + std::to_string(count.most));
    *count.to = static_cast<Index>(value->get<std::uint64_t>());
    return ok();
}

Status take_activation(const json& file, T5Config& config) {
    const json* value = given(file, "feed_forward_proj");
    if (!value || *value == "relu") return ok();
    config.gated = true;
    if (*value == "gated-gelu")
        config.activation = Activation::gelu_tanh;
    else if (*value == "gated-silu")
        config.activation = Activation::silu;
    else
        return wrong("feed_forward_proj", *value, "\"relu\", \"gated-gelu\" or \"gated-silu\"");
    return ok();
}

Status take_id(const json& file, const char* key, Index vocabulary, std::int32_t& to) {
    const json* value = given(file, key);
    if (!value) return ok();
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() >= static_cast<std::uint64_t>(vocabulary))
        return wrong(key, *value, "one of the " + std::to_string(vocabulary) + " ids");
    to = value->get<std::int32_t>();
    return ok();
}

}  // namespace

Result<T5Config> parse_t5_config(std::span<const std::byte> text) {
    const Result<json> file = parse_json(text, "config.json");
    if (!file) return file.error();
    const json* type = file->is_object() ? given(*file, "model_type") : nullptr;
    if (!type || *type != "t5")
        return Error{"config.json is not of a T5: its \"model_type\" has to be \"t5\""};
    T5Config config;
    constexpr Index wide = 1'000'000, deep = 1'000;
    for (const Count& count :
         {Count{"vocab_size", &config.vocab_size, wide}, Count{"d_model", &config.d_model, wide},
          Count{"num_heads", &config.heads, deep}, Count{"d_kv", &config.head_dim, deep},
          Count{"d_ff", &config.d_ff, wide}, Count{"num_layers", &config.encoder_layers, deep},
          Count{"relative_attention_num_buckets", &config.buckets, wide},
          Count{"relative_attention_max_distance", &config.max_distance, wide}})
        if (auto status = take(*file, count); !status) return status.error();
    config.decoder_layers = config.encoder_layers;
    if (auto status = take(*file, {"num_decoder_layers", &config.decoder_layers, deep}); !status)
        return status.error();
    if (config.buckets < 4 || config.buckets % 2 != 0 || config.max_distance <= config.buckets / 2)
        return Error{"config.json's \"relative_attention_num_buckets\" is " + std::to_string(config.buckets) +
                     " and its \"relative_attention_max_distance\" " + std::to_string(config.max_distance) +
                     "; the first has to be even and at least 4, the second more than half of it"};
    if (auto status = take_activation(*file, config); !status) return status.error();
    if (const json* epsilon = given(*file, "layer_norm_epsilon")) {
        if (!epsilon->is_number() || !(epsilon->get<double>() > 0 && epsilon->get<double>() < 1))
            return wrong("layer_norm_epsilon", *epsilon, "a number between 0 and 1");
        config.norm_epsilon = epsilon->get<double>();
    }
    if (const json* tied = given(*file, "tie_word_embeddings")) {
        if (!tied->is_boolean()) return wrong("tie_word_embeddings", *tied, "true or false");
        config.tied = tied->get<bool>();
    }
    if (auto status = take_id(*file, "decoder_start_token_id", config.vocab_size, config.start_id); !status)
        return status.error();
    if (auto status = take_id(*file, "eos_token_id", config.vocab_size, config.end_id); !status)
        return status.error();
    return config;
}

std::string t5_half(const char* stack, Index block, Index half) {
    return std::string(stack) + ".block." + std::to_string(block) + ".layer." + std::to_string(half) + ".";
}

std::vector<DeclaredWeight> t5_weights(const T5Config& c) {
    const Index inner = c.heads * c.head_dim;
    std::vector<DeclaredWeight> weights{{"shared.weight", {}, {c.vocab_size, c.d_model}}};
    const auto declare = [&](const std::string& name, Shape shape) {
        weights.push_back({name + ".weight", {}, std::move(shape)});
    };
    const auto attention = [&](const std::string& half, const std::string& kind) {
        for (const char* matrix : {".q", ".k", ".v"}) declare(half + kind + matrix, {inner, c.d_model});
        declare(half + kind + ".o", {c.d_model, inner});
        declare(half + "layer_norm", {c.d_model});
    };
    for (const char* stack : {"encoder", "decoder"}) {
        const bool decoder = stack == std::string_view("decoder");
        for (Index block = 0; block < (decoder ? c.decoder_layers : c.encoder_layers); ++block) {
            attention(t5_half(stack, block, 0), "SelfAttention");
            if (block == 0)
                declare(t5_half(stack, 0, 0) + "SelfAttention.relative_attention_bias", {c.buckets, c.heads});
            if (decoder) attention(t5_half(stack, block, 1), "EncDecAttention");
            const std::string mlp = t5_half(stack, block, decoder ? 2 : 1);
            if (c.gated) {
                declare(mlp + "DenseReluDense.wi_0", {c.d_ff, c.d_model});
                declare(mlp + "DenseReluDense.wi_1", {c.d_ff, c.d_model});
            } else {
                declare(mlp + "DenseReluDense.wi", {c.d_ff, c.d_model});
            }
            declare(mlp + "DenseReluDense.wo", {c.d_model, c.d_ff});
            declare(mlp + "layer_norm", {c.d_model});
        }
        declare(std::string(stack) + ".final_layer_norm", {c.d_model});
    }
    if (!c.tied) declare("lm_head", {c.vocab_size, c.d_model});
    return weights;
}

ParameterBuffer initial_t5_parameters(const ParameterLayout& layout, const T5Config& config,
                                      std::uint64_t seed) {
    const auto one_over_root = [](Index n) { return 1 / std::sqrt(static_cast<double>(n)); };
    const auto deviation = [&](std::string_view name) {
        if (name.ends_with("Attention.q.weight")) return one_over_root(config.d_model * config.head_dim);
        if (name.ends_with("Attention.o.weight")) return one_over_root(config.heads * config.head_dim);
        if (name.ends_with(".wo.weight")) return one_over_root(config.d_ff);
        if (name == "shared.weight" || name == "lm_head.weight") return 1.0;
        return one_over_root(config.d_model);
    };
    ParameterBuffer parameters(static_cast<std::size_t>(layout.size()));
    Random random(seed);
    for (const ParameterLayout::Entry& entry : layout.entries()) {
        const std::span<float> values = entry.in(std::span(parameters));
        if (entry.shape.size() == 1) {
            std::ranges::fill(values, 1.0f);
            continue;
        }
        const double scale = deviation(entry.name);
        for (float& value : values) value = static_cast<float>(scale * random.normal());
    }
    return parameters;
}

Index relative_bucket(Index offset, bool both_directions, const T5Config& config) {
    const Index buckets = both_directions ? config.buckets / 2 : config.buckets, exact = buckets / 2;
    const Index first = both_directions && offset > 0 ? buckets : 0;
    const Index distance = both_directions ? std::abs(offset) : std::max<Index>(-offset, 0);
    if (distance < exact) return first + distance;
    // In single precision, as the published models were trained.
    const float share = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                        std::log(static_cast<float>(config.max_distance) / static_cast<float>(exact));
    return first +
           std::min(exact + static_cast<Index>(share * static_cast<float>(buckets - exact)), buckets - 1);
}

}  // namespace attn
