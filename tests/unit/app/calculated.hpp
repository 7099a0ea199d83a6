// Compares the calculation of an explanation, evaluated from its trees, with the number that it explains.
#pragma once

#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/explained.hpp"

namespace attn::test {

// Sums in another order differ by a few roundings.
inline void check_calculated(const app::Explained& why) {
    if (why.calculation.empty()) return;
    const double got = why.calculation.result().value();
    INFO(why.title);
    if (std::isfinite(why.f64))
        CHECK(got == Catch::Approx(why.f64).epsilon(1e-12).margin(1e-12));
    else
        CHECK((got == why.f64 || (std::isnan(got) && std::isnan(why.f64))));
}

}  // namespace attn::test
