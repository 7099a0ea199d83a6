#include "analysis/theory/empty_rows.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "tensor/random.hpp"

using namespace attn;

namespace {

constexpr EmptyRow every_convention[] = {EmptyRow::zeros, EmptyRow::uniform, EmptyRow::nan, EmptyRow::sink};

template <class Real>
RowWeights<Real> under(EmptyRow convention, const std::vector<Real>& scores,
                       const std::vector<std::uint8_t>& allowed) {
    return weights_under<Real>(convention, scores, allowed);
}

}  // namespace

TEST_CASE("a row without a key is zeros, uniform, NaN, or gives all weight to the sink", "[analysis]") {
    const std::vector<double> scores{3, -2, 0.5, 40};
    const std::vector<std::uint8_t> none(4, 0);
    CHECK(under(EmptyRow::zeros, scores, none).weights == std::vector<double>{0, 0, 0, 0});
    CHECK(under(EmptyRow::uniform, scores, none).weights == std::vector<double>{0.25, 0.25, 0.25, 0.25});
    for (const double weight : under(EmptyRow::nan, scores, none).weights) CHECK(std::isnan(weight));
    CHECK(under(EmptyRow::nan, scores, none).sink == 0);
    CHECK(under(EmptyRow::sink, scores, none).weights == std::vector<double>{0, 0, 0, 0});
    CHECK(under(EmptyRow::sink, scores, none).sink == 1);
    for (const EmptyRow convention : every_convention)
        CHECK(under<double>(convention, {}, {}).weights.empty());
}

TEST_CASE("if a key is allowed, the first three equal softmax, and a sink takes the rest", "[analysis]") {
    Random random(8);
    for (int i = 0; i < 400; ++i) {
        const double reach = i % 4 == 0 ? 80 : 3;  // exp of these is still far from overflow in float
        std::vector<double> scores;
        std::vector<float> narrow;
        std::vector<std::uint8_t> allowed;
        for (std::uint64_t n = 1 + random.below(40); n > 0; --n) {
            narrow.push_back(static_cast<float>(reach * random.normal() / 3));
            scores.push_back(static_cast<double>(narrow.back()));
            allowed.push_back(random.below(2) == 0);
        }
        allowed[static_cast<std::size_t>(random.below(allowed.size()))] = 1;
        // The definition, term by term.
        double sum = 0;
        for (std::size_t j = 0; j < scores.size(); ++j) sum += allowed[j] ? std::exp(scores[j]) : 0;
        for (const EmptyRow convention : every_convention) {
            const bool sink = convention == EmptyRow::sink;
            const auto wide = under(convention, scores, allowed);
            const auto half = under(convention, narrow, allowed);
            for (std::size_t j = 0; j < scores.size(); ++j) {
                const double expected = allowed[j] ? std::exp(scores[j]) / (sum + (sink ? 1 : 0)) : 0;
                // A double's exp and 40 sums; a float's exp of a difference up to 160, which is off by 80
                // half units.
                CHECK(wide.weights[j] == Catch::Approx(expected).epsilon(1e-12));
                CHECK(static_cast<double>(half.weights[j]) ==
                      Catch::Approx(expected).epsilon(2e-5).margin(1e-38));
                if (!allowed[j]) CHECK(wide.weights[j] == 0);
            }
            CHECK(wide.sink == Catch::Approx(sink ? 1 / (1 + sum) : 0.0).epsilon(1e-12));
        }
    }
}

TEST_CASE("large scores do not overflow", "[analysis]") {
    for (const EmptyRow convention : every_convention) {
        const auto row = under<float>(convention, {1e30f, -1e30f, 0}, {1, 1, 1});
        CHECK(row.weights == std::vector<float>{1, 0, 0});
        CHECK(row.sink == 0);
    }
}
