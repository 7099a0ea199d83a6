// Checks the modern Hopfield network: against long double, by central differences, and against the paper's
// theorems.
#include "analysis/theory/hopfield.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/theory/query_moves.hpp"
#include "support/numbers.hpp"
#include "tensor/random.hpp"
#include "unit/analysis/hopfield_patterns.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// Makes random patterns of several sizes, and patterns meant to break something: a single key, equal ones,
// opposite ones, all 0, very large and very small ones, one component.
std::vector<PatternPointer> pattern_stores() {
    std::vector<PatternPointer> all{
        patterns_from(1, 3, {1, 2, 3}),
        patterns_from(3, 2, {1, 1, 1, 1, 1, 1}),
        patterns_from(2, 2, {1, 0, -1, 0}),
        patterns_from(3, 2, {0, 0, 0, 0, 0, 0}),
        patterns_from(2, 1, {3, -2}),
        patterns_from(3, 2, {3000, 1, 1, 3000, -3000, -3000}),
        patterns_from(2, 2, {1e-20f, 0, 0, 1e-20f}),
        patterns_from(4, 2, {1, 0, 1, 1e-6f, 0, 1, 0, 1}),
    };
    std::uint64_t seed = 1;
    for (const float size : {0.1f, 1.0f, 20.0f})
        for (const auto& [count, d] : {std::pair<Index, Index>{5, 4}, {40, 16}, {200, 3}})
            all.push_back(patterns_from(random_tensor({count, d}, seed++, size)));
    return all;
}

std::vector<double> random_hopfield_state(const HopfieldPatterns& patterns, Random& random) {
    std::vector<double> state;
    for (Index a = 0; a < patterns.components; ++a) state.push_back(1.5 * patterns.largest * random.normal());
    return state;
}

constexpr std::array hopfield_betas{1e-3, 0.1, 0.5, 1.0, 7.0, 100.0, 1e6};

// The definitions, term by term in long double.
struct HopfieldReference {
    long double energy = 0;
    std::vector<long double> weights, next;
};
HopfieldReference hopfield_reference(const HopfieldPatterns& patterns, double beta,
                                     const std::vector<double>& state) {
    const auto b = static_cast<long double>(beta);
    std::vector<long double> scores;
    long double highest = -HUGE_VALL, sum = 0, square = 0, largest = 0;
    for (Index j = 0; j < patterns.count(); ++j) {
        long double score = 0, length = 0;
        for (std::size_t a = 0; a < state.size(); ++a) {
            const auto k = static_cast<long double>(patterns.at(j)[a]);
            score += k * static_cast<long double>(state[a]);
            length += k * k;
        }
        scores.push_back(b * score);
        highest = std::max(highest, scores.back());
        largest = std::max(largest, length);
    }
    for (const double each : state) square += static_cast<long double>(each) * static_cast<long double>(each);
    for (const long double score : scores) sum += std::exp(score - highest);
    HopfieldReference out;
    out.next.assign(state.size(), 0);
    for (std::size_t j = 0; j < scores.size(); ++j) {
        out.weights.push_back(std::exp(scores[j] - highest) / sum);
        for (std::size_t a = 0; a < state.size(); ++a)
            out.next[a] += out.weights[j] * static_cast<long double>(patterns.at(static_cast<Index>(j))[a]);
    }
    out.energy = -(highest + std::log(sum)) / b + square / 2 +
                 std::log(static_cast<long double>(scores.size())) / b + largest / 2;
    return out;
}

double length_of_state(const std::vector<double>& v) {
    return distance_between(v, std::vector<double>(v.size(), 0));
}

}  // namespace

