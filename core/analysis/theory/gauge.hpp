// The gauge freedom of scores: with any invertible G, W_Q → W_Q G and W_K → W_K G⁻ᵀ move every q and k, and
// no score, since q G (k G⁻ᵀ)ᵀ = q kᵀ. G is taken from a one-parameter group exp(tA), so that t = 0 is the
// identity, −t undoes t, and G⁻ᵀ = exp(−tAᵀ) is known without inverting anything.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

enum class GaugeKind : std::uint8_t {
    rotation,  // A = e_b e_aᵀ − e_a e_bᵀ up to sign: components a and b turn by the angle t, and G⁻ᵀ = G
    stretch,   // A = e_a e_aᵀ: component a of q grows by e^t, that of k shrinks by it
    shear,     // A = e_a e_bᵀ: q_b gains t q_a, and k_a loses t k_b
    mix,       // A = R diag(1 … −1) Rᵀ with a seeded orthogonal R: all components take part
};

struct Gauge {
    GaugeKind kind = GaugeKind::rotation;
    double t = 0;
    Index first = 0, second = 1;  // a and b, different; a stretch has a alone, a mix neither
    std::uint32_t seed = 0;       // seeds a mix
    bool operator==(const Gauge&) const = default;
};

// Limits the gauge to vectors with this many components.
Gauge fitted(Gauge gauge, Index components);

struct GaugeMatrices {
    Index size = 0;
    std::vector<double> g, dual;  // G and G⁻ᵀ, [size, size] row by row
    double condition = 1;         // ‖G‖₂ ‖G⁻¹‖₂
};
// Rotations and shears need two components.
GaugeMatrices gauge_matrices(const Gauge& gauge, Index size);

// Returns row · matrix, [size] · [size, size], in Real.
template <typename Real>
std::vector<Real> times(std::span<const Real> row, std::span<const double> matrix);

// Returns (|row| |matrix|)_a.
std::vector<double> magnitudes(std::span<const float> row, std::span<const double> matrix);
// Returns what the score of q G and k G⁻ᵀ, all of it computed in f32 from q and k in f32, can be off by at
// most, from the magnitudes of both: γ Σ_a (|q| |G|)_a (|k| |G⁻ᵀ|)_a with γ = n u / (1 − n u), n = 3 size + 2
// roundings and u = 2⁻²⁴ (Higham 2002, "Accuracy and Stability of Numerical Algorithms", 3.5).
double gauge_error_bound(std::span<const double> of_q, std::span<const double> of_k);

}  // namespace attn
