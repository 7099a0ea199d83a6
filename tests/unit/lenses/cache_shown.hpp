// Opens Cache, and checks what it says about a number.
#pragma once

#include "lenses/cache/cache.hpp"
#include "unit/lenses/own_cells.hpp"

namespace attn::test {

inline app::CacheLens& cache_in(const Screen& screen) {
    return static_cast<app::CacheLens&>(screen.visit.lens());
}
inline const app::CacheState& cache_state(const Screen& screen) {
    return screen.visit.state().of<app::CacheState>();
}

inline void show_cache(Screen& screen, const app::CacheState& shown = {}) {
    show_lens(screen, "cache", app::SetCache{shown});
}
constexpr app::CacheState evicting(EvictionPolicy policy, Index budget, Index prompt = 3) {
    return {.part = app::CachePart::eviction, .prompt = prompt, .eviction = {policy, budget, 1, 2, 3}};
}
constexpr app::CacheState in_bits(Index bits, Index prompt = 3) {
    return {.part = app::CachePart::bits, .prompt = prompt, .rounding = {bits, 2}};
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
