// Checks metrics against NumPy, and checks what is refused.
#include "analysis/theory/metric.hpp"

#include <cmath>

#include "unit/analysis/golden_numbers.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("a metric's inverse, signature and condition match NumPy's") {
    auto goldens = golden_numbers("forms.json");
    for (const auto& golden : goldens["metrics"]) {
        const auto g = golden["g"].get<std::vector<double>>();
        const auto inverse = golden["inverse"].get<std::vector<double>>();
        const double condition = golden["condition"];
        const auto metric = Metric::of(golden["size"], g);
        REQUIRE(metric);
        CHECK(std::ranges::equal(metric->g(), g));
        for (std::size_t i = 0; i < g.size(); ++i)
            CHECK(std::abs(metric->inverse()[i] - inverse[i]) < 1e-14 * condition * condition);
        CHECK(metric->negative() == golden["negative"].get<Index>());
        CHECK(metric->condition() == Catch::Approx(condition).epsilon(1e-10));
    }
}

TEST_CASE("an invalid metric is refused with one sentence") {
    const auto refusal = [](Index size, std::vector<double> g) {
        const auto metric = Metric::of(size, std::move(g));
        REQUIRE_FALSE(metric);
        CHECK(metric.error().message.ends_with('.'));
        return metric.error().message;
    };
    CHECK(refusal(2, {1, 2, 3, 4}) == "A metric is symmetric, but g[0, 1] and g[1, 0] differ.");
    CHECK(refusal(2, {1, 1, 1, 1}).starts_with("This metric has no inverse"));
    CHECK(refusal(3, {0, 0, 0, 0, 0, 0, 0, 0, 0}).starts_with("This metric has no inverse"));
    CHECK(refusal(2, {1, 0, 0, 1e-17}).starts_with("This metric has no inverse"));
    CHECK(refusal(2, {1, NAN, NAN, 1}) == "g[0, 1] is not a finite number.");
    CHECK(refusal(1, {HUGE_VAL}) == "g[0, 0] is not a finite number.");
    CHECK(refusal(0, {}) == "A metric is a square matrix.");
    CHECK(refusal(2, {1, 0, 0}) == "A metric is a square matrix.");
    const auto small = Metric::of(2, {1e-200, 0, 0, -1e-200});
    REQUIRE(small);
    CHECK(small->negative() == 1);
    CHECK(small->condition() == Catch::Approx(1));
}
