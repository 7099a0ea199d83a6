#include "model/families.hpp"

#include <algorithm>

namespace attn {

std::string_view name(WeightAxis axis) {
    switch (axis) {
        case WeightAxis::none: return "";
        case WeightAxis::vocabulary: return "vocabulary";
        case WeightAxis::position: return "position";
        case WeightAxis::d_model: return "d_model";
        case WeightAxis::q: return "q";
        case WeightAxis::kv: return "kv";
        case WeightAxis::qkv: return "qkv";
        case WeightAxis::d_ff: return "d_ff";
    }
    return "";
}

Index size(WeightAxis axis, const ModelConfig& config) {
    const Index q = config.heads * config.head_dim;
    const Index kv = config.kv_heads * config.head_dim;
    switch (axis) {
        case WeightAxis::none: return 1;
        case WeightAxis::vocabulary: return config.vocab_size;
        case WeightAxis::position: return config.context;
        case WeightAxis::d_model: return config.d_model;
        case WeightAxis::q: return q;
        case WeightAxis::kv: return kv;
        case WeightAxis::qkv: return q + 2 * kv;
        case WeightAxis::d_ff: return config.d_ff;
    }
    return 0;
}

const FamilyRules& family_rules(Family family) {
    switch (family) {
        case Family::gpt2: return gpt2_rules();
        case Family::llama: break;
    }
    return llama_rules();
}

namespace {

bool asked_for(WeightRule::When when, const ModelConfig& config) {
    switch (when) {
        case WeightRule::When::always: return true;
        case WeightRule::When::qkv_bias: return config.qkv_bias;
        case WeightRule::When::attention_output_bias: return config.attention_output_bias;
        case WeightRule::When::mlp_bias: return config.mlp_bias;
        case WeightRule::When::untied: return !config.tie_word_embeddings;
    }
    return false;
}

DeclaredWeight declare(const WeightRule& rule, std::string weight_name, const ModelConfig& config) {
    DeclaredWeight declared{
        std::move(weight_name), {std::string(name(rule.rows))}, {size(rule.rows, config)}};
    if (rule.cols != WeightAxis::none) {
        declared.axes.emplace_back(name(rule.cols));
        declared.shape.push_back(size(rule.cols, config));
    }
    return declared;
}

}  // namespace

std::vector<DeclaredWeight> declared_weights(const FamilyRules& rules, const ModelConfig& config) {
    std::vector<DeclaredWeight> declared;
    for (const WeightRule& rule : rules.weights) {
        if (!asked_for(rule.when, config)) continue;
        const std::size_t star = rule.pattern.find('*');
        if (star == std::string_view::npos) {
            declared.push_back(declare(rule, std::string(rule.pattern), config));
            continue;
        }
        for (Index layer = 0; layer < config.layers; ++layer) {
            std::string in_layer(rule.pattern);
            in_layer.replace(star, 1, std::to_string(layer));
            declared.push_back(declare(rule, std::move(in_layer), config));
        }
    }
    return declared;
}

bool matches(std::string_view pattern, std::string_view text) {
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos) return pattern == text;
    const std::string_view head_part = pattern.substr(0, star);
    const std::string_view tail_part = pattern.substr(star + 1);
    if (text.size() <= head_part.size() + tail_part.size()) return false;
    if (!text.starts_with(head_part) || !text.ends_with(tail_part)) return false;
    const std::string_view number = text.substr(star, text.size() - head_part.size() - tail_part.size());
    return std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
}

WeightView matrix(const Model& model, std::string_view name, WeightView::Layout layout) {
    const Weight& weight = *model.weight(name);
    const bool in_first = layout == WeightView::Layout::in_out;
    return {.data = weight.bytes.data(),
            .dtype = weight.dtype,
            .in = weight.shape[in_first ? 0 : 1],
            .out = weight.shape[in_first ? 1 : 0],
            .layout = layout};
}

Tensor vector(const Model& model, std::string_view name) { return to_tensor(*model.weight(name)); }

Linear linear(const Model& model, const std::string& name, WeightView::Layout layout) {
    Linear result{.name = name, .weight = matrix(model, name + ".weight", layout), .bias = {}};
    if (model.weight(name + ".bias")) result.bias = vector(model, name + ".bias");
    return result;
}

Norm norm(const Model& model, const std::string& name, Norm::Kind kind) {
    Norm result{.name = name,
                .kind = kind,
                .gain = vector(model, name + ".weight"),
                .bias = {},
                .epsilon = static_cast<float>(model.config().norm_epsilon)};
    if (model.weight(name + ".bias")) result.bias = vector(model, name + ".bias");
    return result;
}

Linear head(const Model& model, const std::string& embedding) {
    return linear(model, model.config().tie_word_embeddings ? embedding : "lm_head",
                  WeightView::Layout::out_in);
}

}  // namespace attn