TEST_CASE("a look at patterns matches long double, for β from 0.001 to a million") {
    Random random(7);
    for (const PatternPointer& patterns : pattern_stores())
        for (const double beta : hopfield_betas)
            for (int trial = 0; trial < 5; ++trial) {
                const std::vector<double> state = random_hopfield_state(*patterns, random);
                const HopfieldLook<double> look = look_from(*patterns, beta, state);
                const HopfieldReference r = hopfield_reference(*patterns, beta, state);
                INFO(patterns->count()
                     << " × " << patterns->components << ", |k| " << patterns->largest << ", β " << beta);
                // A score of size s is accurate to about 1e-15 s, and a weight has the same relative error.
                const double size = patterns->largest * std::max(patterns->largest, length_of_state(state)),
                             rounding = 1e-14 * (1 + beta * size);
                CHECK(std::abs(look.energy - static_cast<double>(r.energy)) <=
                      1e-14 * (size + length_of_state(state) * length_of_state(state) + 10 / beta));
                double sum = 0;
                for (std::size_t j = 0; j < look.weights.size(); ++j) {
                    CHECK(std::abs(look.weights[j] - static_cast<double>(r.weights[j])) <=
                          std::min(rounding, 1.0));
                    sum += look.weights[j];
                }
                CHECK(std::abs(sum - 1) <= 1e-13);
                for (std::size_t a = 0; a < state.size(); ++a)
                    CHECK(std::abs(look.next[a] - static_cast<double>(r.next[a])) <=
                          std::min(2 * static_cast<double>(patterns->count()) * rounding, 2.0) *
                              patterns->largest);
            }
}

TEST_CASE("single precision is as close to double as its scores are") {
    Random random(5);
    for (const PatternPointer& patterns : pattern_stores())
        for (const double beta : {0.1, 1.0, 7.0}) {
            const std::vector<double> wide = random_hopfield_state(*patterns, random);
            const std::vector<float> state(wide.begin(), wide.end());
            HopfieldLook<float> look;
            hopfield_look<float>(*patterns, beta, state, look);
            const HopfieldLook<double> exact = look_from(*patterns, beta, {state.begin(), state.end()});
            const double size = patterns->largest * std::max(patterns->largest, length_of_state(wide));
            // 6e-8 is half a unit; sums of up to 200 terms cost several of them.
            const double bound = std::min(1e-6 * (1 + beta * size), 1.0);
            for (std::size_t j = 0; j < look.weights.size(); ++j)
                CHECK(std::abs(static_cast<double>(look.weights[j]) - exact.weights[j]) <= bound);
            CHECK(std::abs(static_cast<double>(look.energy) - exact.energy) <=
                  1e-6 * (size + length_of_state(wide) * length_of_state(wide) + 10 / beta));
        }
}

TEST_CASE("ξ − Kᵀ softmax(β K ξ) is the gradient of the energy") {
    Random random(3);
    for (const PatternPointer& patterns : pattern_stores()) {
        if (patterns->largest > 100 || patterns->largest < 1e-3)
            continue;  // the difference of their energies is rounding
        for (const double beta : {0.1, 1.0, 4.0}) {
            const std::vector<double> state = random_hopfield_state(*patterns, random);
            const HopfieldLook<double> look = look_from(*patterns, beta, state);
            const double h = 1e-5 * patterns->largest;
            for (std::size_t a = 0; a < state.size(); ++a) {
                std::vector<double> up = state, down = state;
                up[a] += h;
                down[a] -= h;
                const double slope =
                    (look_from(*patterns, beta, up).energy - look_from(*patterns, beta, down).energy) /
                    (2 * h);
                // The error has a term h² β² |k|³ from the third derivative, and the rounding of two energies
                // over 2h.
                const double scale = patterns->largest + length_of_state(state),
                             sharp = beta * patterns->largest * scale;
                CHECK(std::abs(slope - (state[a] - look.next[a])) <=
                      1e-10 * sharp * sharp * scale + 1e-15 * (scale * scale + 10 / beta) / h);
            }
        }
    }
}

