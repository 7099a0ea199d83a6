// How much of what one head writes a later head reads (Elhage et al. 2021, "A Mathematical Framework for
// Transformer Circuits", section on composition): with rows for vectors, W_OV = W_V W_O and W_QK = W_Q W_Kᵀ,
//   Q-composition  ‖W_OV,from W_QK,to‖ / (‖W_OV,from‖ ‖W_QK,to‖)
//   K-composition  ‖W_OV,from W_QK,toᵀ‖ / (‖W_OV,from‖ ‖W_QK,to‖)
//   V-composition  ‖W_OV,from W_OV,to‖ / (‖W_OV,from‖ ‖W_OV,to‖)
// in Frobenius norms. Nothing of d_model × d_model is formed: ‖V O Q Kᵀ‖² = tr(VᵀV X KᵀK Xᵀ) with X = O Q,
// [head_dim, head_dim].
//
// The norm in front of an attention is part of what it reads, by its gain and, of a LayerNorm, by taking the
// mean away; so are the gains of norms behind the halves of the blocks in between, and those of q and k. What
// norms divide by, positions and biases are left out.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/heads/circuit_ends.hpp"
#include "attention/head_index.hpp"

namespace attn {

enum class Composition : std::uint8_t { q, k, v };
inline constexpr std::size_t composition_count = 3;

// Two independent matrices of normal numbers, however thin their factors: E‖AB‖² / (E‖A‖² E‖B‖²) = 1 /
// d_model.
double expected_composition(Index d_model);

// The three norms of one pair in double; the composition is product / (written · read).
struct CompositionNorms {
    double product = 0, written = 0, read = 0;
};
CompositionNorms exact_composition(const CircuitEnds& ends, Composition kind, HeadIndex from, HeadIndex to);

// W_O of one head times what another reads for its values, [head_dim, head_dim]: the middle of a virtual
// head, whose OV circuit is W_V,from (W_O,from W_V,to) W_O,to.
Tensor virtual_middle(const CircuitEnds& ends, HeadIndex from, HeadIndex to);

// Measures all pairs of heads in different layers, in slices: the layers from the first on, each with all
// later ones.
class CompositionJob {
  public:
    explicit CompositionJob(const CircuitEnds& ends);
    bool step();  // true while there is more to do
    bool done() const { return from_layer_ + 1 >= layers_; }
    double progress() const { return static_cast<double>(pairs_done_) / static_cast<double>(pairs_); }
    const CircuitEnds& ends() const { return ends_; }
    Index layers() const { return layers_; }
    Index heads() const { return heads_; }  // per layer
    // NaN until it is known, where `to` is not in a later layer, and of a head that is 0.
    float value(Composition kind, HeadIndex from, HeadIndex to) const;

  private:
    // The matrices of one head, [head_dim, d_model] or [head_dim, head_dim].
    struct Writes {
        Tensor out;   // W_O
        Tensor gram;  // VᵀV
    };
    struct Reads {
        std::array<Tensor, composition_count> in;    // W_Qᵀ, W_Kᵀ, W_Vᵀ
        std::array<Tensor, composition_count> gram;  // products of what comes behind each: KᵀK, QᵀQ, O Oᵀ
        std::array<double, composition_count> norm;  // ‖W_QK‖, ‖W_QK‖, ‖W_OV‖
    };
    std::size_t place(Composition kind, HeadIndex from, HeadIndex to) const;
    void take_reads();
    void compose(Index from_head);

    CircuitEnds ends_;
    Index layers_, heads_;
    std::vector<float> values_;  // [kinds, heads from, heads to]
    Index from_layer_ = 0;
    std::vector<Writes> writes_;  // what that layer's heads write, as far as it is computed
    HeadIndex to_;
    Index from_head_ = -1;  // the next one for `to_`; −1: what that reads comes first
    Reads reads_;
    std::int64_t pairs_ = 0, pairs_done_ = 0;
};

}  // namespace attn
