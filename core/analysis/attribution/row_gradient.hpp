// The backward pass of one row of one head, stage by stage, for a loss that asks something of that row's
// output. With g = ∂L/∂O[i] (Rumelhart, Hinton & Williams 1986; for attention Dao et al. 2022, arXiv
// 2205.14135, appendix B.2):
//   ∂L/∂V[j, b]     = A[i, j] g[b], and − g[b] more for the value that is aimed at
//   ∂L/∂A[i, j]     = Σ_b g[b] V[j, b]
//   ∂L/∂masked[i,j] = A[i, j] (∂L/∂A[i, j] − Σ_k A[i, k] ∂L/∂A[i, k])      by the Jacobian diag(a) − a aᵀ
//   ∂L/∂raw[i, j]   = scale · (1 − tanh²(scaled / softcap)) · ∂L/∂masked[i, j]
//   ∂L/∂Q[i, a]     = Σ_j ∂L/∂raw[i, j] K[j, a]
//   ∂L/∂K[j, a]     = ∂L/∂raw[i, j] Q[i, a]
// Where edits changed the row (attention/edit.hpp), A and masked are what they left, and the gradient goes
// back through them before it goes on: behind ∂L/∂O, behind ∂L/∂A, whose softmax then is the one before its
// edits, and behind ∂L/∂masked.
// Other rows of the output have no part in the loss. Work is O(n_k (d_k + d_v)) for a row.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attention/record.hpp"

namespace attn {

// What is asked of O[i]: L = O[i, component], or L = ½ ‖O[i] − V[target]‖², or L = g · O[i], where g is the
// slope of something that comes after. O is what the edits left of the output.
struct RowLoss {
    std::optional<Index> target = {};  // a key; none: the component
    Index component = 0;
    std::vector<double> along = {};  // g [d_v]; empty: the component or the target
    std::vector<Edit> edits = {};    // what is done to the output
    bool operator==(const RowLoss&) const = default;
};

// A number that is moved before the loss is computed: of q, k or v, whose row is a query's or a key's, or of
// the row's raw or masked scores or its weights, whose column is a key.
struct Moved {
    Stage stage = Stage::q;
    Index row = 0, col = 0;
    double by = 0;
};

// Computed in Real from the f32 inputs of the record. A row without an allowed cell has no weights and no
// gradient.
template <typename Real>
struct RowGradient {
    std::vector<std::uint8_t> allowed;         // [n_k]
    std::vector<Real> scaled, masked, weight;  // [n_k]; masked: −∞ where the mask forbids
    std::vector<Real> score, softmax;          // [n_k]: masked scores and weights before their edits
    std::vector<Real> output;                  // [d_v]
    Real loss = 0;
    std::vector<Real> d_output, d_summed;         // [d_v]; of the output, and of what it was before its edits
    std::vector<Real> d_weight, d_masked, d_raw;  // [n_k]; 0 where the mask forbids
    std::vector<Real> d_softmax, d_score;  // [n_k]: of the weights and masked scores before their edits
    Real mean = 0;                         // Σ_k of these, softmax[k] d_softmax[k]
    std::vector<Real> d_q;                 // [d_k]
    // One for each key: ∂L/∂K[j, a] = d_raw[j] Q[i, a], ∂L/∂V[j, b] = weight[j] d_summed[b] − (j = target)
    // d_output[b].
};

// The same in slices, for rows of many keys. `float` computes as the kernels do, but for the order of sums;
// `double` is its reference.
template <typename Real>
class RowGradientJob {
  public:
    RowGradientJob(std::shared_ptr<const Record> record, Index head, Index query, RowLoss loss);
    // About 100,000 multiplications; true while there is more to do.
    bool step();
    bool done() const { return phase_ == Phase::done; }
    const RowGradient<Real>& pass() const { return pass_; }  // whole when it is done

  private:
    enum class Phase { scores, weights, output, loss, weight_slopes, softmax, score_slopes, done };
    // The next keys; goes on to the phase after this one when they are the last.
    Range next_keys(Phase then);
    void score(Range keys);
    void weigh();
    void add_output(Range keys);
    void finish_output();
    void add_weight_slopes(Range keys);
    void leave_softmax();
    void add_score_slopes(Range keys);

    std::shared_ptr<const Record> record_;
    Index head_, query_;
    RowLoss loss_;
    ConstMatrix k_, v_;  // [n_k, d_k], [n_k, d_v]
    RowGradient<Real> pass_;
    Phase phase_ = Phase::scores;
    Index next_ = 0;
};
template <typename Real>
RowGradient<Real> row_gradient(std::shared_ptr<const Record> record, Index head, Index query,
                               const RowLoss& loss);

// Returns the loss alone, in double, with these moved: weights, output and loss are computed anew from the
// pass's scores and what they move by.
double moved_loss(const Record& record, Index head, Index query, const RowLoss& loss,
                  const RowGradient<double>& pass, std::span<const Moved> moved);
// Returns (L(h) − L(−h)) / 2h, where moved_by says what a step of h moves. The error is of the order of h²
// times a third derivative, and of 1e-16 / h times the loss; use an h of difference_step times the size of
// what is moved.
double central_difference(const Record& record, Index head, Index query, const RowLoss& loss,
                          const RowGradient<double>& pass,
                          const std::function<std::vector<Moved>(double)>& moved_by, double h);
inline constexpr double difference_step = 1e-5;

// Returns ∂A[i, j] / ∂masked[i, k] = A[i, j] ((j = k) − A[i, k]).
double weight_slope(std::span<const double> weights, Index j, Index k);

}  // namespace attn
