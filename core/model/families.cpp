#include "model/families.hpp"

#include <algorithm>

namespace attn {

std::string_view name(WeightAxis axis) {
    switch (axis) {
        case WeightAxis::none: return "";
        case WeightAxis::vocabulary: return "vocabulary";
        case WeightAxis::position: return "position";
        case WeightAxis::segment: return "segment";
        case WeightAxis::embedding: return "embedding";
        case WeightAxis::d_model: return "d_model";
        case WeightAxis::head_dim: return "head_dim";
        case WeightAxis::q: return "q";
        case WeightAxis::kv: return "kv";
        case WeightAxis::qkv: return "qkv";
        case WeightAxis::d_ff: return "d_ff";
        case WeightAxis::gate_up: return "gate_up";
        case WeightAxis::expert: return "expert";
        case WeightAxis::bucket: return "bucket";
        case WeightAxis::head: return "head";
    }
    return "";
}

Index size(WeightAxis axis, const ModelConfig& config) {
    const Index q = config.heads * config.head_dim;
    const Index kv = config.kv_heads * config.head_dim;
    switch (axis) {
        case WeightAxis::none: return 1;
        case WeightAxis::vocabulary: return config.vocab_size;
        case WeightAxis::position: return config.first_position + config.context;
        case WeightAxis::segment: return config.segments;
        case WeightAxis::embedding:
            return config.embedding_width > 0 ? config.embedding_width : config.d_model;
        case WeightAxis::d_model: return config.d_model;
        case WeightAxis::head_dim: return config.head_dim;
        case WeightAxis::q: return q;
        case WeightAxis::kv: return kv;
        case WeightAxis::qkv: return q + 2 * kv;
        case WeightAxis::d_ff: return config.d_ff;
        case WeightAxis::gate_up: return 2 * config.d_ff;
        case WeightAxis::expert: return config.experts;
        case WeightAxis::bucket: return config.buckets;
        case WeightAxis::head: return config.heads;
    }
    return 0;
}

const FamilyRules& family_rules(Family family) {
    switch (family) {
        case Family::gpt2: return gpt2_rules();
        case Family::llama: return llama_rules();
        case Family::mixtral: return mixtral_rules();
        case Family::gemma2: return gemma2_rules();
        case Family::olmo2: return olmo2_rules();
        case Family::phi3: return phi3_rules();
        case Family::stablelm: return stablelm_rules();
        case Family::phi: return phi_rules();
        case Family::gpt_neox: return gpt_neox_rules();
        case Family::gptj: return gptj_rules();
        case Family::falcon: return falcon_rules();
        case Family::opt: return opt_rules();
        case Family::bert: return bert_rules();
        case Family::roberta: return roberta_rules();
        case Family::distilbert: return distilbert_rules();
        case Family::t5: break;
    }
    return t5_rules();
}

namespace {

struct PartAxes {
    WeightAxis in = WeightAxis::none;
    WeightAxis out = WeightAxis::none;  // none: a vector
};
PartAxes axes_of(Part part) {
    using enum WeightAxis;
    switch (part) {
        case Part::token_embedding: return {embedding, vocabulary};
        case Part::position_embedding: return {d_model, position};
        case Part::segment_embedding: return {d_model, segment};
        case Part::project_in: return {embedding, d_model};
        case Part::q:
        case Part::cross_q: return {d_model, q};
        case Part::k:
        case Part::v:
        case Part::cross_k:
        case Part::cross_v: return {d_model, kv};
        case Part::qkv:
        case Part::qkv_by_group: return {d_model, qkv};
        case Part::head_q_norm:
        case Part::head_k_norm: return {head_dim};
        case Part::q_norm: return {q};
        case Part::k_norm: return {kv};
        case Part::attention_out:
        case Part::cross_out: return {q, d_model};
        case Part::relative_bias: return {head, bucket};
        case Part::router: return {d_model, expert};
        case Part::gate:
        case Part::up: return {d_model, d_ff};
        case Part::gate_up: return {d_model, gate_up};
        case Part::down: return {d_ff, d_model};
        case Part::project_out: return {d_model, embedding};
        case Part::head_dense: return {d_model, d_model};
        case Part::head: return {embedding, vocabulary};
        case Part::head_bias: return {vocabulary};
        default: return {d_model};  // a norm
    }
}

// Tables whose rows are looked up, and the head, which may be one of them.
bool is_table(Part part) {
    return part == Part::token_embedding || part == Part::position_embedding ||
           part == Part::segment_embedding || part == Part::relative_bias || part == Part::head;
}

bool is_of_expert(Part part) { return part == Part::gate || part == Part::up || part == Part::down; }

void put(std::string& text, Index number) {
    const std::size_t star = text.find('*');
    if (star != std::string::npos) text.replace(star, 1, std::to_string(number));
}

}  // namespace

std::string name_of(const WeightRule& rule, Index layer, Index expert) {
    std::string text(rule.name);
    put(text, layer);
    put(text, expert);
    return text;
}

std::vector<DeclaredWeight> declared_weights(const FamilyRules& rules, const ModelConfig& config) {
    std::vector<DeclaredWeight> declared;
    Index layers = 0, paired_rows = 0;
    const auto declare = [&](const WeightRule& rule, std::string_view what,
                             const std::vector<WeightAxis>& axes) {
        const bool in_layers = rule.name.find('*') != std::string_view::npos;
        const Index experts = is_of_expert(rule.part) ? std::max<Index>(config.experts, 1) : 1;
        for (Index layer = 0; layer < (in_layers ? layers : 1); ++layer)
            for (Index expert = 0; expert < experts; ++expert) {
                DeclaredWeight& weight = declared.emplace_back();
                weight.name = name_of(rule, layer, expert).append(what);
                weight.paired_rows = paired_rows;
                for (const WeightAxis axis : axes) {
                    weight.axes.emplace_back(name(axis));
                    weight.shape.push_back(size(axis, config));
                }
            }
    };
    const auto declare_rule = [&](const WeightRule& rule) {
        if (!rule.when(config)) return;
        const auto [in, out] = axes_of(rule.part);
        const bool in_first = rules.layout == WeightView::Layout::in_out && !is_table(rule.part);
        const bool tied = rule.part == Part::head && config.tie_word_embeddings;
        paired_rows =
            rules.paired_rows && (rule.part == Part::q || rule.part == Part::k) ? config.head_dim : 0;
        if (rule.part == Part::head_bias) return declare(rule, ".bias", {in});
        if (out == WeightAxis::none)
            declare(rule, ".weight", {in});
        else if (!tied)
            declare(rule, ".weight", {in_first ? in : out, in_first ? out : in});
        if (rule.bias(config)) declare(rule, ".bias", {out == WeightAxis::none ? in : out});
    };
    layers = config.decoder_layers > 0 ? config.decoder_layers : config.layers;
    for (const WeightRule& rule : rules.weights) declare_rule(rule);
    layers = config.layers;
    for (const WeightRule& rule : rules.encoder_weights) declare_rule(rule);
    return declared;
}

bool has(const FamilyRules& rules, Part part, const ModelConfig& config) {
    return std::ranges::any_of(
        rules.weights, [&](const WeightRule& rule) { return rule.part == part && rule.when(config); });
}

std::string without_prefix(const FamilyRules& rules, std::string_view stored_name) {
    constexpr std::string_view compiled = "_orig_mod.", parallel = "module.";
    std::string name(stored_name);
    for (std::size_t at = 0; (at = name.find(compiled, at)) != std::string::npos;)
        if (at == 0 || name[at - 1] == '.')
            name.erase(at, compiled.size());
        else
            ++at;
    if (name.starts_with(parallel)) name.erase(0, parallel.size());
    for (const std::string_view prefix : rules.prefixes)
        if (name.starts_with(prefix)) return name.substr(prefix.size());
    return name;
}

bool lies_in_out(const FamilyRules& rules, std::string_view stored_name) {
    const std::string name = without_prefix(rules, stored_name);
    return rules.layout == WeightView::Layout::in_out &&
           std::ranges::none_of(rules.weights, [&](const WeightRule& rule) {
               return is_table(rule.part) && name == std::string(rule.name) + ".weight";
           });
}

bool matches(std::string_view pattern, std::string_view text) {
    while (!pattern.empty()) {
        if (pattern.front() != '*') {
            if (text.empty() || text.front() != pattern.front()) return false;
            text.remove_prefix(1);
        } else {
            const auto digits = std::ranges::find_if(text, [](char c) { return c < '0' || c > '9'; });
            if (digits == text.begin()) return false;
            text.remove_prefix(static_cast<std::size_t>(digits - text.begin()));
        }
        pattern.remove_prefix(1);
    }
    return text.empty();
}

}  // namespace attn