TEST_CASE("no update raises the energy, and it ends at a fixed point within the bounds of the paper") {
    Random random(11);
    for (const PatternPointer& patterns : pattern_stores())
        for (const double beta : hopfield_betas)
            for (int trial = 0; trial < 6; ++trial) {
                std::vector<double> start =
                    trial == 0 ? patterns->in_double(0) : random_hopfield_state(*patterns, random);
                if (trial == 1) start.assign(start.size(), 0);
                Retrieval retrieval(patterns, beta, start);
                while (retrieval.step()) continue;
                INFO(patterns->count() << " × " << patterns->components << ", |k| " << patterns->largest
                                       << ", β " << beta << ", trial " << trial);
                const auto& points = retrieval.points();
                REQUIRE(retrieval.looked_at() == std::ssize(points));
                const double square = patterns->largest * patterns->largest;
                for (std::size_t t = 1; t < points.size(); ++t) {
                    // Rounding of the energies themselves.
                    const double slack = 1e-14 * (points[t - 1].energy + square + 10 / beta);
                    CHECK(points[t].energy <= points[t - 1].energy + slack);
                    // After the first step the state is a mean of patterns.
                    CHECK(points[t].energy >= -slack);
                    CHECK(points[t].energy <= 2 * square + slack);
                    CHECK(length_of_state(points[t].state) <= patterns->largest * (1 + 1e-12));
                    CHECK(points[t].moved == distance_between(points[t].state, points[t - 1].state));
                    CHECK(points[t].effective >= 1 - 1e-12);
                    CHECK(points[t].effective <= static_cast<double>(patterns->count()) * (1 + 1e-12));
                }
                if (retrieval.settled())
                    CHECK(
                        distance_between(retrieval.end(), look_from(*patterns, beta, retrieval.end()).next) <=
                        Retrieval::still * patterns->largest);
                else
                    CHECK(retrieval.steps() == Retrieval::most_steps);
                CHECK(retrieval.travelled() == distance_between(points.front().state, retrieval.end()));
            }
}

TEST_CASE("a large β ends at one pattern, a small one at the mean of all, one between at a mean of a few") {
    const PatternPointer patterns = patterns_from(random_tensor({12, 16}, 4));
    const auto ended = [&](const PatternPointer& from, double beta, std::vector<double> start) {
        Retrieval retrieval(from, beta, std::move(start));
        while (retrieval.step()) continue;
        REQUIRE(retrieval.settled());
        return retrieval;
    };
    for (Index j = 0; j < patterns->count(); ++j) {
        std::vector<double> near = patterns->in_double(j);
        near[0] += 0.1;
        const Retrieval one = ended(patterns, 100, near);
        // Separated patterns are fixed points up to exp(−β Δ); here Δ β is far above 700.
        CHECK(distance_between(one.end(), patterns->in_double(j)) == 0);
        CHECK(memory_kind(effective_patterns(one.weights()), patterns->count()) == MemoryKind::one);
        const Retrieval all = ended(patterns, 0.001, near);
        CHECK(memory_kind(effective_patterns(all.weights()), patterns->count()) == MemoryKind::all);
        // β |k|² is 0.02, and the weights are equal to that precision.
        CHECK(distance_between(all.end(), patterns->mean) <= 0.05 * patterns->largest);
    }
    // Two clusters of three: starting from one cluster, the result is the mean of its three.
    const PatternPointer clusters =
        patterns_from(6, 2, {1, 0, 1, 0.1f, 1, -0.1f, -1, 0, -1, 0.1f, -1, -0.1f});
    const Retrieval few = ended(clusters, 5, {0.9, 0.05});
    CHECK(effective_patterns(few.weights()) == Catch::Approx(3).epsilon(0.05));
    CHECK(memory_kind(effective_patterns(few.weights()), 6) == MemoryKind::few);
    // Symmetry gives (x, 0) with x = tanh-like weights of both clusters, near (1, 0).
    CHECK(few.end()[0] == Catch::Approx(1).margin(0.01));
    CHECK(std::abs(few.end()[1]) < 1e-6);
}

