#include "analysis/theory/least_change.hpp"

#include <Eigen/Core>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/theory/best_weight.hpp"
#include "tensor/random.hpp"
#include "unit/analysis/eigen_svd.hpp"

using namespace attn;
using namespace attn::test;

namespace {

Lever lever_of(Index width, std::vector<double> rows) {
    return {width, std::make_shared<const std::vector<double>>(std::move(rows))};
}

Lever dense_lever(Random& random, Index n, Index d) {
    std::vector<double> rows;
    for (Index i = 0; i < n * d; ++i) rows.push_back(random.normal());
    return {d, std::make_shared<const std::vector<double>>(std::move(rows))};
}

ScoreRow plain_row(const Lever& lever, Random& random, Index n, double scale) {
    ScoreRow row{{}, {}, std::vector<std::uint8_t>(static_cast<std::size_t>(n), 1), scale, 0};
    std::vector<double> q(static_cast<std::size_t>(lever.size()));
    for (double& each : q) each = random.normal();
    for (Index j = 0; j < n; ++j) row.raw.push_back(!lever.rows ? 2 * random.normal() : lever.dot(j, q));
    return row;
}

// Weights after a change, computed from the formula.
std::vector<double> weights_after(const WishedRow& of, const std::vector<double>& z) {
    std::vector<double> weights;
    double sum = 0;
    for (std::size_t j = 0; j < of.row.raw.size(); ++j) {
        double raw = of.row.raw[j];
        for (Index c = 0; c < of.lever.size(); ++c)
            raw += of.lever.at(static_cast<Index>(j), c) * z[static_cast<std::size_t>(c)];
        double score = of.row.scale * raw;
        if (of.row.softcap > 0) score = of.row.softcap * std::tanh(score / of.row.softcap);
        if (!of.row.bias.empty()) score += of.row.bias[j];
        weights.push_back(of.row.allowed[j] ? std::exp(score) : 0);
        sum += weights.back();
    }
    for (double& each : weights) each /= sum;
    return weights;
}

double log_odds(const WishedRow& of, const std::vector<double>& z, std::size_t wish) {
    const std::vector<double> weights = weights_after(of, z);
    double rest = 1;
    for (const Wish& each : of.wishes) rest -= weights[static_cast<std::size_t>(each.key)];
    return std::log(weights[static_cast<std::size_t>(of.wishes[wish].key)] / rest);
}

// Returns the share of z outside the span of the gradients of the log-odds, which are central differences
// with errors of about 1e-10.
double share_outside(const WishedRow& of, const std::vector<double>& z) {
    const auto size = static_cast<Index>(z.size());
    Eigen::MatrixXd slopes(size, std::ssize(of.wishes));
    constexpr double h = 1e-5;
    for (std::size_t w = 0; w < of.wishes.size(); ++w)
        for (Index c = 0; c < size; ++c) {
            std::vector<double> up = z, down = z;
            up[static_cast<std::size_t>(c)] += h;
            down[static_cast<std::size_t>(c)] -= h;
            slopes(c, static_cast<Index>(w)) = (log_odds(of, up, w) - log_odds(of, down, w)) / (2 * h);
        }
    const Eigen::Map<const Eigen::VectorXd> all(z.data(), size);
    const Eigen::VectorXd y = least_squares(slopes, all);
    return (all - slopes * y).norm() / all.norm();
}

LeastChange searched(const WishedRow& of) {
    REQUIRE_FALSE(obstacle(of));
    LeastChange search({of});
    while (search.step()) continue;
    return search;
}

}  // namespace

TEST_CASE("between two keys the smallest change lies along their difference") {
    Random random(1);
    for (const double wish : {0.001, 0.2, 0.5, 0.9, 0.9999}) {
        WishedRow of;
        of.lever = dense_lever(random, 2, 5);
        of.row = plain_row(of.lever, random, 2, 0.4);
        of.wishes = {{0, wish}};
        const LeastChange search = searched(of);
        REQUIRE(search.least());
        double squares = 0;
        for (Index c = 0; c < 5; ++c) squares += std::pow(of.lever.at(0, c) - of.lever.at(1, c), 2);
        const double off = std::log(wish / (1 - wish)) / 0.4 - (of.row.raw[0] - of.row.raw[1]);
        for (Index c = 0; c < 5; ++c)
            // Scores of about 10 are added and subtracted again.
            CHECK(std::abs(search.change()[static_cast<std::size_t>(c)] -
                           off * (of.lever.at(0, c) - of.lever.at(1, c)) / squares) < 1e-10);
    }
}

