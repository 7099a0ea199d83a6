// The transformer families: which tensors a checkpoint holds, and how they make a Network.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"
#include "model/network.hpp"

namespace attn {

// The sides of weights: they name them and give their sizes. q and kv stand for all heads side by side.
enum class WeightAxis { none, vocabulary, position, d_model, q, kv, qkv, d_ff };
std::string_view name(WeightAxis axis);
Index size(WeightAxis axis, const ModelConfig& config);

// One row of a family's table of tensors.
struct WeightRule {
    enum class When { always, qkv_bias, attention_output_bias, mlp_bias, untied };
    std::string_view pattern;  // '*' stands for the layer
    WeightAxis rows = WeightAxis::none;
    WeightAxis cols = WeightAxis::none;  // none: a vector
    When when = When::always;
};

struct FamilyRules {
    std::string_view prefix;  // that some files put before every name but the head's
    std::span<const WeightRule> weights;
    std::span<const std::string_view> buffers;  // patterns of what some files hold and no run needs
    Network (*assemble)(const Model& model);    // from a model whose declared weights are all there
};

const FamilyRules& family_rules(Family family);
const FamilyRules& gpt2_rules();
const FamilyRules& llama_rules();

struct DeclaredWeight {
    std::string name;
    std::vector<std::string> axes;
    Shape shape;
};

// Every tensor that the configuration asks for.
std::vector<DeclaredWeight> declared_weights(const FamilyRules& rules, const ModelConfig& config);

// Whether `text` is the pattern with a number in place of '*'.
bool matches(std::string_view pattern, std::string_view text);

// Parts of a Network, by the names of declared weights.
WeightView matrix(const Model& model, std::string_view name, WeightView::Layout layout);
Tensor vector(const Model& model, std::string_view name);  // widened to f32
Linear linear(const Model& model, const std::string& name,
              WeightView::Layout layout);                                 // bias where there is one
Norm norm(const Model& model, const std::string& name, Norm::Kind kind);  // likewise
// The head of the logits: the embedding's own matrix where they are tied.
Linear head(const Model& model, const std::string& embedding);

}  // namespace attn