TEST_CASE("two opposite patterns are Ising’s mean field: x = tanh(β x)") {
    const PatternPointer patterns = patterns_from(2, 1, {1, -1});
    for (const double beta : {0.5, 1.5, 3.0}) {
        Retrieval retrieval(patterns, beta, {0.3});
        while (retrieval.step()) continue;
        REQUIRE(retrieval.settled());
        const double x = retrieval.end()[0];
        // |next − x| <= 1e-9 at the end, and the derivative there is below 0.7.
        CHECK(x == Catch::Approx(std::tanh(beta * x)).margin(1e-8));
        CHECK((x > 0.1) == (beta > 1));
    }
    // At the critical β = 1, the state creeps: x − tanh x = x³/3.
    Retrieval critical(patterns, 1, {0.3});
    while (critical.step()) continue;
    CHECK_FALSE(critical.settled());
    CHECK(critical.steps() == Retrieval::most_steps);
}

TEST_CASE("one update from q at the head’s scale is its attention, under every mask") {
    constexpr Index tokens = 9, d = 6;
    for (const Mask& mask : {Mask::everything(), Mask::causal(), Mask::window(2, 1), Mask::causal(-1)}) {
        AttentionSpec spec;
        spec.mask = mask;
        const Tensor k = random_tensor({1, tokens, d}, 2);
        // With K as its values, the output equals the update.
        const Record record = *Record::run(random_tensor({2, tokens, d}, 1), k, k, spec);
        for (Index head = 0; head < 2; ++head)
            for (Index query = 0; query < tokens; ++query) {
                const auto patterns = patterns_seen(record, head, query);
                const auto state = query_state(record, head, query);
                REQUIRE((patterns && state));
                const HopfieldLook<double> look =
                    look_from(*patterns, static_cast<double>(record.scale()), *state);
                const std::vector<float> weights = record.weights(head, query);
                double shown = 0;
                for (Index j = 0; j < patterns->count(); ++j) {
                    const auto key = static_cast<std::size_t>(patterns->keys[static_cast<std::size_t>(j)]);
                    // Sums of six products in f32.
                    CHECK(look.weights[static_cast<std::size_t>(j)] ==
                          Catch::Approx(static_cast<double>(weights[key])).margin(1e-6));
                    shown += static_cast<double>(weights[key]);
                }
                CHECK(shown == Catch::Approx(patterns->count() > 0 ? 1 : 0).margin(1e-6));
                for (Index a = 0; a < d; ++a)
                    CHECK(look.next[static_cast<std::size_t>(a)] ==
                          Catch::Approx(static_cast<double>(record.output().heads().head(head)(query, a)))
                              .margin(2e-6));
            }
    }
}

TEST_CASE(
    "masked keys are not read; without keys the result is 0; without components or with NaN it is refused") {
    Tensor k = random_tensor({4, 3}, 1);
    k.matrix()(2, 1) = std::nanf("");
    const std::vector<std::uint8_t> all(4, 1), without{1, 1, 0, 1}, none(4, 0);
    CHECK_FALSE(hopfield_patterns(k.matrix(), all));
    const auto some = hopfield_patterns(k.matrix(), without);
    REQUIRE(some);
    CHECK(some->keys == std::vector<Index>{0, 1, 3});
    const auto empty = hopfield_patterns(k.matrix(), none);
    REQUIRE(empty);
    const HopfieldLook<double> look = look_from(*empty, 1, {1, 2, 3});
    CHECK(look.weights.empty());
    CHECK(look.energy == 0);
    CHECK(look.next == std::vector<double>(3, 0));
    CHECK(effective_patterns(look.weights) == 0);
    const Tensor nothing({4, 0});
    const auto refused = hopfield_patterns(nothing.matrix(), all);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.ends_with('.'));
    k.matrix()(2, 1) = HUGE_VALF;
    CHECK_FALSE(hopfield_patterns(k.matrix(), all));
}

TEST_CASE("β |k|² of a thousand million is no problem") {
    const PatternPointer patterns = patterns_from(3, 2, {1000, 0, 0, 1000, 700, 700});
    for (const std::vector<double>& start : {std::vector<double>{1, 0}, {0.5, 0.5}, {-1e3, 2e3}, {0, 0}}) {
        Retrieval retrieval(patterns, 1e3, start);
        while (retrieval.step()) continue;
        CHECK(retrieval.settled());
        for (const Retrieval::Point& point : retrieval.points()) CHECK(std::isfinite(point.energy));
    }
}
