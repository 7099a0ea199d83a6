// Compares the numbers of a Gibbs distribution with long double, with each other, and with closed forms.
#include "analysis/theory/gibbs.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/theory/effective_keys.hpp"
#include "unit/analysis/score_rows.hpp"

using namespace attn;
using namespace attn::test;

namespace {

Gibbs at(const std::vector<double>& scores, double temperature) {
    return gibbs(levels_of(scores), temperature);
}

// The definitions, term by term in long double.
struct Reference {
    long double energy = 0, free_energy = 0, entropy = 0, heat_capacity = 0;
};
Reference reference(const std::vector<double>& scores, double temperature) {
    const long double t = static_cast<long double>(temperature);
    long double highest = -HUGE_VALL, z = 0;
    for (const double score : scores) highest = std::max(highest, static_cast<long double>(score));
    for (const double score : scores)
        if (score > -infinite) z += std::exp((static_cast<long double>(score) - highest) / t);
    Reference out;
    for (const double score : scores) {
        if (score == -infinite) continue;
        const long double s = static_cast<long double>(score), p = std::exp((s - highest) / t) / z;
        out.energy -= p * s;
        if (p > 0) out.entropy -= p * std::log(p);
    }
    for (const double score : scores) {
        if (score == -infinite) continue;
        const long double s = static_cast<long double>(score), p = std::exp((s - highest) / t) / z;
        if (p > 0) out.heat_capacity += p * ((-s - out.energy) / t) * ((-s - out.energy) / t);
    }
    out.free_energy = -highest - t * std::log(z);
    return out;
}

// Returns the largest score that is not hidden, as a measure of the rounding of energies.
double size_of(const std::vector<double>& scores) {
    double size = 1;
    for (const double score : scores)
        if (score > -infinite) size = std::max(size, std::abs(score));
    return size;
}

}  // namespace

TEST_CASE("a Gibbs distribution's numbers match long double, from T = 1e-6 to 1e6") {
    // Sums of n terms round to about √n units of 2e-16 of the largest; 1e-12 is a hundred times that for
    // 3,000.
    constexpr double rounding = 1e-12;
    for (const auto& scores : score_rows())
        for (const double t : {1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0, 100.0, 1e6}) {
            INFO(scores.size() << " scores, the first " << scores[0] << ", T " << t);
            const Gibbs g = at(scores, t);
            const Reference r = reference(scores, t);
            const double size = size_of(scores);
            CHECK(std::abs(g.energy - static_cast<double>(r.energy)) <= rounding * size);
            CHECK(std::abs(g.entropy - static_cast<double>(r.entropy)) <= rounding);
            CHECK(std::abs(g.free_energy - static_cast<double>(r.free_energy)) <= rounding * (size + t));
            // Weights of distant levels inherit the rounding of their exponents, which reach 700.
            CHECK(std::abs(g.heat_capacity - static_cast<double>(r.heat_capacity)) <=
                  1e-10 * (1 + static_cast<double>(r.heat_capacity)));
            CHECK(std::abs(g.free_energy - (g.energy - t * g.entropy)) <= rounding * (size + t));
            CHECK(g.effective_keys() >= 1 - rounding);
            CHECK(g.effective_keys() <= static_cast<double>(levels_of(scores).keys) * (1 + rounding));
            double sum = 0;
            for (const double weight : gibbs_weights(levels_of(scores), t)) sum += weight;
            CHECK(std::abs(sum - 1) <= rounding);
        }
}

TEST_CASE("dF/dT = −S, d⟨E⟩/dT = C and dS/dT = C/T, by central differences") {
    for (const auto& scores : score_rows())
        for (const double t : {0.05, 0.5, 1.0, 7.0, 90.0}) {
            INFO(scores.size() << " scores, the first " << scores[0] << ", T " << t);
            const double h = 1e-4 * t;
            const Gibbs g = at(scores, t), less = at(scores, t - h), more = at(scores, t + h);
            // The truncation error is h²/6 times the third derivative, about 1e-8 · C-like numbers over T;
            // the rounding error of a difference is that of energies, 2e-16 · size, over 2 h.
            const double rounding = 1e-14 * size_of(scores) / h;
            CHECK(std::abs((more.free_energy - less.free_energy) / (2 * h) + g.entropy) <=
                  1e-6 * (1 + g.entropy) + rounding);
            const double wild = 1 + g.heat_capacity * (1 + std::pow(size_of(scores) / t, 2));
            CHECK(std::abs((more.energy - less.energy) / (2 * h) - g.heat_capacity) <=
                  1e-7 * wild + rounding);
            CHECK(std::abs((more.entropy - less.entropy) / (2 * h) - g.heat_capacity / t) <=
                  (1e-7 * wild + rounding) / t);
        }
}

