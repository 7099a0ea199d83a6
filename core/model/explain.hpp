// Recomputes single numbers of a Trace in double, with their operands: each from what the run had before it
// and from the weights in their files.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attention/explain.hpp"
#include "model/network.hpp"
#include "model/trace.hpp"
#include "tensor/blocks.hpp"

namespace attn {

// The tensor of the model's files that holds these numbers, and the place in its file of the element's first
// byte, or of its block's.
struct StoredAt {
    const Weight* weight = nullptr;  // null: it is in no file
    std::size_t byte = 0;
    Index element = 0;  // which it is among the weight's, row by row

    bool in_block() const { return block_elements(weight->dtype) > 1; }
    Index place_in_block() const { return element % block_elements(weight->dtype); }
    WeightBlock block() const;  // where it is in one
    float value() const;
};
StoredAt stored_at(const Model& model, const WeightView& weight, Index in, Index out);
StoredAt stored_at(const Model& model, std::string_view vector, Index i);

// The products of two vectors, component by component.
std::vector<Term> terms_between(std::span<const float> left, std::span<const float> right);

// Σ_i x[i] · W[i, out] + bias[out], of one row.
struct LinearSum {
    std::vector<Term> terms;
    double bias = 0;
    double value() const;
    float f32() const;  // added up in single precision, for what no run keeps
};
LinearSum explain_linear(const LinearView& linear, std::span<const float> x, Index out);
// v W_O of one head at a key, [d_model].
std::vector<double> value_out(const LayerAttention& attention, Index head, Index key);

// (x − mean) / √(variance + ε) · gain + bias. RMSNorm has no mean: its variance is the mean square.
struct Normalised {
    double x = 0, mean = 0, variance = 0, epsilon = 0, gain = 1, bias = 0;
    double value() const;
};
Normalised explain_norm(const NormView& norm, std::span<const float> x, Index column);
Normalised explain_norm(const NormView& norm, std::span<const double> x, Index column);

// The Linear that makes a component of a head's q, k or v, and the column of it. Heads of k and v are those
// of the kv heads; a layer, here and below, is the number of an attention (Network::attentions).
struct QkvColumn {
    const Linear* linear = nullptr;
    Index out = 0;
};
QkvColumn qkv_column(const Model& model, Stage stage, Index layer, Index head, Index component);

// A component of q, k or v: own · cosine + partner · sine, where rotary positions turn pairs of components;
// else own alone. Both are normalised first where the block has norms of q and k.
struct VectorComponent {
    LinearSum own, partner;
    std::optional<Normalised> own_norm, partner_norm;  // x is the LinearSum's value
    Index partner_component = -1;                      // −1: none
    bool first = true;                                 // whether it is the first of its pair
    double frequency = 0;                              // radians per position
    double cosine = 1, sine = 0;                       // times the magnitude that LongRoPE gives them
    double own_value() const { return own_norm ? own_norm->value() : own.value(); }
    double partner_value() const { return partner_norm ? partner_norm->value() : partner.value(); }
    double value() const;
};
// The component of a row that an attention reads, [d_model], before positions turn it.
VectorComponent explain_unturned(const Model& model, Stage stage, Index layer, Index head,
                                 std::span<const float> row, Index component);
// Turns a component with the other one of its pair.
void turn(VectorComponent& own, const VectorComponent& partner, const RotaryPair& pair, double angle,
          double magnitude);
// Tokens are queries where the stage is q, and keys where it is k or v.
VectorComponent explain_component(const Trace& trace, Stage stage, Index layer, Index head, Index token,
                                  Index component);

// The bucket of a cell whose score gets a number for how far its key is from its query; nothing: none does.
// The number is element(relative_bias->table, head, bucket) of the network that ran the queries.
std::optional<Index> bias_bucket(const Trace& trace, Index layer, Index query, Index key);

}  // namespace attn
