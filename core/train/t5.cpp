#include "train/t5.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "io/json.hpp"
#include "tensor/random.hpp"

namespace attn {

namespace {

using nlohmann::json;

Status take_count(const json& file, const char* key, Index& to) {
    const auto found = file.find(key);
    if (found == file.end() || found->is_null()) {
        if (to > 0) return ok();
        return Error{std::string("config.json has no \"") + key + "\", which a T5 needs"};
    }
    constexpr std::uint64_t most = 1'000'000;
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() < 1 || found->get<std::uint64_t>() > most)
        return Error{std::string("config.json's \"") + key + "\" is " + found->dump() +
                     "; it has to be a whole number from 1 to 1,000,000"};
    to = static_cast<Index>(found->get<std::uint64_t>());
    return ok();
}

Status take_activation(const json& file, T5Config& config) {
    const std::string what = file.value("feed_forward_proj", "relu");
    if (what == "relu")
        config.activation = Activation::relu;
    else if (what == "gated-gelu")
        config.activation = Activation::gelu_tanh, config.gated = true;
    else if (what == "gated-silu")
        config.activation = Activation::silu, config.gated = true;
    else
        return Error{"config.json's \"feed_forward_proj\" is " + json(what).dump() +
                     "; \"relu\", \"gated-gelu\" and \"gated-silu\" can be read here"};
    return ok();
}

}  // namespace

Result<T5Config> parse_t5_config(std::span<const std::byte> text) {
    const Result<json> file = parse_json(text, "config.json");
    if (!file) return file.error();
    if (!file->is_object() || file->value("model_type", json()) != "t5")
        return Error{"config.json is not of a T5: its \"model_type\" has to be \"t5\""};
    T5Config config;
    for (const auto& [key, to] :
         {std::pair{"vocab_size", &config.vocab_size}, std::pair{"d_model", &config.d_model},
          std::pair{"num_heads", &config.heads}, std::pair{"d_kv", &config.head_dim},
          std::pair{"d_ff", &config.d_ff}, std::pair{"num_layers", &config.encoder_layers},
          std::pair{"relative_attention_num_buckets", &config.buckets},
          std::pair{"relative_attention_max_distance", &config.max_distance}})
        if (auto status = take_count(*file, key, *to); !status) return status.error();
    config.decoder_layers = config.encoder_layers;
    if (auto status = take_count(*file, "num_decoder_layers", config.decoder_layers); !status)
        return status.error();
    if (config.buckets < 4 || config.buckets % 2 != 0 || config.max_distance <= config.buckets / 2)
        return Error{"config.json's \"relative_attention_num_buckets\" is " + std::to_string(config.buckets) +
                     " and its \"relative_attention_max_distance\" " + std::to_string(config.max_distance) +
                     "; the first has to be even and at least 4, the second more than half of it"};
    const auto kind = [&](const char* key, bool (json::*is)() const noexcept, const char* wanted) {
        const auto found = file->find(key);
        return found == file->end() || found->is_null() || ((*found).*is)()
                   ? ok()
                   : Status(Error{std::string("config.json's \"") + key + "\" is " + found->dump() +
                                  "; it has to be " + wanted});
    };
    for (const Status& status : {kind("feed_forward_proj", &json::is_string, "a text"),
                                 kind("layer_norm_epsilon", &json::is_number, "a number"),
                                 kind("tie_word_embeddings", &json::is_boolean, "true or false")})
        if (!status) return status.error();
    if (auto status = take_activation(*file, config); !status) return status.error();
    config.norm_epsilon = file->value("layer_norm_epsilon", config.norm_epsilon);
    config.tied = file->value("tie_word_embeddings", true);
    for (const auto& [key, to] :
         {std::pair{"decoder_start_token_id", &config.start_id}, std::pair{"eos_token_id", &config.end_id}}) {
        const auto found = file->find(key);
        if (found == file->end()) continue;
        if (!found->is_number_unsigned() ||
            found->get<std::uint64_t>() >= static_cast<std::uint64_t>(config.vocab_size))
            return Error{std::string("config.json's \"") + key + "\" is " + found->dump() +
                         "; it has to be one of the " + std::to_string(config.vocab_size) + " ids"};
        *to = found->get<std::int32_t>();
    }
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
