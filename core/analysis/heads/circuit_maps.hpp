// The QK and the OV circuit of a head as maps over a whole vocabulary (Elhage et al. 2021, "A Mathematical
// Framework for Transformer Circuits"): tokens × tokens of scores and of logits. Each is a product of two
// tall factors, [tokens, head_dim]; only these are kept, and cells are computed for the window that is looked
// at.
//
//   QK         scale · q_i · k_j of two tokens alone, with their biases and norms, at a distance where
//              positions turn them
//   OV         v_j W_O u_t: what attending to token j adds to the logit of token t, with the biases of
//              neither
//   positions  the QK circuit of the rows of the position embedding, in place of tokens
//
// What tokens are alone, and at what logits are held, is in analysis/heads/circuit_ends.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/heads/circuit_ends.hpp"
#include "attention/head_index.hpp"
#include "maps/map.hpp"

namespace attn {

enum class Circuit : std::uint8_t { qk, ov, positions };

// Turns each query against keys that are so many tokens before it (Su et al. 2021, arXiv 2104.09864): as many
// pairs of its components as there are angles; both sides' magnitudes together.
struct CircuitRotation {
    std::vector<float> cosine, sine;  // [pairs]; empty: nothing turns
    bool interleaved = false;
    void apply(MatrixView<float> rows) const;
};
// The rotation at a distance in a text not longer than the model's original context.
CircuitRotation rotation_of(const Network& network, Index attention, Index distance);

struct CircuitFactors {
    Tensor left, right;  // [rows, rank], [cols, rank]; of queries before they are turned
    double scale = 1;
    double softcap = 0;  // caps scaled scores; 0: none
};
// Signed; cell (i, j) is scale · left_i · right_j, capped, with left_i turned.
MapPointer circuit_map(std::shared_ptr<const CircuitFactors> factors, CircuitRotation rotation = {});

// The factors of one head, in slices.
class CircuitJob {
  public:
    // Fails where CircuitEnds does, and for positions where there are no rows of a position embedding.
    static Result<CircuitJob> start(std::shared_ptr<const Model> model, Circuit circuit, HeadIndex head,
                                    const Kernels& kernels = default_kernels());

    bool step();  // about a millisecond; true while there is more to do
    bool done() const { return next_ == rows_; }
    double progress() const {
        return static_cast<double>(next_) / static_cast<double>(std::max<Index>(rows_, 1));
    }
    const CircuitEnds& ends() const { return ends_; }
    Circuit circuit() const { return circuit_; }
    HeadIndex head() const { return head_; }
    const std::shared_ptr<const CircuitFactors>& factors() const { return factors_; }  // complete once done
    // [head_dim, width], of OV: what each component of a value is to the head (CircuitEnds::written).
    const Tensor& written() const { return written_; }

    // What the head reads of some rows, [rows, d_model]: tokens or positions.
    Tensor read(Range rows) const;
    // The stored row that becomes that by a scale and the norm in front of the attention. Nothing where more
    // comes in between.
    struct StoredRow {
        WeightView table;
        Index row = 0;
        double scale = 1;
    };
    std::optional<StoredRow> stored_row(Index row) const;

  private:
    CircuitJob(const CircuitEnds& ends, Circuit circuit, HeadIndex head);
    CircuitEnds ends_;
    Circuit circuit_;
    HeadIndex head_;
    Index rows_ = 0, next_ = 0, rows_a_step_ = 1;
    Tensor written_;
    std::shared_ptr<CircuitFactors> made_;
    std::shared_ptr<const CircuitFactors> factors_;
};

// How many positions the rows of a position embedding stand for; 0: there are none.
Index embedded_positions(const Network& network);

// With rotary positions: the score of the mean query and the mean key of the vocabulary at each distance, 0
// first, before any cap: scale · q̄ R k̄, in double from the factors.
std::vector<double> mean_score_by_distance(const CircuitFactors& factors, const Network& network,
                                           Index attention, Index distances);

}  // namespace attn
