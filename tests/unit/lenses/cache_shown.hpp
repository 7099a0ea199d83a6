// Opens Cache, and checks what it says about a number.
#pragma once

#include "lenses/cache/cache.hpp"
#include "unit/lenses/own_cells.hpp"

namespace attn::test {

inline app::cache::Model& cache_in(const Screen& screen) {
    return static_cast<app::ModelLens<app::cache::Model>&>(screen.visit.lens()).model();
}
inline const app::cache::State& cache_state(const Screen& screen) {
    return screen.visit.state().of<app::cache::State>();
}

inline void show_cache(Screen& screen, const app::cache::State& shown = {}) {
    show_lens(screen, "cache", app::Set<app::cache::State>{shown});
}
constexpr app::cache::State evicting(EvictionPolicy policy, Index budget, Index prompt = 3) {
    return {.part = app::cache::Part::eviction, .prompt = prompt, .eviction = {policy, budget, 1, 2, 3}};
}
constexpr app::cache::State in_bits(Index bits, Index prompt = 3) {
    return {.part = app::cache::Part::bits, .prompt = prompt, .rounding = {bits, 2}};
}

inline void check_why(const Screen& screen, const app::CellRef& cell, double value,
                      double tolerance = 1e-12) {
    const app::Explained found = check_told(screen, cell, 1e-5, 1e-6);
    CHECK(found.f64 == Catch::Approx(value).epsilon(tolerance).margin(tolerance));
    double sum = 0;
    for (const app::Explained::Operand& each : found.operands) sum += each.product;
    if (!found.operands.empty()) CHECK(sum == Catch::Approx(found.f64).epsilon(1e-9));
}

}  // namespace attn::test
