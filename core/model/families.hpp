// The transformer families: which tensors a checkpoint holds, and how they form a Network.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"
#include "model/network.hpp"

namespace attn {

// Names the axes of weights, and implies their sizes. q and kv cover all heads side by side.
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
    std::string_view prefix;  // some files put this before every name but the head's
    std::span<const WeightRule> weights;
    std::span<const std::string_view> buffers;  // patterns of tensors that some files hold but no run needs
    Network (*assemble)(const Model& model);    // the model must hold all of its declared weights
};

const FamilyRules& family_rules(Family family);
const FamilyRules& gpt2_rules();
const FamilyRules& llama_rules();

struct DeclaredWeight {
    std::string name;
    std::vector<std::string> axes;
    Shape shape;
};

// Lists every tensor that the configuration calls for.
std::vector<DeclaredWeight> declared_weights(const FamilyRules& rules, const ModelConfig& config);

// Tells whether `text` is the pattern with a number in place of '*'.
bool matches(std::string_view pattern, std::string_view text);

// These make the parts of a Network from the names of declared weights.
WeightView matrix(const Model& model, std::string_view name, WeightView::Layout layout);
Tensor vector(const Model& model, std::string_view name);  // widened to f32
Linear linear(const Model& model, const std::string& name,
              WeightView::Layout layout);                                 // with its bias, if it has one
Norm norm(const Model& model, const std::string& name, Norm::Kind kind);  // likewise
// Makes the head of the logits; it uses the embedding's own matrix if they are tied.
Linear head(const Model& model, const std::string& embedding);

}  // namespace attn
