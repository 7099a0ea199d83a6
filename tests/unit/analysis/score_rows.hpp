// Provides realistic rows of scores, and rows meant to break something.
#pragma once

#include <catch_amalgamated.hpp>
#include <limits>
#include <vector>

#include "analysis/theory/gibbs.hpp"
#include "tensor/random.hpp"

namespace attn::test {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

inline EnergyLevels levels_of(const std::vector<double>& scores) {
    auto levels = energy_levels(scores);
    REQUIRE(levels);
    return *std::move(levels);
}

// Close, distant, equal and hidden scores; each row has at least one that is not hidden.
inline std::vector<std::vector<double>> score_rows() {
    std::vector<std::vector<double>> all{{0},
                                         {5, 5, 5},
                                         {1e4, -1e4, 0},
                                         {1e4, 1e4, -1e4},
                                         {0, 1e-9, 2e-9},
                                         {-infinite, 2, -infinite, 1},
                                         {3, -infinite},
                                         {-800, -801, -802},
                                         {-1e4, -1e4 - 1e-3},
                                         {0.5, 0, -0.5},
                                         {1, 0},
                                         {2, 0}};
    Random random(3);
    for (const double spread : {1e-3, 0.3, 1.0, 8.0, 300.0, 1e4})
        for (const std::size_t n : {2u, 7u, 100u, 3000u}) {
            std::vector<double> row(n);
            for (double& score : row) score = random.below(5) == 0 ? -infinite : spread * random.normal();
            row[static_cast<std::size_t>(random.below(n))] = spread;
            all.push_back(std::move(row));
        }
    return all;
}

}  // namespace attn::test
