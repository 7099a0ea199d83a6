// Declares what explanations of a model's numbers share: the number in question, and the kinds of arithmetic
// around it.
#pragma once

#include <initializer_list>

#include "app/format.hpp"
#include "model/explain.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

// A number of a model, and its explanation.
struct Around {
    Explained& out;
    const TextRun& run;
    const Places& places;
    const RunCell& cell;

    Index layer() const { return places.head.layer; }
    LayerAttention attention() const { return run.run->attention(layer()); }
    // The run that the queries belong to, an encoder's or a decoder's.
    const Trace& trace() const { return attention().queries; }
    const Model& model() const { return *trace().model(); }
    const ModelConfig& config() const { return model().config(); }
    const Network& network() const { return trace().network(); }
    const AttentionTrace& half_trace() const { return attention().run; }
    const AttentionSublayer& half() const { return attention().half; }
    std::size_t place() const { return static_cast<std::size_t>(attention().place.layer); }
    const LayerTrace& at_layer() const { return trace().layers()[place()]; }
    const Block& block() const { return network().blocks[place()]; }
    bool of_cross() const { return attention().place.kind == AttentionKind::cross; }
    // Returns the same block's cross-attention, if this is the decoder's self-attention and there is one.
    std::optional<Index> cross() const {
        if (of_cross() || !block().cross) return std::nullopt;
        return layer() + config().decoder_layers;
    }
    // Returns the index of the attention that comes first in a block.
    Index first_half() const { return of_cross() ? layer() - config().decoder_layers : layer(); }
    bool of_keys() const {
        return cell.stage == Stage::k || cell.stage == Stage::v || cell.stage == Stage::k_pre_rope ||
               cell.stage == Stage::value_out;
    }
    std::string token() const {
        return in_quotes(label_at(of_keys() ? run.key_names() : run.query_names(), cell.row));
    }
    std::string column() const { return std::to_string(cell.col); }
    PlaceOf row(Stage stage) const {
        return [places = places, stage, row = cell.row](Index i) { return places(stage, row, i); };
    }
    PlaceOf weights(Stage stage) const {
        return [places = places, stage, col = cell.col](Index i) { return places(stage, i, col); };
    }
    std::span<const float> values(const Tensor& tensor) const {
        return {tensor.matrix().row(cell.row), static_cast<std::size_t>(tensor.dim(1))};
    }
};

// Adds a step whose value is a number with a place of its own.
inline void add_step(Explained& out, const char* name, std::string arithmetic, double value,
                     const CellPlace& at) {
    out.steps.push_back({name, std::move(arithmetic), four(value), false, at});
}
inline void add_step(Explained& out, const char* name, std::string arithmetic, double value,
                     bool current = false) {
    out.steps.push_back({name, std::move(arithmetic), four(value), current});
}

// Explains Σ x · W + bias; `x` names the row and `left` gives the places of its numbers.
void explain_linear(const Around& a, const LinearSum& sum, const PlaceOf& left, Stage weights,
                    const std::string& x);
// Explains a sum of numbers with the same row and column.
void explain_sum(const Around& a, std::initializer_list<std::pair<std::string, CellPlace>> parts,
                 std::initializer_list<const Tensor*> tensors);
// The rows of Stage::norm_gain and norm_bias.
enum class NormRow { heads, mlp, final, after_heads, after_mlp, embedding, head, q, k };
inline constexpr Index norm_rows = 9;
const Norm* norm_of(const Around& a, NormRow which);  // null: the model has no such norm
// Explains a normalised row of `input`; without a norm, the row itself.
void explain_norm(const Around& a, NormRow which, const Tensor& input, Stage of);
// Explain the residual stream after a sublayer, or between the two (LayerTrace). The layer is that of `a`.
void explain_left(const Around& a, bool of_attention);
void explain_between(const Around& a, bool of_attention);
void explain_embedding(const Around& a);
void explain_embedding_sum(const Around& a);
void explain_router_score(const Around& a);
void explain_expert_weight(const Around& a);
void explain_expert_hidden(const Around& a);
void explain_expert_output(const Around& a);
void explain_head_input(const Around& a);
void explain_logit(const Around& a);
// Explains a component of q or k that is normalised after its projection, before the rotation.
void explain_normalised(const Around& a, const VectorComponent& why, Stage weights);
Expression activated(Activation activation, const Expression& x);
void explain_hidden(const Around& a);  // a hidden number of the MLP
void explain_active_gate(const Around& a);
void explain_attended(const Around& a);         // the sum over all heads of a layer
void explain_projected_value(const Around& a);  // v W_O

}  // namespace attn::app
