#include "analysis/theory/eviction.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tensor/random.hpp"

using namespace attn;

namespace {

using WeightOf = std::vector<std::vector<double>>;  // [queries, keys], as if nothing were evicted

WeightOf drawn_weights(Random& random, Index n) {
    WeightOf rows(static_cast<std::size_t>(n));
    for (auto& row : rows)
        for (Index key = 0; key < n; ++key) row.push_back(std::exp(2 * random.normal()));
    return rows;
}

// Returns the weights that a query gives to its visible keys: its shares of the random ones.
std::map<Index, double> given_shares(const WeightOf& weights, Index query, const std::set<Index>& seen) {
    std::map<Index, double> given;
    double sum = 0;
    for (const Index key : seen)
        sum += given[key] = weights[static_cast<std::size_t>(query)][static_cast<std::size_t>(key)];
    for (auto& [key, share] : given) share /= sum;
    return given;
}

// Selects the members of a set with the largest scores, the first of equal ones, by repeatedly searching for
// the next largest.
std::set<Index> best_of(std::set<Index> among, const std::map<Index, double>& scores, Index count) {
    std::set<Index> best;
    while (count-- > 0 && !among.empty()) {
        Index most = *among.begin();
        for (const Index key : among)
            if (scores.at(key) > scores.at(most)) most = key;
        best.insert(most);
        among.erase(most);
    }
    return best;
}

std::set<Index> last_of(const std::set<Index>& among, Index count) {
    std::set<Index> last;
    for (auto key = among.rbegin(); key != among.rend() && count-- > 0; ++key) last.insert(*key);
    return last;
}

// The papers' rules, for the whole text at once: which keys each query sees.
std::vector<std::set<Index>> seen_by_hand(const EvictionRule& rule, Index prompt, Index window,
                                          const WeightOf& weights) {
    const Index n = std::ssize(weights);
    std::vector<std::set<Index>> seen;
    std::set<Index> cache;
    std::map<Index, double> sums, votes;
    for (Index query = 0; query < n; ++query) {
        std::set<Index> now = cache;
        if (window > 0) std::erase_if(now, [&](Index key) { return query - key >= window; });
        const Index room = rule.budget - 1;
        const auto without = [&](const std::set<Index>& some) {
            std::set<Index> rest;
            for (const Index key : now)
                if (!some.contains(key)) rest.insert(key);
            return rest;
        };
        const auto both = [](std::set<Index> a, const std::set<Index>& b) {
            a.insert(b.begin(), b.end());
            return a;
        };
        if (rule.policy == EvictionPolicy::snapkv) {
            if (query == prompt && std::ssize(now) > rule.budget) {
                const std::set<Index> newest = last_of(now, std::min({rule.observed, rule.budget, prompt}));
                const std::set<Index> old = without(newest);
                const std::vector<Index> line(old.begin(), old.end());
                std::map<Index, double> pooled;
                for (Index i = 0; i < std::ssize(line); ++i)
                    for (Index j = 0; j < std::ssize(line); ++j)
                        if (std::abs(i - j) <= rule.pooling / 2)
                            pooled[line[static_cast<std::size_t>(i)]] =
                                std::max(pooled[line[static_cast<std::size_t>(i)]],
                                         votes[line[static_cast<std::size_t>(j)]]);
                now = both(newest, best_of(old, pooled, rule.budget - std::ssize(newest)));
            }
        } else if (query >= prompt && std::ssize(now) > room) {
            if (rule.policy == EvictionPolicy::window) now = last_of(now, room);
            if (rule.policy == EvictionPolicy::sinks) {
                std::set<Index> first;
                for (const Index key : now)
                    if (key < rule.sinks && std::ssize(first) < room) first.insert(key);
                now = both(first, last_of(without(first), room - std::ssize(first)));
            }
            if (rule.policy == EvictionPolicy::heavy_hitters) {
                const std::set<Index> newest = last_of(now, room - rule.budget / 2);
                now = both(newest, best_of(without(newest), sums, rule.budget / 2));
            }
        }
        now.insert(query);
        seen.push_back(now);
        for (const auto& [key, share] : given_shares(weights, query, now)) {
            sums[key] += share;
            if (query < prompt && query >= prompt - std::min({rule.observed, rule.budget, prompt}))
                votes[key] += share;
        }
        cache = now;
    }
    return seen;
}

std::set<Index> set_of(const std::vector<Index>& keys) { return {keys.begin(), keys.end()}; }

}  // namespace

TEST_CASE("every policy matches a plain reading of its paper", "[analysis]") {
    Random random(11);
    const Index n = 24;
    for (int policy = 0; policy < static_cast<int>(eviction_policy_count); ++policy)
        for (const Index budget : {1, 2, 3, 5, 8, 23, 24, 40})
            for (const Index prompt : {1, 2, 9, 20})
                for (const Index window : {0, 1, 6}) {
                    const EvictionRule rule{static_cast<EvictionPolicy>(policy), budget, 2, 3, 3};
                    CAPTURE(policy, budget, prompt, window);
                    const WeightOf weights = drawn_weights(random, n);
                    const auto expected = seen_by_hand(rule, prompt, window, weights);
                    Eviction eviction(rule, prompt, window, n);
                    std::vector<std::vector<Index>> seen;
                    for (Index query = 0; query < n; ++query) {
                        REQUIRE(eviction.query() == query);
                        seen.push_back(eviction.seen());
                        REQUIRE(set_of(eviction.seen()) == expected[static_cast<std::size_t>(query)]);
                        CHECK(std::ranges::is_sorted(eviction.seen()));
                        if (query >= prompt && rule.policy != EvictionPolicy::snapkv)
                            CHECK(std::ssize(eviction.seen()) <= budget);
                        const auto given =
                            given_shares(weights, query, expected[static_cast<std::size_t>(query)]);
                        std::vector<double> row;
                        for (const Index key : eviction.seen()) row.push_back(given.at(key));
                        eviction.add(eviction.counts() ? std::span<const double>(row)
                                                       : std::span<const double>());
                    }
                    // An evicted key stays evicted for all later queries.
                    for (Index query = 0; query < n; ++query)
                        for (Index key = 0; key <= query; ++key)
                            CHECK(set_of(seen[static_cast<std::size_t>(query)]).contains(key) ==
                                  (query < eviction.gone()[static_cast<std::size_t>(key)]));
                }
}

TEST_CASE("weights that are not finite count as zero, and among equal scores the first key stays",
          "[analysis]") {
    Eviction eviction({EvictionPolicy::heavy_hitters, 4, 0, 1, 1}, 4, 0, 8);
    for (Index query = 0; query < 8; ++query) {
        std::vector<double> row(eviction.seen().size(), std::numeric_limits<double>::quiet_NaN());
        eviction.add(row);
    }
    for (Index key = 0; key < 8; ++key) CHECK(eviction.score(key) == 0);
    // Two heavy hitters, the first two keys, and the newest besides the query's own.
    CHECK(eviction.gone() == std::vector<Index>{8, 8, 4, 5, 6, 7, 8, 8});
}