TEST_CASE("a found change reaches the targets and has no idle part") {
    Random random(7);
    Index found = 0, tried = 0, least = 0;
    for (int round = 0; round < 300; ++round) {
        const Index n = 2 + static_cast<Index>(random.below(30)),
                    d = 1 + static_cast<Index>(random.below(12));
        WishedRow of;
        if (round % 5 == 4) {
            of.lever.width = n;
            for (Index j = 0; j < n; ++j) of.lever.own.push_back(round % 2 ? 3 : random.normal());
        } else {
            of.lever = dense_lever(random, n, d);
        }
        of.row = plain_row(of.lever, random, n, 1 / std::sqrt(static_cast<double>(d)));
        if (round % 3 == 1)
            for (Index j = 0; j < n; ++j) of.row.bias.push_back(random.normal());
        if (round % 4 == 2) of.row.softcap = 4;
        for (Index j = 2; j < n; ++j) of.row.allowed[static_cast<std::size_t>(j)] = random.below(5) > 0;
        const auto count = static_cast<Index>(1 + random.below(3));
        for (Index w = 0; w < std::min(count, n - 1); ++w)
            of.wishes.push_back({w, 0.9 * random.uniform() / 3 + 0.01});
        if (count == 1) of.wishes[0].weight = 0.01 + 0.98 * random.uniform();
        INFO("round " << round << ", " << n << " keys, " << d << " components, " << of.wishes.size()
                      << " wishes");
        if (obstacle(of)) continue;
        ++tried;
        const LeastChange search = searched(of);
        if (!search.found()) continue;
        ++found;
        const std::vector<double> weights = weights_after(of, search.change());
        // Log-odds are matched to 1e-11; a weight moves by at most a quarter of that.
        for (const Wish& wish : of.wishes)
            CHECK(std::abs(weights[static_cast<std::size_t>(wish.key)] - wish.weight) < 1e-10);
        for (std::size_t j = 0; j < weights.size(); ++j)
            CHECK(std::abs(weights[j] - search.weights(0)[j]) < 1e-12);
        if (!search.least()) continue;
        ++least;
        if (search.length() < 1e-6) continue;
        CHECK(search.idle_share() < 1e-6);
        // Differences are off by 1e-10, relative to gradients that may be small.
        CHECK(share_outside(of, search.change()) < 1e-5);
    }
    // The others have keys among the others, or targets that contradict each other.
    CHECK(tried > 200);
    CHECK(found > tried * 2 / 3);
    // Where the rows with targets curve sharply, the search stops before its end.
    CHECK(least > found * 49 / 50);
}

TEST_CASE("no change near the smallest one reaches the targets and is smaller") {
    Random random(3);
    WishedRow of;
    of.lever = dense_lever(random, 12, 6);
    of.row = plain_row(of.lever, random, 12, 0.5);
    of.wishes = {{2, 0.3}, {5, 0.25}};
    const LeastChange search = searched(of);
    REQUIRE(search.least());
    int back = 0;
    for (int round = 0; round < 40; ++round) {
        // Starts from another row of scores, so that the search reaches the targets by another path.
        WishedRow moved = of;
        std::vector<double> by(6);
        for (double& each : by) each = 0.05 * random.normal();
        for (Index j = 0; j < 12; ++j) moved.row.raw[static_cast<std::size_t>(j)] += of.lever.dot(j, by);
        LeastChange other({moved});
        while (other.step()) continue;
        if (!other.found()) continue;
        ++back;
        double squares = 0;
        for (std::size_t c = 0; c < by.size(); ++c) squares += std::pow(by[c] + other.change()[c], 2);
        CHECK(std::sqrt(squares) > search.length() - 1e-9);
    }
    CHECK(back > 30);
}

TEST_CASE("impossible targets are refused with the reason and the largest possible weight") {
    using enum Obstacle::Why;
    const Lever lever = lever_of(2, {1, 0, 0, 1, 1, 0, -1, -1});
    const ScoreRow row{{0.5, 0, 0.5, 0}, {}, {1, 1, 1, 1}, 1, 0};
    const auto why = [&](const ScoreRow& of, std::vector<Wish> wishes, const Lever& by) {
        return obstacle({of, by, std::move(wishes)});
    };
    ScoreRow masked = row, limited = row, unfinished = row, single = row;
    masked.allowed[1] = 0;
    limited.softcap = 1;
    unfinished.raw[3] = NAN;
    single.allowed = {0, 1, 0, 0};
    CHECK_FALSE(why(row, {{1, 0.9}}, lever));
    CHECK(why(masked, {{1, 0.9}}, lever)->why == hidden);
    CHECK(why(row, {{1, 1}}, lever)->why == extreme);
    CHECK(why(row, {{1, 0}}, lever)->why == extreme);
    CHECK(why(unfinished, {{1, 0.5}}, lever)->why == not_finite);
    CHECK(why(single, {{1, 0.5}}, lever)->why == alone);
    CHECK(why(row, {{0, 0.5}, {1, 0.5}}, lever)->why == too_much);
    CHECK(why(row, {{1, 0.5}}, lever_of(1, {0, 0, 0, 0}))->why == unmoved);
    CHECK(why(row, {{1, 0.5}}, Lever{4, nullptr, {0, 0, 0, 0}})->why == unmoved);
    // Keys 0 and 2 are equal: each has half of their common weight.
    const auto twins = why(row, {{0, 0.6}}, lever);
    REQUIRE(twins);
    CHECK(twins->why == same);
    CHECK(twins->other == 2);
    CHECK(twins->most == 0.5);
    CHECK_FALSE(why(row, {{0, 0.4}}, lever));
    const auto most = why(limited, {{1, 0.9}}, lever);
    REQUIRE(most);
    CHECK(most->why == capped);
    CHECK(std::abs(most->most - 1 / (1 + 3 * std::exp(-2.0))) < 1e-15);
}

