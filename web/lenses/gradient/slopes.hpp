// The gradients of one row's loss as matrices that can be looked at: those of core/analysis/attribution/row_gradient, and those of
// X and W_Q, W_K, W_V where q, k and v are made of them.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/attribution/row_gradient.hpp"
#include "app/cell.hpp"
#include "app/explained.hpp"
#include "app/matrix.hpp"
#include "subjects/projections.hpp"

namespace attn::app {

// ∂L/∂ what: in the order in which the backward pass comes by.
enum class Slope : std::uint8_t { output, weight, masked, raw, q, k, v, x, w_q, w_k, w_v, jacobian };
inline constexpr Index slope_count = 12;
struct SlopeInfo {
    std::string_view of;  // "A", as a formula has it
    Stage stage;          // of the numbers that it is the slope for
    const char* formula;  // with matrices, from what comes before it on the way back
};
const SlopeInfo& info(Slope slope);
// One query and the keys.
constexpr bool is_of_pairs(Slope slope) { return slope >= Slope::weight && slope <= Slope::raw; }
constexpr bool rows_are_keys(Slope slope) {
    return slope == Slope::k || slope == Slope::v || slope == Slope::jacobian;
}
constexpr bool columns_are_keys(Slope slope) { return is_of_pairs(slope) || slope == Slope::jacobian; }

// The lens's own numbers.
namespace gradient_cells {
inline constexpr std::array<std::string_view, slope_count> slope_words{
    "output", "weight", "score", "raw_score", "query", "key",
    "value",  "input",  "w_q",   "w_k",       "w_v",   "jacobian"};
inline constexpr CellKind derivative{"derivative", {CellAxis{"of", slope_words}, {"row"}, {"column"}}};
}  // namespace gradient_cells

struct SlopeCell {
    Slope slope;
    Index row, col;
};

// One factor pair of a gradient: the index it is summed over, both factors, and where each stands.
struct SlopeTerm {
    Index index;  // −1: the other heads, which a norm takes together with this one
    double left, right;
    std::optional<CellRef> left_at, right_at;  // none: not a number of the page
};

class Slopes {
  public:
    // If scores were given in place of q and k, there are no gradients of what is before them.
    Slopes(std::shared_ptr<const Record> record, Index head, Index query, RowLoss loss, bool scores_given,
           std::optional<Projections> projections);

    const Record& record() const { return *record_; }
    Index query() const { return query_; }
    const RowLoss& loss() const { return loss_; }
    // Computes in slices; true while there is more to do. All else is there when it is done.
    bool step();
    bool done() const { return f64_.done(); }
    const RowGradient<float>& f32() const { return f32_.pass(); }
    const RowGradient<double>& f64() const { return f64_.pass(); }
    const std::optional<Projections>& projections() const { return projections_; }
    bool has(Slope slope) const;
    // Of output … q there is one row, the query's; the Jacobian is [keys, keys].
    Range rows(Slope slope) const;
    Range columns(Slope slope) const;
    bool holds(Slope slope, Index row, Index col) const;

    double value(Slope slope, Index row, Index col) const;                  // in double
    float single(Slope slope, Index row, Index col) const;                  // in f32
    std::vector<SlopeTerm> terms(Slope slope, Index row, Index col) const;  // whose products add up to it
    // By moving the number itself; nothing for the output and the Jacobian.
    std::optional<double> difference(Slope slope, Index row, Index col) const;
    // Whether the run's interventions changed numbers of this row behind the sum, the softmax or the soft cap.
    bool changed_behind(Stage stage) const;           // output, weight or masked
    double squares(std::span<const Slope> of) const;  // ‖∂L/∂inputs‖², of these inputs

  private:
    double x(Index token, Index component) const;
    double w(Slope slope, Index component, Index a) const;
    // What component a of q or k becomes when its token's position turns it: shares of one or two components.
    struct Share {
        Index component;
        double factor;
    };
    std::vector<Share> turned(Index token, Index a) const;
    // How fast what the run's interventions left of a component of q, k or v grows with it.
    double kept(Slope slope, Index token, Index component) const;
    template <typename Real>
    Real vector_slope(const RowGradient<Real>& pass, Slope slope, Index token,
                      Index a) const;  // of q, k or v
    // The same by components as the projections give them, before they are normalised and turned, and by what makes
    // those.
    template <typename Real>
    struct Projected {
        std::vector<Real> q, k, v;   // [d_k], [n_k, d_k], [n_k, d_v]
        std::vector<Real> w_k, w_v;  // [components, d_k], [components, d_v]
        // ∂L/∂u / u of what a norm takes along from other heads: of the query, and [n_k]; 0 without a norm.
        Real q_along = 0;
        std::vector<Real> k_along;
    };
    template <typename Real>
    void go_before(const RowGradient<Real>& pass, Projected<Real>& back) const;
    template <typename Real>
    const Projected<Real>& back() const;
    template <typename Real>
    Real projected(Slope slope, Index token, Index a) const;
    const HeadNorm* norm_of(Slope slope) const;  // of q or k; null: none
    Index query_row() const { return projections_->crosses ? record_->keys() : query_; }  // of X
    // What q or k of a token moves by where its projected components move by so much, and component `row` of X by x_by.
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
};

// The inputs that a step along the gradient changes: X and the projections, or q, k and v.
std::vector<Slope> inputs_of(const Slopes& slopes);

}  // namespace attn::app
