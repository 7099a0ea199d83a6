// The transformer families: which tensors a checkpoint holds, and how they form a Network.
//
// A family is a table. Each row says which part of a network a tensor is, and so its axes, and what it is
// called. What the parts do follows from the configuration and from which of them are there.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"
#include "model/network.hpp"

namespace attn {

// Names the axes of weights, and implies their sizes. q and kv cover all heads side by side.
enum class WeightAxis {
    none,
    vocabulary,
    position,
    segment,
    embedding,
    d_model,
    head_dim,
    q,
    kv,
    qkv,
    d_ff,
    gate_up,
    expert,
    bucket,
    head,
};
std::string_view name(WeightAxis axis);
Index size(WeightAxis axis, const ModelConfig& config);

enum class Part {
    token_embedding,
    position_embedding,
    segment_embedding,
    embedding_norm,
    project_in,
    attention_norm,  // where norms come after the sums (norms_after): that of the sum
    q,
    k,
    v,
    qkv,           // rows: all of q, all of k, all of v
    qkv_by_group,  // rows: for each head of K and V its queries' q, then its k, then its v
    head_q_norm,   // a norm in each head
    head_k_norm,
    q_norm,  // a norm over all heads side by side
    k_norm,
    attention_out,
    attention_post_sublayer_norm,
    relative_bias,  // rows: buckets of distances
    cross_norm,
    cross_q,
    cross_k,
    cross_v,
    cross_out,
    mlp_norm,  // like attention_norm
    router,
    gate,  // with experts: theirs, as up and down
    up,
    gate_up,  // rows: all of the gate, all of up
    down,
    mlp_post_sublayer_norm,
    final_norm,
    project_out,
    head_dense,
    head_norm,
    head,       // only where it is not tied to the embedding
    head_bias,  // where it has another name than the head
};

using Condition = bool (*)(const ModelConfig&);
inline bool never(const ModelConfig&) { return false; }
inline bool always(const ModelConfig&) { return true; }

// One row of a family's table.
struct WeightRule {
    Part part;
    std::string_view
        name;  // without ".weight" and ".bias"; the first '*' stands for the layer, the next for the expert
    Condition bias = never;  // beside the weight
    Condition when = always;
};

struct FamilyRules {
    std::string_view title;                      // "GPT-2"
    std::span<const std::string_view> prefixes;  // some files put one of these before some names
    std::span<const WeightRule> weights;
    std::span<const std::string_view> buffers;  // patterns of tensors that some files hold but no run needs
    Norm::Kind norm = Norm::Kind::rms;
    WeightView::Layout layout = WeightView::Layout::out_in;  // for all but embeddings and the head
    // Only in an encoder–decoder; the others are its decoder's.
    std::span<const WeightRule> encoder_weights = {};
    // What else its file may call the token embedding, whole, where it is tied to several.
    std::span<const std::string_view> embedding_names = {};
    // In the file, each head's rows of q and k lie in the pairs that RoPE rotates: 0, d/2, 1, d/2 + 1, …
    bool paired_rows = false;
};

const FamilyRules& family_rules(Family family);
const FamilyRules& gguf_rules(const ModelConfig& config);  // for a GGUF file
const FamilyRules& gpt2_rules();
const FamilyRules& llama_rules();
const FamilyRules& mixtral_rules();
const FamilyRules& gemma2_rules();
const FamilyRules& olmo2_rules();
const FamilyRules& phi3_rules();
const FamilyRules& stablelm_rules();
const FamilyRules& phi_rules();
const FamilyRules& gpt_neox_rules();
const FamilyRules& gptj_rules();
const FamilyRules& falcon_rules();
const FamilyRules& opt_rules();
const FamilyRules& bert_rules();
const FamilyRules& roberta_rules();
const FamilyRules& distilbert_rules();
const FamilyRules& t5_rules();

struct DeclaredWeight {
    std::string name;
    std::vector<std::string> axes;
    Shape shape;
    Index paired_rows = 0;  // like Weight's
};

// Lists every tensor that the configuration calls for.
std::vector<DeclaredWeight> declared_weights(const FamilyRules& rules, const ModelConfig& config);
bool has(const FamilyRules& rules, Part part, const ModelConfig& config);
// Returns a part's name in a layer, and of an expert.
std::string name_of(const WeightRule& rule, Index layer, Index expert = 0);

// A tensor's name without the prefix of the family's that it has, if any, and without those that
// torch.compile and DataParallel put before what they wrap.
std::string without_prefix(const FamilyRules& rules, std::string_view stored_name);
// Whether a tensor of a file, by the name that it has there, is a matrix that lies [in, out].
bool lies_in_out(const FamilyRules& rules, std::string_view stored_name);

// Tells whether `text` is the pattern with numbers in place of every '*'.
bool matches(std::string_view pattern, std::string_view text);

// The model must hold all of its declared weights.
Network assemble(const FamilyRules& rules, const Model& model);

}  // namespace attn