TEST_CASE("at T → 0 the best keys share the weight, and at T → ∞ all visible keys") {
    const std::vector<double> scores{2, -infinite, 5, 5, -1};
    const Gibbs cold = at(scores, 0), hot = at(scores, infinite);
    CHECK(gibbs_weights(levels_of(scores), 0) == std::vector<double>{0, 0, 0.5, 0.5, 0});
    CHECK(gibbs_weights(levels_of(scores), infinite) == std::vector<double>{0.25, 0, 0.25, 0.25, 0.25});
    CHECK(cold.energy == -5);
    CHECK(cold.free_energy == -5);
    CHECK(cold.entropy == Catch::Approx(std::log(2)).epsilon(1e-15));
    CHECK(cold.heat_capacity == 0);
    CHECK(hot.energy == -2.75);
    CHECK(hot.free_energy == -infinite);
    CHECK(hot.effective_keys() == Catch::Approx(4).epsilon(1e-15));
    CHECK(hot.heat_capacity == 0);
    // These are limits: distances vanish as exp(−3/T) and as 1/T.
    CHECK(at(scores, 0.05).energy == Catch::Approx(cold.energy).epsilon(1e-15));
    CHECK(std::abs(at(scores, 1e6).energy - hot.energy) < 1e-5);
    const Gibbs alone = at({-infinite, 3}, infinite);
    CHECK(alone.free_energy == -3);
    CHECK(alone.effective_keys() == 1);
}

TEST_CASE("a row without keys has no distribution, and NaN and +∞ no energy") {
    const Gibbs none = at({-infinite, -infinite}, 1);
    CHECK(none.effective_keys() == 0);
    CHECK(none.energy == 0);
    CHECK(at({}, 1).effective_keys() == 0);
    CHECK_FALSE(energy_levels(std::vector{1.0, std::nan("")}));
    CHECK_FALSE(energy_levels(std::vector{1.0, infinite}));
    HeatCapacityPeak peak(std::make_shared<EnergyLevels>(levels_of({-infinite})));
    CHECK(peak.done());
    CHECK_FALSE(peak.peak());
}

TEST_CASE("the heat capacity of two levels has Schottky's peak") {
    // At T = Δ / x the derivative of x² r e^x / (e^x + r)² vanishes: x tanh((x − ln r) / 2) = 2.
    for (const double gap : {1e-5, 0.4, 1.0, 2000.0})
        for (const std::size_t above : {1u, 5u, 1000u}) {
            std::vector<double> scores(above, -gap);
            scores.push_back(0);
            HeatCapacityPeak search(std::make_shared<EnergyLevels>(levels_of(scores)));
            while (search.step()) continue;
            REQUIRE(search.peak());
            const double log_r = std::log(static_cast<double>(above)), x = gap / search.peak()->temperature;
            INFO("Δ " << gap << ", degeneracy " << above);
            // A maximum is flat: its place is known to the square root of the rounding.
            CHECK(x * std::tanh((x - log_r) / 2) == Catch::Approx(2).epsilon(1e-6));
        }
    HeatCapacityPeak none(std::make_shared<EnergyLevels>(levels_of({7, 7, 7})));
    while (none.step()) continue;
    CHECK_FALSE(none.peak());
}

TEST_CASE("no temperature has a larger heat capacity than the peak") {
    for (const auto& scores : score_rows()) {
        const auto levels = std::make_shared<const EnergyLevels>(levels_of(scores));
        HeatCapacityPeak search(levels);
        while (search.step()) continue;
        for (double log_t = -25; log_t < 25; log_t += 0.05) {
            const double capacity = gibbs(*levels, std::exp(log_t)).heat_capacity;
            if (search.peak())
                CHECK(capacity <= search.peak()->heat_capacity * (1 + 1e-9));
            else
                CHECK(capacity == 0);
        }
    }
}

TEST_CASE("a head's effective number of keys is e to the power of each row's entropy") {
    constexpr Index n = 40, d = 6;
    Random random(5);
    const auto drawn = [&] {
        Tensor tensor({2, n, d});
        for (float& each : tensor.values()) each = static_cast<float>(random.normal());
        return tensor;
    };
    Tensor q = drawn(), k = drawn(), v = drawn();
    q.heads().head(1)(30, 0) = std::nanf("");
    AttentionSpec spec;
    spec.mask = Mask::causal(-2);
    const auto run = Record::run(std::move(q), std::move(k), std::move(v), spec);
    REQUIRE(run);
    const auto record = std::make_shared<const Record>(*run);
    EffectiveKeys all(record, 1, 1, n), some(record, 1, 1, 4);
    while (all.step()) continue;
    while (some.step()) continue;
    // Queries 0 and 1 see nothing, and query 30 is NaN.
    REQUIRE(all.rows().size() == n - 3);
    double sum = 0;
    for (const EffectiveKeys::Row& row : all.rows()) {
        double entropy = 0;
        for (const float weight : record->weights(1, row.query))
            if (weight > 0) entropy -= static_cast<double>(weight) * std::log(static_cast<double>(weight));
        CHECK(row.seen == row.query - 1);
        // The weights are f32.
        CHECK(row.effective == Catch::Approx(std::exp(entropy)).epsilon(1e-5));
        sum += row.effective / static_cast<double>(row.seen);
    }
    CHECK(all.share() == Catch::Approx(sum / (n - 3)).epsilon(1e-12));
    REQUIRE(some.rows().size() == 4);
    CHECK(some.rows().front().query == 9);
    CHECK(some.rows().back().query == n - 1);
    EffectiveKeys hot(record, 0, infinite, n);
    while (hot.step()) continue;
    CHECK(hot.share() == Catch::Approx(1).epsilon(1e-12));
}
