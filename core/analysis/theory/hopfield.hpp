// Keys as the patterns of a modern Hopfield network (Ramsauer et al. 2021, "Hopfield networks is all you
// need", arXiv 2008.02217). Patterns k_1 … k_N and a state ξ, all in R^d, have this energy and this update,
// its equations 2 and 3:
//   E(ξ) = −β⁻¹ ln Σ_j exp(β k_j·ξ) + ½ ξ·ξ + β⁻¹ ln N + ½ max_j |k_j|²
//   ξ ← Kᵀ softmax(β K ξ)
// As ∇E = ξ − Kᵀ softmax(β K ξ), an update is a step of 1 down the gradient. It is also a step of the
// concave-convex procedure (Yuille & Rangarajan 2003, doi 10.1162/08997660360581958), so the energy never
// rises; and 0 <= E <= 2 max |k|² for every ξ that is a mean of patterns. Attention is one update, from ξ = q
// with β = 1/√d_k, read out through V.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

struct HopfieldPatterns {
    Index components = 0;       // d
    std::vector<Index> keys;    // [N], which keys they are, ascending
    std::vector<float> values;  // [N, d]
    std::vector<double> mean;   // [d]; 0 without patterns
    double largest = 0;         // max |k|

    Index count() const { return std::ssize(keys); }
    std::span<const float> at(Index pattern) const {
        return std::span(values).subspan(static_cast<std::size_t>(pattern * components),
                                         static_cast<std::size_t>(components));
    }
    std::vector<double> in_double(Index pattern) const { return {at(pattern).begin(), at(pattern).end()}; }
};
// Takes those rows of k [n_k, d] that are allowed [n_k]. Refuses keys without components, and a number in an
// allowed one that is not finite; the others are not read.
Result<HopfieldPatterns> hopfield_patterns(ConstMatrix k, std::span<const std::uint8_t> allowed);

// What a state ξ meets. Without patterns all of it is 0.
template <typename Real>
struct HopfieldLook {
    std::vector<Real> products;  // [N], k_j·ξ
    std::vector<Real> weights;   // [N], softmax(β K ξ)
    Real highest = 0;            // product
    Real sum = 0;                // Σ exp(β (k_j·ξ − highest)), at least 1
    Real energy = 0;
    std::vector<Real> next;  // [d], Kᵀ weights
};
// About how many multiplications a look takes, and how many a millisecond has room for.
inline Index look_cost(Index patterns, Index components) { return patterns * (2 * components + 20) + 1; }
inline constexpr Index look_work_a_step = Index{1} << 20;

// β > 0 and finite. The largest product is taken out before β is multiplied, so that no β |k|² is too large.
template <typename Real>
void hopfield_look(const HopfieldPatterns& patterns, double beta, std::span<const Real> state,
                   HopfieldLook<Real>& look);

// How many patterns of equal weight would have the entropy of these: exp(−Σ w ln w).
double effective_patterns(std::span<const double> weights);
double distance_between(std::span<const double> a, std::span<const double> b);

// What a fixed point stores, by the number of patterns that it effectively is a mean of. The paper tells the
// same three apart without drawing lines between them; these lines are ours.
enum class MemoryKind {
    one,  // fewer than 1.5
    few,  // metastable
    all,  // at least three quarters of them
};
MemoryKind memory_kind(double effective, Index patterns);

// Updates a state until a fixed point.
class Retrieval {
  public:
    static constexpr Index most_steps = 1000;
    static constexpr double still = 1e-9;     // a fixed point moves by less than this share of max |k|
    static constexpr Index kept_weights = 8;  // weights are kept of the first steps, and of the last one

    Retrieval(std::shared_ptr<const HopfieldPatterns> patterns, double beta, std::vector<double> start);

    bool step();  // looks once; true while there is more to do
    bool done() const { return done_; }
    bool settled() const { return settled_; }  // at a fixed point

    // State 0 is the start; state t is what the t-th update made.
    struct Point {
        std::vector<double> state;         // [d]
        double energy = 0;                 // once it was looked at
        double moved = 0;                  // distance from the state before
        double effective = 0;              // patterns in the weights that made it
        std::vector<double> weights = {};  // [N], where they are kept
    };
    const std::vector<Point>& points() const { return points_; }
    Index looked_at() const { return looked_; }  // points from the first on that have their energy
    Index steps() const { return std::ssize(points_) - 1; }
    const std::vector<double>& end() const { return points_.back().state; }
    const std::vector<double>& weights() const {
        return look_.weights;
    }  // at the last state that was looked at
    double travelled() const { return distance_between(points_.front().state, end()); }

    const HopfieldPatterns& patterns() const { return *patterns_; }
    double beta() const { return beta_; }

  private:
    std::shared_ptr<const HopfieldPatterns> patterns_;
    double beta_;
    std::vector<Point> points_;
    HopfieldLook<double> look_;
    Index looked_ = 0;
    bool done_ = false, settled_ = false;
};

}  // namespace attn
