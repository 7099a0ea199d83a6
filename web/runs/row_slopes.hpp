// Arranges the gradients of one row's loss as matrices: those of core/analysis/attribution/row_gradient, and
// those of X and W_Q, W_K, W_V if q, k and v are computed from them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/attribution/row_gradient.hpp"
#include "app/cell.hpp"
#include "app/matrix.hpp"
#include "runs/projections.hpp"

namespace attn::app {

// Names the variable of ∂L/∂…, in the order of the backward pass.
enum class Slope : std::uint8_t { output, weight, masked, raw, q, k, v, x, w_q, w_k, w_v, jacobian };
inline constexpr Index slope_count = 12;
struct SlopeInfo {
    std::string_view of;  // "A", as formulas write it
    Stage stage;          // stage of the numbers that it is the gradient of
    const char* formula;  // in matrices, from the previous gradient of the backward pass
};
const SlopeInfo& info(Slope slope);
// The gradient has one query and all keys.
constexpr bool is_of_pairs(Slope slope) { return slope >= Slope::weight && slope <= Slope::raw; }
constexpr bool rows_are_keys(Slope slope) {
    return slope == Slope::k || slope == Slope::v || slope == Slope::jacobian;
}
constexpr bool columns_are_keys(Slope slope) { return is_of_pairs(slope) || slope == Slope::jacobian; }

struct SlopeCell {
    Slope slope;
    Index row, col;
};

// One product in a gradient: the index summed over, both factors, and what they are.
struct SlopeTerm {
    using Factor = std::variant<std::monostate, SlopeCell, RunCell>;  // a gradient, or a number of the run
    Index index;  // −1: the other heads that share a norm with this one
    double left, right;
    Factor left_at = {}, right_at = {};  // none: the page does not show the number
};

class Slopes {
  public:
    // If scores were given in place of q and k, nothing before them has a gradient.
    Slopes(std::shared_ptr<const Record> record, Index head, Index query, RowLoss loss, bool scores_given,
           std::optional<Projections> projections);

    const Record& record() const { return *record_; }
    Index query() const { return query_; }
    const RowLoss& loss() const { return loss_; }
    // Computes in slices; true while there is more to do. All else is available once it is done.
    bool step();
    bool done() const { return f64_.done(); }
    const RowGradient<float>& f32() const { return f32_.pass(); }
    const RowGradient<double>& f64() const { return f64_.pass(); }
    // What a search over all keys finds. It is done once, because with many keys it takes long.
    struct KeysFound {
        Index lowest = 0, highest = 0, heaviest = 0;  // least and largest ∂L/∂S, largest weight
        bool any_allowed = false, all_finite = true;
    };
    const KeysFound& keys_found() const { return keys_found_; }
    const std::optional<Projections>& projections() const { return projections_; }
    bool has(Slope slope) const;
    // The rows of output … q are the query's one; the Jacobian is [keys, keys].
    Range rows(Slope slope) const;
    Range columns(Slope slope) const;
    bool holds(Slope slope, Index row, Index col) const;

    double value(Slope slope, Index row, Index col) const;                  // in double
    float single(Slope slope, Index row, Index col) const;                  // in f32
    std::vector<SlopeTerm> terms(Slope slope, Index row, Index col) const;  // products that add up to it
    // Moves the number itself; nothing for the output and the Jacobian.
    std::optional<double> difference(Slope slope, Index row, Index col) const;
    // Says whether the run's interventions changed numbers of this row after the sum, the softmax or the soft
    // cap.
    bool changed_behind(Stage stage) const;           // output, weight or masked
    double squares(std::span<const Slope> of) const;  // ‖∂L/∂inputs‖², over these inputs

  private:
    std::vector<SlopeTerm> projection_terms(Slope slope, Index row, Index col) const;
    double x(Index token, Index component) const;
    double w(Slope slope, Index component, Index a) const;
    // Component a of q or k after the rotation, as shares of one or two components before it.
    struct Share {
        Index component;
        double factor;
    };
    std::vector<Share> turned(Index token, Index a) const;
    // Derivative of a component of q, k or v after the run's interventions with respect to its value before
    // them.
    double kept(Slope slope, Index token, Index component) const;
    template <typename Real>
    Real vector_slope(const RowGradient<Real>& pass, Slope slope, Index token,
                      Index a) const;  // for q, k or v
    // The same for components as projected, before norm and rotation, and for the inputs of the projections.
    template <typename Real>
    struct Projected {
        std::vector<Real> q, k, v;   // [d_k], [n_k, d_k], [n_k, d_v]
        std::vector<Real> w_k, w_v;  // [components, d_k], [components, d_v]
        // ∂L/∂u / u for components of other heads in the same norm: for the query, and [n_k]; 0 without a
        // norm.
        Real q_along = 0;
        std::vector<Real> k_along;
    };
    void search_keys();
    template <typename Real>
    void go_before(const RowGradient<Real>& pass, Projected<Real>& back) const;
    template <typename Real>
    const Projected<Real>& back() const;
    template <typename Real>
    Real projected(Slope slope, Index token, Index a) const;
    const HeadNorm* norm_of(Slope slope) const;  // norm of q or k; null: none
    Index query_row() const { return projections_->crosses ? record_->keys() : query_; }  // row of X
    // Returns how q or k of a token moves if its projected components move by these amounts, and component
    // `row` of X by x_by.
    void move_vector(std::vector<Moved>& moved, Slope of, Index token, std::vector<double> by, Index row,
                     double x_by) const;
    std::vector<Moved> moves(Slope slope, Index row, Index col, double h) const;
    double input(Slope slope, Index row, Index col) const;
    template <typename Real>
    Real sum(const RowGradient<Real>& pass, Slope slope, Index row, Index col) const;

    std::shared_ptr<const Record> record_;
    Index head_, query_;
    RowLoss loss_;
    bool scores_given_;
    std::optional<Projections> projections_;
    RowGradientJob<float> f32_;
    RowGradientJob<double> f64_;
    Projected<float> f32_back_;
    Projected<double> f64_back_;
    KeysFound keys_found_;
};

// The inputs that a step along the gradient changes: X and the projections, or q, k and v.
std::vector<Slope> inputs_of(const Slopes& slopes);

}  // namespace attn::app
