#include "train/t5.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "tensor/random.hpp"

namespace attn {

Result<ModelConfig> parse_t5_config(std::span<const std::byte> json) {
    auto config = parse_model_config(json);
    if (!config) return config;
    if (config->family != Family::t5)
        return Error{"config.json is not of a T5: its 'model_type' has to be 't5'"};
    if (config->eos_ids.empty() || config->eos_ids[0] < 0 || config->eos_ids[0] >= config->vocab_size)
        return Error{"config.json's 'eos_token_id' has to be one of the " +
                     std::to_string(config->vocab_size) + " ids, for translations to end"};
    return config;
}

std::int32_t end_id(const ModelConfig& config) { return static_cast<std::int32_t>(config.eos_ids[0]); }

Result<ParameterLayout> t5_layout(const ModelConfig& config) {
    const auto place = [](const DeclaredWeight& weight) {
        const std::string& name = weight.name;
        const int stack = name.starts_with("encoder.") ? 1 : name.starts_with("decoder.") ? 2 : 0;
        constexpr std::string_view before = ".block.";
        Index block = std::numeric_limits<Index>::max();
        if (const std::size_t at = name.find(before); at != std::string::npos)
            std::from_chars(name.data() + at + before.size(), name.data() + name.size(), block);
        return std::pair(name.starts_with("lm_head") ? 3 : stack, block);
    };
    std::multimap<std::pair<int, Index>, DeclaredWeight> by_block;  // keeps the order of those in one
    for (const DeclaredWeight& weight : declared_weights(family_rules(config.family), config))
        by_block.emplace(place(weight), weight);
    std::vector<DeclaredWeight> weights;
    for (auto& [at, weight] : by_block) weights.push_back(std::move(weight));
    return ParameterLayout::of(weights);
}

std::string t5_half(const char* stack, Index block, Index half) {
    return std::string(stack) + ".block." + std::to_string(block) + ".layer." + std::to_string(half) + ".";
}

ParameterBuffer initial_t5_parameters(const ParameterLayout& layout, const ModelConfig& config,
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

}  // namespace attn