TEST_CASE("a key that is a mixture of others has a largest possible weight") {
    // Four corners of a square and a point inside; then the point at the square's centre, for which the best
    // weight is a fifth.
    for (const double x : {0.0, 0.3}) {
        const Lever lever = lever_of(2, {1, 0, -1, 0, 0, 1, 0, -1, x, 0});
        const ScoreRow row{{0.3, -0.3, 1, -1, 0.3 * x}, {}, {1, 1, 1, 1, 1}, 1, 0};
        BestWeight best(row, lever, 4);
        while (best.step()) continue;
        if (x == 0) CHECK(std::abs(best.weight() - 0.2) < 1e-9);
        CHECK(best.off_mixture() < 1e-6);
        const std::vector<double> mixture = best.mixture();
        CHECK(std::abs(mixture[0] - mixture[1] - x) < 1e-6);
        CHECK(std::abs(mixture[2] - mixture[3]) < 1e-6);
        // No change gives it more.
        Random random(5);
        const WishedRow of{row, lever, {{4, 0.5}}};
        for (int round = 0; round < 2000; ++round)
            CHECK(weights_after(of, {2 * random.normal(), 2 * random.normal()})[4] <= best.weight() + 1e-12);
        LeastChange search({of});
        while (search.step()) continue;
        CHECK_FALSE(search.found());
        // A little less is possible.
        LeastChange less({{row, lever, {{4, best.weight() - 1e-4}}}});
        while (less.step()) continue;
        CHECK(less.found());
    }
    // A corner has no limit.
    const Lever corner = lever_of(2, {1, 0, -1, 0, 0, 1});
    BestWeight best(ScoreRow{{0, 0, 0}, {}, {1, 1, 1}, 1, 0}, corner, 2);
    while (best.step()) continue;
    CHECK(best.weight() > 0.999);
}

TEST_CASE("one change brings several rows to their targets, and is as small as their gradients say") {
    Random random(13);
    int found = 0;
    for (int round = 0; round < 40; ++round) {
        // Two rows whose scores depend on the blocks of z in different shares, as the rows of two tokens
        // depend on W_Q.
        const Index n = 6 + static_cast<Index>(random.below(10)), d = 8;
        const Lever lever = dense_lever(random, n, d);
        std::vector<WishedRow> rows;
        for (int r = 0; r < 2; ++r) {
            Lever own = lever;
            own.blocks = {random.normal(), r == 0 ? 0 : random.normal()};
            rows.push_back({plain_row(lever, random, n, 0.35),
                            own,
                            {{static_cast<Index>(random.below(5)), 0.1 + 0.5 * random.uniform()}}});
        }
        LeastChange search(rows);
        while (search.step()) continue;
        if (!search.least()) continue;
        ++found;
        Eigen::MatrixXd slopes(2 * d, 2);
        for (std::size_t r = 0; r < 2; ++r) {
            const std::vector<double> weights = weights_after(rows[r], search.change());
            CHECK(std::abs(weights[static_cast<std::size_t>(rows[r].wishes[0].key)] -
                           rows[r].wishes[0].weight) < 1e-10);
            for (Index c = 0; c < 2 * d; ++c) {
                std::vector<double> up = search.change(), down = up;
                up[static_cast<std::size_t>(c)] += 1e-5;
                down[static_cast<std::size_t>(c)] -= 1e-5;
                slopes(c, static_cast<Index>(r)) =
                    (log_odds(rows[r], up, 0) - log_odds(rows[r], down, 0)) / 2e-5;
            }
        }
        const Eigen::Map<const Eigen::VectorXd> all(search.change().data(), 2 * d);
        CHECK((all - slopes * least_squares(slopes, all)).norm() < 1e-5 * all.norm());
        // Coefficients c of all keys and rows reproduce the change.
        std::vector<double> made(static_cast<std::size_t>(2 * d));
        for (std::size_t r = 0; r < 2; ++r) {
            const std::vector<double> shares = search.shares(r);
            for (Index j = 0; j < n; ++j) rows[r].lever.add(j, shares[static_cast<std::size_t>(j)], made);
        }
        for (std::size_t c = 0; c < made.size(); ++c)
            CHECK(std::abs(made[c] - search.change()[c]) < 1e-6 * search.length());
    }
    CHECK(found > 20);
}

TEST_CASE("a row of 16,384 keys reaches its target") {
    Random random(11);
    WishedRow of;
    of.lever = dense_lever(random, 16'384, 32);  // in fewer dimensions, most keys are mixtures of others
    of.row = plain_row(of.lever, random, 16'384, 1 / std::sqrt(32.0));
    of.wishes = {{12'345, 0.2}};
    const LeastChange search = searched(of);
    REQUIRE(search.found());
    CHECK(std::abs(weights_after(of, search.change())[12'345] - 0.2) < 1e-10);
    CHECK(search.idle_share() < 1e-6);
}
