// Tests fits of power laws on points whose exponent is known, without noise and with seeded noise.
#include "analysis/cost/power_fit.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/cost/attention_forms.hpp"
#include "tensor/random.hpp"

using namespace attn;

namespace {

constexpr double sizes[]{64, 128, 256, 512, 1024, 2048};

std::vector<double> times(auto&& of) {
    std::vector<double> all;
    for (const double n : sizes) all.push_back(of(n));
    return all;
}

}  // namespace

TEST_CASE("a power law without noise is found exactly", "[analysis]") {
    const auto fit = power_fit(sizes, times([](double n) { return 3e-6 * std::pow(n, 1.75); }));
    REQUIRE(fit);
    CHECK(fit->exponent == Catch::Approx(1.75).epsilon(1e-12));
    CHECK(std::exp(fit->log_factor) == Catch::Approx(3e-6).epsilon(1e-10));
    CHECK(fit->error < 1e-12);
    CHECK(fit->scatter < 1e-12);
    CHECK(fit->at(300) == Catch::Approx(3e-6 * std::pow(300, 1.75)).epsilon(1e-12));
}

TEST_CASE("slope and standard error are those of a textbook's three points", "[analysis]") {
    // ln x = 0, 1, 2 and ln y = 0, 2, 1: slope ½, residuals −½, 1, −½, so that √(Σ r²/1) = √1.5 and the
    // standard error is √(1.5 / 2).
    const double x[]{1, std::exp(1.0), std::exp(2.0)}, y[]{1, std::exp(2.0), std::exp(1.0)};
    const auto fit = power_fit(x, y);
    REQUIRE(fit);
    CHECK(fit->exponent == Catch::Approx(0.5));
    CHECK(fit->log_factor == Catch::Approx(0.5));
    CHECK(fit->scatter == Catch::Approx(std::sqrt(1.5)));
    CHECK(fit->error == Catch::Approx(std::sqrt(0.75)));
}

TEST_CASE("the standard error says how far exponents of noisy times lie from the true one", "[analysis]") {
    Random random(7);
    constexpr int draws = 4000;
    constexpr double noise = 0.05;
    double squares = 0, told = 0, scatter = 0;
    for (int i = 0; i < draws; ++i) {
        const auto fit = power_fit(
            sizes, times([&](double n) { return 1e-5 * n * n * std::exp(noise * random.normal()); }));
        REQUIRE(fit);
        squares += (fit->exponent - 2) * (fit->exponent - 2) / draws;
        told += fit->error * fit->error / draws;
        scatter += fit->scatter * fit->scatter / draws;
    }
    // Means over 4,000 draws of variances with 4 and 1 degrees of freedom: within 5 standard deviations.
    CHECK(told == Catch::Approx(squares).epsilon(5 * std::sqrt(2.5 / draws)));
    CHECK(scatter == Catch::Approx(noise * noise).epsilon(5 * std::sqrt(0.5 / draws)));
}

TEST_CASE("the fit leaves out the sizes at which the lower power still counts", "[analysis]") {
    // At n = 256, a half of the time grows with n alone; at 2,048, a ninth does.
    const auto ms = times([](double n) { return 1e-6 * n * n + 256e-6 * n; });
    const auto terms = leading_term(sizes, ms, 2);
    REQUIRE(terms);
    CHECK(terms->leading == Catch::Approx(1e-6));
    CHECK(terms->lower == Catch::Approx(256e-6));
    CHECK(terms->share(256) == Catch::Approx(0.5));
    CHECK(terms->share(2048) == Catch::Approx(8.0 / 9));
    CHECK(dominant_fit(sizes, ms, 2, 0.1)->points == Range{0, 6});
    CHECK(dominant_fit(sizes, ms, 2, 0.45)->points == Range{2, 6});
    // Four points are fitted at least.
    CHECK(dominant_fit(sizes, ms, 2, 0.99)->points == Range{2, 6});
    // Between the local exponents at both ends, 2 − the lower power's share there.
    const double exponent = dominant_fit(sizes, ms, 2, 0.45)->exponent;
    CHECK(exponent > 1.5);
    CHECK(exponent < 2 - 1.0 / 9);
    // What grows faster has no lower part.
    const auto fast = times([](double n) { return 1e-6 * std::pow(n, 2.5); });
    CHECK(leading_term(sizes, fast, 2)->lower == 0);
    CHECK(dominant_fit(sizes, fast, 2, 0.9)->exponent == Catch::Approx(2.5));
}

TEST_CASE("what cannot be fitted is refused", "[analysis]") {
    const double two[]{1, 2}, alike[]{4, 4, 4}, positive[]{1, 2, 3}, zero[]{1, 0, 3};
    CHECK_FALSE(power_fit(two, two));
    CHECK_FALSE(power_fit(alike, positive));
    CHECK_FALSE(power_fit(positive, zero));
    CHECK_FALSE(leading_term(positive, zero, 2));
    CHECK_FALSE(dominant_fit(two, two, 1, 0.5));
}

TEST_CASE("both forms of attention give the softmax's output, on every table and any number of threads",
          "[analysis]") {
    constexpr Index queries = 70, keys = 130, d = 24;
    Random random(11);
    const auto normal = [&](Index rows) {
        Tensor tensor({rows, d});
        for (float& value : tensor.values()) value = static_cast<float>(random.normal());
        return tensor;
    };
    const Tensor q = normal(queries), k = normal(keys), v = normal(keys);
    std::vector<double> wanted;
    for (Index i = 0; i < queries; ++i) {
        std::vector<double> weights;
        double sum = 0;
        for (Index j = 0; j < keys; ++j) {
            double score = 0;
            for (Index a = 0; a < d; ++a)
                score += static_cast<double>(q.matrix()(i, a)) * static_cast<double>(k.matrix()(j, a));
            sum += weights.emplace_back(std::exp(score / std::sqrt(24.0)));
        }
        for (Index b = 0; b < d; ++b) {
            double value = 0;
            for (Index j = 0; j < keys; ++j)
                value += weights[static_cast<std::size_t>(j)] / sum * static_cast<double>(v.matrix()(j, b));
            wanted.push_back(value);
        }
    }
    std::vector<const Kernels*> tables{&reference_kernels()};
    for (const Kernels* each : all_kernels()) tables.push_back(each);
    for (const Kernels* table : tables) {
        CAPTURE(table->name);
        NaiveMemory naive(queries, keys);
        FusedMemory fused(queries);
        CHECK(naive.bytes() == 4 * queries * keys);
        CHECK(fused.bytes() == 4 * 2 * queries);
        Tensor by_naive({queries, d}), by_fused({queries, d});
        naive_attention(*table, q.matrix(), k.matrix(), v.matrix(), naive, by_naive.matrix());
        fused_attention(*table, q.matrix(), k.matrix(), v.matrix(), fused, by_fused.matrix());
        // Sums of 130 products in f32, of values about 1.
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            CHECK(static_cast<double>(by_naive.values()[i]) == Catch::Approx(wanted[i]).margin(2e-5));
            CHECK(static_cast<double>(by_fused.values()[i]) == Catch::Approx(wanted[i]).margin(2e-5));
        }
    }
    const float ones[]{1, 1, 1, 2};
    CHECK(read_once(ones) == 3 * 0x3F800000u + 0x40000000u);
    std::vector<float> twenty(20, 1.0f);
    CHECK(read_once(twenty) == static_cast<std::uint32_t>(20ull * 0x3F800000u));
}
