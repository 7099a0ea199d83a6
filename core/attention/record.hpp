// One attention call, stored in space linear in the sequence: Q, K, V, the output and two numbers per row.
// Everything quadratic is recomputed for the window that is being looked at.
//
// For head h, query i, key j, with kv head g = h / (heads / kv_heads):
//   raw          r = Σ_a Q[h,i,a] K[g,j,a]
//   scaled       s = scale · r
//   capped       c = softcap · tanh(s / softcap), or s without a soft cap
//   masked       m = c + bias, or −inf where the mask forbids
//   weight       w = exp(m − max_j m) / Σ_j exp(m − max_j m)
//   contribution w · ‖V[g,j]‖
//   output       O[h,i,b] = Σ_j w V[g,j,b]
// Order and defaults follow the ONNX Attention operator, opset 24.
//
// Results are defined in these edge cases:
//   a cell that the mask forbids has weight exactly 0, and its key and value are never read;
//   a row without an allowed cell, or with only −inf scores, has zero weights and a zero output;
//   +inf scores share the weight of their row equally, and every other cell of the row has 0;
//   a NaN score in an allowed cell makes the weights and the output of its row NaN, but of no other row;
//   a weight of 0 takes nothing from its value, not even from an infinite one.
//
// Where the spec has edits, m is what they leave of c + bias, and w what they leave of the weight that
// follows from it; the rows that they touch are computed once more, from their scores.
//
// With a softmax precision of f16 or bf16, the masked scores, their differences from the maximum, the
// exponentials and the sum are each rounded to it. With f64, the exponentials and the sum are computed in it.
#pragma once

#include <memory>
#include <span>

#include "attention/spec.hpp"
#include "attention/stage.hpp"
#include "kernels/table.hpp"

namespace attn {

class Record {
  public:
    // q [heads, n_q, d_k], k [kv_heads, n_k, d_k], v [kv_heads, n_k, d_v]; heads is a multiple of kv_heads.
    // n_q and n_k may be 0. Memory beyond the arguments is O(n_q · d_v).
    static Result<Record> run(Tensor q, Tensor k, Tensor v, AttentionSpec spec,
                              const Kernels& kernels = default_kernels());

    // `run` in parts: `prepare` checks and allocates, then each `compute` does a part of the queries, in any
    // order: every `step`-th of the range, from the first on. Output and row numbers are bit for bit those of
    // `run`. Until its part is computed, a row holds zeros. The output has no columns before the first part.
    static Result<Record> prepare(Tensor q, Tensor k, Tensor v, AttentionSpec spec,
                                  const Kernels& kernels = default_kernels());
    void compute(Range queries, Index step = 1);
    // Does the same for the heads that these heads of K and V serve.
    void compute(Range queries, Index step, Range kv_heads);
    // After `prepare`: takes over what another record, which no longer changes, has for its first `kept`
    // queries. These must see the same keys there, as in a causal text with another end. The memory is that
    // of Tensor::continued.
    void take_rows(const Record& before, Index kept, Index room);
    // Computes only the row numbers, which are all that the stages need: half of the work. The output stays
    // as it is. It does the heads that these heads of K and V serve, or all.
    void measure(Range queries, Index step = 1);
    void measure(Range queries, Index step, Range kv_heads);
    // Does it for an only head in parts, and keeps the masked scores on the way. The exponentials must be of
    // f32, and the spec without edits.
    void measure(Range queries, const KeyPart& part);
    // Prepares another record that shares this one's Q, K and V.
    Result<Record> prepare_under(AttentionSpec spec) const;

    const AttentionSpec& spec() const { return spec_; }
    double scale() const { return scale_; }
    Index heads() const { return q_->dim(0); }
    Index kv_heads() const { return k_->dim(0); }
    Index queries() const { return q_->dim(1); }
    Index keys() const { return k_->dim(1); }
    Index d_k() const { return q_->dim(2); }
    Index d_v() const { return v_->dim(2); }
    Index kv_head(Index head) const { return head / (heads() / kv_heads()); }

    const Tensor& q() const { return *q_; }
    const Tensor& k() const { return *k_; }
    const Tensor& v() const { return *v_; }
    const Tensor& output() const { return output_; }                 // [heads, n_q, d_v]
    HeadsView<float> output_to_change() { return output_.heads(); }  // rows that are computed
    const Tensor& row_max() const { return row_max_; }  // [heads, n_q], max of masked scores; −inf: empty row
    // [heads, n_q], log Σ exp(m − row_max); −inf if no cell takes part. It is kept apart from the maximum so
    // that weights stay accurate for large scores: row log-sum-exp = row_max + row_log_sum.
    const Tensor& row_log_sum() const { return row_log_sum_; }

    // Writes the stage, one of raw … contribution, in that window to out [rows, cols], row-major. Ranges must
    // lie within [0, queries] × [0, keys].
    void stage(Stage stage, Index head, Range rows, Range cols, std::span<float> out) const;
    // Does the same for every `step`-th row from the first on; out is [⌈rows / step⌉, cols].
    void stage(Stage stage, Index head, Range rows, Index step, Range cols, MatrixView<float> out) const;
    float cell(Stage stage, Index head, Index query, Index key) const;
    std::vector<float> weights(Index head, Index query) const;  // [keys]
    // Turns the masked scores of a row, or of its part from that key on, into weights in place, and returns
    // −Σ w ln w of them.
    float weigh(Index head, Index query, Index first_key, std::span<float> masked) const;
    const Kernels& kernels() const { return *kernels_; }  // the ones that ran

  private:
    using SharedTensor = std::shared_ptr<const Tensor>;
    Record(SharedTensor q, SharedTensor k, SharedTensor v, AttentionSpec spec, const Kernels& kernels);
    void allocate_output();
    AttentionCall call();  // all heads and queries
    void compute(AttentionCall call, Range queries, Index step, Range kv_heads);
    bool changes(CellEdit::Of of, Index head, Index query) const {
        return spec_.edits && touches(*spec_.edits, of, head, query);
    }
    float weigh_unchanged(Index head, Index query, std::span<float> masked) const;
    // Computes the rows of some queries that edits touch.
    void compute_changed(Index head, Range queries, bool output);
    void compute_changed(Index head, Index query, std::span<float> masked, bool output);
    // Turns the raw scores of a row into the stage. `allowed` is empty if the mask allows all. `norms` holds
    // the norms of the columns' values, and is used for contributions only.
    void finish_row(Stage stage, Index head, Index query, Range cols, std::span<const std::uint8_t> allowed,
                    std::span<const float> norms, std::span<float> row) const;
    AttentionSpec spec_;
    double scale_;
    const Kernels* kernels_;
    SharedTensor q_, k_, v_;
    Tensor output_, row_max_, row_log_sum_;
};

}  // namespace attn
