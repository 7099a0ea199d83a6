// The weights of a model in the order in which a run uses them, whatever names its family gives them, and
// what it does with them: parts that a family lacks are absent.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/model_config.hpp"
#include "kernels/table.hpp"
#include "model/positions.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// What a run reads of a Linear and of a Norm, wherever the numbers lie.
struct LinearView {
    WeightView weight;
    std::span<const float> bias;  // [out], or empty
};
struct NormView {
    enum class Kind { layer, rms };
    Kind kind = Kind::layer;
    std::span<const float> gain;  // [width]
    std::span<const float> bias;  // [width], or empty
    double epsilon = 0;
};

struct Linear {
    std::string name;  // in the checkpoint, without ".weight" and ".bias"
    WeightView weight;
    Tensor bias;
    Index first_out = 0;         // which of the checkpoint's outputs is the first here
    std::string bias_name = {};  // in the checkpoint

    operator LinearView() const { return {weight, bias.values()}; }
};

struct Norm {
    using Kind = NormView::Kind;
    std::string name;  // also in the checkpoint
    Kind kind = Kind::layer;
    Tensor gain;
    Tensor bias;
    double epsilon = 0;
    bool adds_one = false;  // the gain is 1 + the checkpoint's number

    operator NormView() const { return {kind, gain.values(), bias.values(), epsilon}; }
};

// How positions turn pairs of components of q and k (Su et al. 2021, arXiv 2104.09864).
struct Rotary {
    std::vector<double> frequencies;  // radians per position, for each pair
    std::vector<double>
        long_frequencies;  // the same, of texts of more than long_after tokens; empty: no others
    Index long_after = 0;
    double base = 0;           // the base of the frequencies, before anything stretches them
    double magnitude = 1;      // multiplies cosines and sines
    bool interleaved = false;  // pairs are components (2a, 2a + 1); else (a, a + pairs)

    Index pairs() const { return std::ssize(frequencies); }
    // The frequencies of a text of so many tokens, at all of its positions.
    const std::vector<double>& of_text(Index tokens) const {
        return tokens > long_after && !long_frequencies.empty() ? long_frequencies : frequencies;
    }
    bool operator==(const Rotary&) const = default;
};
// A component's pair, and the other component in it.
struct RotaryPair {
    Index pair = 0, partner = -1;  // −1: the component does not turn
    bool first = true;
};
RotaryPair pair_of(const Rotary* rotary, Index component);  // null: nothing turns

struct Mlp {
    std::optional<Linear> gate;
    Linear up;
    Linear down;
};

// Several MLPs, of which each token takes those that a router scores highest (Shazeer et al. 2017, arXiv
// 1701.06538; Jiang et al. 2024, arXiv 2401.04088): their outputs, weighted by the softmax of their scores,
// add up.
struct Experts {
    Linear router;
    Index per_token = 1;
    std::vector<Mlp> all;
};

// The half of a block that attends.
struct AttentionSublayer {
    std::optional<Norm> attention_norm;  // none: attention reads the residual as it is
    std::vector<Linear> qkv;             // their outputs side by side are Q of all heads, then K, then V
    std::optional<Norm> q_norm,
        k_norm;                         // its width says over what: each head, or all heads together
    std::optional<std::size_t> rotary;  // which of the Network's; none: Q and K are not turned
    double scale = 1;                   // for the scores
    double softcap = 0;                 // for the scaled scores; 0: none
    Index window = 0;                   // like ModelConfig's windows
    bool causal = true;
    Linear attention_out;                              // W_O
    std::optional<Norm> attention_post_sublayer_norm;  // normalises what attention gives, before it is added
    std::optional<Norm> attention_post_residual_norm;  // normalises the sum
};

struct Block : AttentionSublayer {
    // Follows the other half; its keys and values are made of what the encoder's last norm gives.
    std::optional<AttentionSublayer> cross;
    bool parallel = false;  // the MLP reads what attention read, not what it left
    std::optional<Norm> mlp_norm;
    Mlp mlp;                                                             // where there are no experts
    std::optional<Experts> experts;                                      // in its place
    std::optional<Norm> mlp_post_sublayer_norm, mlp_post_residual_norm;  // like attention's
};

// What a masked language head does before the decoder: norm(act(x W + bias)) (Devlin et al. 2019, arXiv
// 1810.04805).
struct HeadTransform {
    Linear dense;
    Activation activation = Activation::gelu;
    Norm norm;
};

// What is added to the scores of each head for how far a key is from its query, by buckets of distances
// (Raffel et al. 2020, arXiv 1910.10683).
struct RelativeBias {
    std::string name;  // in the checkpoint, without ".weight"
    WeightView table;  // [buckets, heads], rows of heads = in
    RelativeBuckets buckets;
};

// An attention of a model, and where it is in its stack of layers.
struct AttentionPlace {
    AttentionKind kind = AttentionKind::self;
    Index layer = 0;
    bool operator==(const AttentionPlace&) const = default;
};

// In an encoder–decoder, the decoder.
struct Network {
    std::shared_ptr<const Network> encoder;  // null: there is none. It has no head
    WeightView token_embedding;              // rows of d_model = in, or of fewer with project_in
    double embedding_scale = 1;
    std::optional<Linear> project_in;
    std::optional<WeightView> position_embedding;  // rows of d_model = in
    Index first_position = 0;                      // the row of the first token
    std::int32_t padding_id = -1;                  // the id of tokens that have no position; −1: none
    std::optional<WeightView> segment_embedding;   // rows of d_model = in
    std::optional<Norm> embedding_norm;            // normalises their sum
    std::vector<Rotary> rotary;                    // each block takes one of them
    std::optional<RelativeBias> relative_bias;     // shared by all blocks; cross-attention has none
    std::vector<Block> blocks;
    std::optional<Norm> final_norm;
    std::optional<Linear> project_out;
    std::optional<HeadTransform> head_transform;
    double head_scale = 1;  // multiplies what the head reads
    Linear head;            // computes the logits
    double logit_cap = 0;   // cap · tanh(logit / cap); 0: none
    bool causal = true;

    // Its attentions by their number, which runs through all of them: those of the encoder's blocks come
    // first, then those of its own, then the blocks' cross-attentions.
    Index attentions() const;
    AttentionPlace place_of(Index attention) const;
    const AttentionSublayer& attention(Index number) const;
    const Rotary* rotary_of(Index attention) const {  // null: none
        const auto which = this->attention(attention).rotary;
        return which ? &rotary[*which] : nullptr;
    }
};

// Whether a network computes what GPT-2's or Llama's does, from matrices of their own: norms before each half
// and after the last block alone, one MLP, pairs of Q and K turned in halves if at all, and no caps.
bool is_plain(const Network& network);

}  // namespace attn
