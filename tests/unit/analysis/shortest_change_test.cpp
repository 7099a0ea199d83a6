#include "analysis/theory/shortest_change.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <numbers>

#include "tensor/random.hpp"

using namespace attn;

namespace {

WishedRow random_row(Random& random, Index n, Index d, std::vector<Wish> wishes) {
    std::vector<double> keys, q;
    for (Index i = 0; i < n * d; ++i) keys.push_back(random.normal());
    for (Index c = 0; c < d; ++c) q.push_back(2 * random.normal());
    WishedRow of{
        {{}, {}, std::vector<std::uint8_t>(static_cast<std::size_t>(n), 1), 0.7, 0}, {}, std::move(wishes)};
    of.lever = {d, std::make_shared<const std::vector<double>>(std::move(keys))};
    for (Index j = 0; j < n; ++j) of.row.raw.push_back(of.lever.dot(j, q));
    return of;
}

// Returns the weight of a key after a change, computed from the formula.
double weight_after(const WishedRow& of, const std::vector<double>& z, Index key) {
    double sum = 0, own = 0;
    for (Index j = 0; j < std::ssize(of.row.raw); ++j) {
        const double raw = of.row.raw[static_cast<std::size_t>(j)] + of.lever.dot(j, z),
                     power = std::exp(of.row.scale * raw);
        sum += power;
        if (j == key) own = power;
    }
    return own / sum;
}

// Returns the distance in a direction at which the weight reaches its target; infinite if that is farther
// than `reach`.
double distance_to(const WishedRow& of, const std::vector<double>& direction, double reach) {
    const Wish& wish = of.wishes.front();
    const auto off = [&](double r) {
        std::vector<double> z = direction;
        for (double& each : z) each *= r;
        return weight_after(of, z, wish.key) - wish.weight;
    };
    const bool above = off(0) > 0;
    constexpr int steps = 400;
    for (int i = 1; i <= steps; ++i) {
        double low = reach * (i - 1) / steps, high = reach * i / steps;
        if ((off(high) > 0) == above) continue;
        for (int halving = 0; halving < 40; ++halving) {
            const double middle = (low + high) / 2;
            ((off(middle) > 0) == above ? low : high) = middle;
        }
        return high;
    }
    return std::numeric_limits<double>::infinity();
}

ShortestChange searched(const WishedRow& of) {
    REQUIRE_FALSE(obstacle(of));
    ShortestChange search({of});
    while (search.step()) continue;
    return search;
}

}  // namespace

TEST_CASE("in a plane, no direction reaches the target sooner than the change that is found") {
    Random random(2);
    int lowered = 0, raised = 0, from_zero_longer = 0;
    for (int round = 0; round < 40; ++round) {
        const Index n = 3 + static_cast<Index>(random.below(6));
        WishedRow of = random_row(random, n, 2, {{0, 0.5}});
        const double now = weight_after(of, {0, 0}, 0);
        of.wishes[0].weight = round % 4 == 0 ? now + (1 - now) * 0.3 : std::max(now, 1e-3) / 50;
        if (round % 4 != 0 && now < 0.05) continue;
        INFO("round " << round << ", " << n << " keys, from " << now << " to " << of.wishes[0].weight);
        const ShortestChange search = searched(of);
        if (!search.best().found()) {
            CHECK(round % 4 == 0);
            continue;
        }
        CHECK(std::abs(weight_after(of, search.best().change(), 0) - of.wishes[0].weight) < 1e-10);
        const double length = search.best().length();
        double shortest = std::numeric_limits<double>::infinity();
        constexpr int directions = 720;
        for (int i = 0; i < directions; ++i) {
            const double angle = 2 * std::numbers::pi * i / directions;
            shortest = std::min(shortest, distance_to(of, {std::cos(angle), std::sin(angle)}, 1.2 * length));
        }
        CHECK(length < shortest * (1 + 1e-9));
        // Half a degree away from the shortest direction is not much longer.
        CHECK(length > shortest * (1 - 1e-2));
        round % 4 == 0 ? ++raised : ++lowered;
        CHECK(search.proven() == (round % 4 == 0 || n == 2));
        LeastChange one({of});
        while (one.step()) continue;
        from_zero_longer += !one.found() || one.length() > length * (1 + 1e-6);
    }
    CHECK(lowered > 10);
    CHECK(raised > 3);
    // A single start is not enough.
    CHECK(from_zero_longer > 0);
}

TEST_CASE("in more dimensions, no random direction reaches a lowered weight sooner") {
    Random random(9);
    int found = 0;
    for (int round = 0; round < 8; ++round) {
        WishedRow of = random_row(random, 12, 4, {{0, 0.001}});
        if (weight_after(of, {0, 0, 0, 0}, 0) < 0.1) {
            // A query along the key makes it the strongest.
            for (Index j = 0; j < 12; ++j) {
                double raw = 0;
                for (Index c = 0; c < 4; ++c) raw += 2 * of.lever.at(0, c) * of.lever.at(j, c);
                of.row.raw[static_cast<std::size_t>(j)] = raw;
            }
        }
        const ShortestChange search = searched(of);
        REQUIRE(search.best().found());
        CHECK(search.starts() > 1);
        ++found;
        for (int i = 0; i < 3000; ++i) {
            std::vector<double> direction;
            double squares = 0;
            for (int c = 0; c < 4; ++c) squares += std::pow(direction.emplace_back(random.normal()), 2);
            for (double& each : direction) each /= std::sqrt(squares);
            std::vector<double> z = direction;
            for (double& each : z) each *= 0.999 * search.best().length();
            CHECK(weight_after(of, z, 0) > 0.001);
        }
    }
    CHECK(found == 8);
}

TEST_CASE(
    "a change for several targets is proven if all are raised, and none is longer than from zero alone") {
    Random random(4);
    int proven = 0;
    for (int round = 0; round < 60; ++round) {
        WishedRow of = random_row(random, 9, 6,
                                  {{1, 0.05 + 0.3 * random.uniform()}, {4, 0.05 + 0.3 * random.uniform()}});
        const ShortestChange search = searched(of);
        LeastChange one({of});
        while (one.step()) continue;
        if (!one.found()) continue;
        REQUIRE(search.best().found());
        CHECK(search.best().length() <= one.length());
        proven += search.proven();
        if (!search.proven()) continue;
        for (const double multiplier : search.best().multipliers()) CHECK(multiplier >= 0);
        CHECK(search.best().length() == one.length());
    }
    CHECK(proven > 5);
}
