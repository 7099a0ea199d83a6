// A row of scores as a Gibbs distribution. Key j is a state of energy E_j = −s_j; at temperature T its weight
// is
//   p_j = exp(−E_j / T) / Z,  Z = Σ_j exp(−E_j / T),
// which is softmax at T = 1 (Gibbs 1902, "Elementary principles in statistical mechanics", chapter IV, in
// units in which Boltzmann's constant is 1). A key that the row may not see has a score of −∞ and takes no
// part.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

struct EnergyLevels {
    std::vector<double> scores;  // [n_k]; −∞: hidden
    std::vector<double> above;   // [n_k], E_j over the lowest energy; ∞: hidden
    double highest = 0;          // score; 0 where every key is hidden
    Index keys = 0;              // not hidden
};
// Refuses a score of NaN or +∞, which has no energy.
Result<EnergyLevels> energy_levels(std::span<const double> scores);

struct Gibbs {
    double temperature = 1;
    double energy = 0;         // ⟨E⟩ = Σ p E
    double free_energy = 0;    // F = −T ln Z = ⟨E⟩ − T S
    double entropy = 0;        // S = −Σ p ln p, in nats
    double heat_capacity = 0;  // C = (⟨E²⟩ − ⟨E⟩²) / T² = d⟨E⟩/dT

    double effective_keys() const;  // e^S: as many keys of equal weight have this entropy; 0 of none
    bool any = false;               // false where every key is hidden: all numbers are 0
};

// T from 0 to ∞, both of them as limits: at 0 the keys of the highest score share the weight, at ∞ all that
// are not hidden.
Gibbs gibbs(const EnergyLevels& levels, double temperature);
std::vector<double> gibbs_weights(const EnergyLevels& levels, double temperature);  // [n_k]

// Looks for the temperature at which the heat capacity is largest: among temperatures 10 % apart, over all
// where it could be, then by golden sections between the neighbours of the best (Kiefer 1953).
class HeatCapacityPeak {
  public:
    explicit HeatCapacityPeak(std::shared_ptr<const EnergyLevels> levels);

    bool step();  // at one temperature; true while there is more to do
    bool done() const { return next_ > last_ && sections_ == 0; }
    // Nothing until it is found, and where all scores are equal: their heat capacity is 0 at every
    // temperature.
    std::optional<Gibbs> peak() const;

  private:
    Gibbs at(double log_temperature) const;
    void begin_sections();

    std::shared_ptr<const EnergyLevels> levels_;
    double low_ = 0;  // ln T of the first temperature
    Index next_ = 0, last_ = -1;
    int sections_ = 0;
    std::optional<Gibbs> best_;
    double left_ = 0, right_ = 0;  // ln T, around the peak
    std::optional<Gibbs> inner_left_, inner_right_;
};

}  // namespace attn
