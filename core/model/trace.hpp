// Everything that one run of a model computed, stored in space linear in the sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention/record.hpp"
#include "model/intervention.hpp"
#include "model/model.hpp"
#include "model/network.hpp"

namespace attn {

// One block, in the order of its arithmetic (n tokens, d = d_model). Where a family has no such norm, what it
// would give is what it would read; model/network.hpp says which ones a block has.
//   attention_input   = norm(resid_pre)
//   attention         = Q, K (normalised, after RoPE), V and output of every head
//   attention_output  = output of all heads · W_O + bias
//   attention_between = norm(attention_output), where that is added to the residual; or, where a norm comes
//                       after the sum, the sum
//   resid_mid         = resid_pre + attention_output, or what the norms of attention_between make of it. In a
//                       decoder that reads an encoder's text, this sum is the resid_pre of its
//                       cross-attention, which has the same parts, and whose own sum is resid_mid
//   mlp_input         = norm(resid_mid), or in parallel blocks norm(resid_pre)
//   mlp_hidden        = act(mlp_input · W_up + bias), or act(mlp_input · W_gate) · (mlp_input · W_up): first
//                       the hidden units of the first expert that the token takes, then of the next
//   mlp_output        = mlp_hidden · W_down + bias, weighted and added up over the token's experts
//   mlp_between       like attention_between; the next resid_pre = resid_mid + mlp_output, likewise
struct AttentionTrace {
    Tensor resid_pre;         // [n, d]
    Tensor attention_input;   // [n, d]
    Record attention;         // q, output [heads, n, head_dim]; k, v [kv_heads, n or the encoder's, head_dim]
    Tensor attention_output;  // [n, d]
    Tensor attention_between;  // [n, d], or empty
};
struct LayerTrace : AttentionTrace {
    explicit LayerTrace(AttentionTrace self) : AttentionTrace(std::move(self)) {}
    std::optional<AttentionTrace> cross;
    Tensor resid_mid;       // [n, d]
    Tensor mlp_input;       // [n, d]
    Tensor chosen_experts;  // [n, experts_per_token], their numbers, ascending; or empty
    Tensor expert_weights;  // [n, experts_per_token], or empty
    Tensor mlp_hidden;      // [n, d_ff], or [n, experts_per_token · d_ff]
    Tensor mlp_output;      // [n, d]
    Tensor mlp_between;     // [n, d], or empty
};

struct NamedTensor {
    std::string name;               // "layers.0.attention.q"
    std::vector<std::string> axes;  // {"head", "query", "head_dim"}
    const Tensor* tensor;           // lives as long as its Trace
};

class Trace;

// What the attentions of a kind are masked by, in place of their own masks.
struct RunMask {
    Mask mask;
    AttentionKind kind = AttentionKind::self;
    bool operator==(const RunMask&) const = default;
};

// One of a run's attentions; it borrows from the run.
struct LayerAttention {
    AttentionPlace place;
    const AttentionSublayer& half;
    const AttentionTrace& run;
    const Trace& queries;     // the run of the queries' tokens
    const Trace& keys;        // the encoder, in cross-attention
    const Tensor& key_input;  // [n_k, d]: what K and V are made of
    const Record& record() const { return run.attention; }
};

// The run of a model, and of an encoder–decoder that of the decoder. A Trace is immutable.
class Trace {
  public:
    const std::shared_ptr<const Model>& model() const { return model_; }
    const Network& network() const { return *network_; }  // what ran: the model's network, or its encoder
    // The run that cross-attention reads; null: there is none.
    const std::shared_ptr<const Trace>& encoder() const { return encoder_; }
    const Kernels& kernels() const { return *kernels_; }  // the ones that ran
    std::span<const std::int32_t> ids() const { return ids_; }
    // One for each token, or none: all 0.
    std::span<const std::int32_t> segments() const { return segments_; }
    Index tokens() const { return std::ssize(ids_); }
    // What changed the run, as `resolved` gives it; a decoder's has its encoder's too. Every number here is
    // what they left of it.
    const std::vector<Intervention>& interventions() const { return interventions_; }
    const std::optional<RunMask>& mask() const { return mask_; }

    // [n, d]: the embedding's rows, scaled and widened where the network does that.
    const Tensor& token_embedding() const { return token_embedding_; }
    // [n, d]; empty where RoPE turns Q and K
    const Tensor& position_embedding() const { return position_embedding_; }
    const Tensor& segment_embedding() const { return segment_embedding_; }  // [n, d], or empty
    // [n, d]: of these, before the norm that makes the first residual of it; empty: there is no such norm
    const Tensor& embedding_sum() const { return embedding_sum_; }
    const std::vector<LayerTrace>& layers() const { return layers_; }
    const Tensor& final_residual() const { return final_residual_; }  // [n, d]
    const Tensor& final_norm() const { return final_norm_; }  // [n, d], normalised, if there is a norm
    // Attentions by their number (Network::attentions).
    Index attentions() const { return network_->attentions(); }
    LayerAttention attention(Index number) const;
    // [n, width], what the head reads: the final norm, or what a scale, a projection or a masked language
    // head makes of it.
    const Tensor& head_input() const { return head_input_.size() > 0 ? head_input_ : final_norm_; }

    // [rows, vocabulary], computed on demand. An encoder has none.
    Tensor logits(Range rows) const;
    Tensor logits(Range rows, Range tokens) const;  // for these tokens of the vocabulary
    // [rows, d]: the head's output times its rows of W_O. The sum over the heads plus the bias of
    // W_O is attention_output.
    Tensor head_contribution(Index attention, Index head, Range rows) const;
    // The same of other outputs of the head, [rows, d_v].
    Tensor head_contribution(Index attention, Index head, ConstMatrix outputs) const;

    // Lists every tensor above, in the order of the arithmetic; the encoder's first, as "encoder.…".
    std::vector<NamedTensor> tensors() const;
    std::int64_t memory_bytes() const;

  private:
    friend class ForwardPass;
    Trace() = default;
    std::shared_ptr<const Model> model_;
    const Network* network_ = nullptr;
    std::shared_ptr<const Trace> encoder_;
    const Kernels* kernels_ = nullptr;
    std::vector<std::int32_t> ids_;
    std::vector<std::int32_t> segments_;
    std::vector<Intervention> interventions_;
    std::optional<RunMask> mask_;
    Tensor token_embedding_, position_embedding_, segment_embedding_, embedding_sum_;
    std::vector<LayerTrace> layers_;
    Tensor final_residual_, final_norm_, head_input_;
};

// How many tokens both texts begin with.
Index common_beginning(std::span<const std::int32_t> a, std::span<const std::int32_t> b);
// How many tokens of a run are the same numbers in a run of these ids, which reads that run of an encoder:
// none where the model looks both ways, where the text's length changes how all positions turn, or where the
// encoder's run is another.
Index same_beginning(const Trace& run, std::span<const std::int32_t> ids, const Trace* encoder = nullptr);

// Returns the Record of an attention, which lives as long as its Trace.
inline std::shared_ptr<const Record> record_of(std::shared_ptr<const Trace> trace, Index attention) {
    const Record* record = &trace->attention(attention).record();
    return {std::move(trace), record};
}

// Returns how much memory the Trace of that many tokens takes, so that a run that is too large can be refused
// beforehand. In an encoder–decoder, `tokens` are the encoder's.
std::int64_t trace_bytes(const ModelConfig& config, Index tokens, Index decoder_tokens = 1);

}  // namespace attn
