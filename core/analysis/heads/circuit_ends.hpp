// What the tokens of a vocabulary are at the two ends of a circuit, without any text (Elhage et al. 2021, "A
// Mathematical Framework for Transformer Circuits"): rows that an attention reads, and directions of the
// stream that are read as their logits. Tokens alone: no position, no segment, and nothing that other blocks
// add.
//
// Every norm that comes behind the attention on the way to the logits is taken by its gain, and a LayerNorm
// by taking the mean away; what it divides by depends on a text and is held at 1, so logits are known but for
// a positive factor, which all of them share where one row is looked at. The activation of a masked language
// head is taken by its slope at 0. Biases behind the attention are left out: they are the same for every
// token that is attended to.
#pragma once

#include <memory>
#include <vector>

#include "kernels/table.hpp"
#include "model/model.hpp"
#include "model/network.hpp"

namespace attn {

class CircuitEnds {
  public:
    // Fails for an encoder–decoder, where heads read tokens of one text and write for another, and where
    // there is no head that makes logits.
    static Result<CircuitEnds> of(std::shared_ptr<const Model> model,
                                  const Kernels& kernels = default_kernels());

    const std::shared_ptr<const Model>& model() const { return model_; }
    const Kernels& kernels() const { return *kernels_; }
    Index tokens() const;  // in the vocabulary
    Index d_model() const;
    Index width() const;  // the width of what the head reads: d_model, or less with project_out

    // The norm between the stream and an attention. Null: it reads the stream as it is.
    const Norm* input_norm(Index attention) const;

    // [tokens, d_model]: rows of the embedding as the first block finds them: scaled, widened, normalised.
    Tensor stream(Range tokens) const;
    // [tokens, d_model]: what an attention reads of these, through the norm in front of it with each row's
    // own statistics.
    Tensor read(Index attention, Range tokens) const;
    // [tokens, width]: rows of the head.
    Tensor unembedding(Range tokens) const;
    // [rows, width]: what of some rows that an attention gives [rows, d_model] the head's rows are multiplied
    // with.
    Tensor to_head(Index attention, ConstMatrix rows) const;
    // [head_dim, width]: that of each component of a head's values, through its rows of W_O.
    Tensor written(Index attention, Index head) const;

  private:
    CircuitEnds(std::shared_ptr<const Model> model, const Kernels& kernels)
        : model_(std::move(model)), kernels_(&kernels) {}
    std::shared_ptr<const Model> model_;
    const Kernels* kernels_;
};

// Rows of W_O of one head, [head_dim, d_model].
Tensor output_rows(const Model& model, Index attention, Index head);

// In place, a norm as the linear map that it is at a deviation of 1, without its bias: gain · (x − mean), of
// RMSNorm gain · x.
void pass_gain(const Norm& norm, MatrixView<float> rows);

}  // namespace attn
