#include "analysis/theory/gibbs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double grid_step = 0.1;  // a step of ln T
constexpr int sections = 40;       // leave 0.618^40 = 4e-9 of the first interval
constexpr double golden = 0.61803398874989485;

// exp(−above / T), of which the limits at 0 and ∞ are 0 and 1.
double factor(double above, double temperature) {
    if (above == 0) return 1;
    return std::isinf(above) ? 0 : std::exp(-above / temperature);
}

struct Factors {
    std::vector<double> each;
    double sum = 0;
};
Factors factors_of(const EnergyLevels& levels, double temperature) {
    Factors factors;
    factors.each.reserve(levels.above.size());
    for (const double above : levels.above) {
        factors.each.push_back(factor(above, temperature));
        factors.sum += factors.each.back();
    }
    return factors;
}

}  // namespace

Result<EnergyLevels> energy_levels(std::span<const double> scores) {
    EnergyLevels levels;
    levels.scores.assign(scores.begin(), scores.end());
    double highest = -infinity;
    for (const double score : scores) {
        if (std::isnan(score)) return Error{"A score of this row is not a number, so it has no energy."};
        if (score == infinity) return Error{"A score of this row is infinite, so it has no energy."};
        levels.keys += score > -infinity;
        highest = std::max(highest, score);
    }
    levels.highest = levels.keys > 0 ? highest : 0;
    levels.above.reserve(scores.size());
    for (const double score : scores) levels.above.push_back(levels.highest - score);
    return levels;
}

double Gibbs::effective_keys() const { return any ? std::exp(entropy) : 0; }

Gibbs gibbs(const EnergyLevels& levels, double temperature) {
    Gibbs out;
    out.temperature = temperature;
    out.any = levels.keys > 0;
    if (!out.any) return out;
    const Factors factors = factors_of(levels, temperature);
    double above = 0;  // ⟨E⟩ over the lowest energy
    for (std::size_t j = 0; j < factors.each.size(); ++j) {
        const double p = factors.each[j] / factors.sum;
        if (p == 0) continue;
        above += p * levels.above[j];
        out.entropy -= p * std::log(p);
    }
    out.energy = above - levels.highest;
    // ln Z is 0 at T → ∞ for a single key only.
    const double log_sum = std::log(factors.sum);
    out.free_energy = -levels.highest - (log_sum == 0 ? 0 : temperature * log_sum);
    if (temperature == 0 || std::isinf(temperature)) return out;
    for (std::size_t j = 0; j < factors.each.size(); ++j) {
        const double p = factors.each[j] / factors.sum;
        if (p == 0) continue;
        const double off = (levels.above[j] - above) / temperature;
        out.heat_capacity += p * off * off;
    }
    return out;
}

std::vector<double> gibbs_weights(const EnergyLevels& levels, double temperature) {
    Factors factors = factors_of(levels, temperature);
    for (double& each : factors.each)
        if (each != 0) each /= factors.sum;
    return std::move(factors.each);
}

// A level of energy e over the ground has its largest share in C at T = e / x, where x tanh((x − ln r) / 2) =
// 2 for its degeneracy r over that of the ground: 2 < x < ln n + 3.
HeatCapacityPeak::HeatCapacityPeak(std::shared_ptr<const EnergyLevels> levels) : levels_(std::move(levels)) {
    double least = infinity, most = 0;
    for (const double above : levels_->above) {
        if (above == 0 || std::isinf(above)) continue;
        least = std::min(least, above);
        most = std::max(most, above);
    }
    if (most == 0) return;
    low_ = std::log(least) - std::log(std::log(static_cast<double>(levels_->keys)) + 3);
    last_ = static_cast<Index>(std::ceil((std::log(most) - low_) / grid_step));
}

Gibbs HeatCapacityPeak::at(double log_temperature) const {
    return gibbs(*levels_, std::exp(log_temperature));
}

void HeatCapacityPeak::begin_sections() {
    const double peak = std::log(best_->temperature);
    left_ = peak - grid_step;
    right_ = peak + grid_step;
    sections_ = sections;
}

bool HeatCapacityPeak::step() {
    if (done()) return false;
    if (next_ <= last_) {
        const Gibbs here = at(low_ + grid_step * static_cast<double>(next_));
        if (here.heat_capacity > (best_ ? best_->heat_capacity : 0)) best_ = here;
        if (++next_ > last_ && best_) begin_sections();
        return !done();
    }
    if (!inner_left_) {
        inner_left_ = at(right_ - golden * (right_ - left_));
    } else if (!inner_right_) {
        inner_right_ = at(left_ + golden * (right_ - left_));
    } else if (inner_left_->heat_capacity > inner_right_->heat_capacity) {
        right_ = left_ + golden * (right_ - left_);
        inner_right_ = inner_left_;
        inner_left_.reset();
        --sections_;
    } else {
        left_ = right_ - golden * (right_ - left_);
        inner_left_ = inner_right_;
        inner_right_.reset();
        --sections_;
    }
    for (const auto& inner : {inner_left_, inner_right_})
        if (inner && inner->heat_capacity > best_->heat_capacity) best_ = inner;
    return !done();
}

std::optional<Gibbs> HeatCapacityPeak::peak() const { return done() ? best_ : std::nullopt; }

}  // namespace attn
