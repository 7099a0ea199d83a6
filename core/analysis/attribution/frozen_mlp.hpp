// An MLP whose activations are held at those of a run: act(x W_in + b) W_out becomes linear, with the
// diagonal act(h) / h in place of act (0 where h = 0). With a gate, the activated gate is held and `up` is
// the linear part; of experts, each token keeps those that it chose, with their weights.
#pragma once

#include <span>

#include "model/trace.hpp"

namespace attn {

class FrozenMlp {
  public:
    FrozenMlp() = default;
    FrozenMlp(const Trace& stack, Index layer);

    // Computes what is held for these tokens, which have to come before they are used.
    void hold(Range tokens);
    // outputs [rows, d_model] of inputs [rows, d_model]: each row is one of a token, whose activations it
    // gets.
    void apply(ConstMatrix inputs, std::span<const Index> tokens, MatrixView<float> outputs) const;
    // The gradient by the inputs of these tokens. Adds what the biases give along d_outputs to `constants`,
    // [tokens].
    void back(ConstMatrix d_outputs, Range tokens, MatrixView<float> d_inputs,
              std::span<double> constants) const;

  private:
    const Block& block() const { return stack_->network().blocks[static_cast<std::size_t>(layer_)]; }
    const LayerTrace& run() const { return stack_->layers()[static_cast<std::size_t>(layer_)]; }
    void hold(const Mlp& mlp, ConstMatrix inputs, ConstMatrix hidden, MatrixView<float> held) const;
    // `held` are those of the rows.
    void apply(const Mlp& mlp, ConstMatrix held, ConstMatrix inputs, MatrixView<float> outputs) const;
    void back(const Mlp& mlp, ConstMatrix held, ConstMatrix d_outputs, MatrixView<float> d_inputs,
              std::span<double> constants) const;
    // A token's expert, its weight, and where its units lie.
    struct Chosen {
        const Mlp& mlp;
        float weight;
        Index first_unit;
    };
    Chosen chosen(Index token, Index slot) const;

    const Trace* stack_ = nullptr;
    Index layer_ = 0;
    Tensor held_;  // [n, units], like mlp_hidden
};

}  // namespace attn
