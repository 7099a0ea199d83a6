#include "train/symbols.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <set>

using namespace attn;
using Catch::Matchers::ContainsSubstring;

namespace {

struct SymbolSequence {
    std::vector<std::int32_t> ids, targets;
    bool operator==(const SymbolSequence&) const = default;
};

SymbolSequence drawn(SymbolTask task, std::size_t context, std::int64_t step, Index place = 0,
                     std::uint64_t seed = 1, Index vocabulary = 64) {
    const auto batches = symbol_batches(task, vocabulary, seed);
    REQUIRE(batches);
    SymbolSequence s{std::vector<std::int32_t>(context), std::vector<std::int32_t>(context)};
    (*batches)(step, place, s.ids, s.targets);
    return s;
}

using enum SymbolTask;

}  // namespace

TEST_CASE("A symbol sequence depends on seed, step and place alone", "[unit][train]") {
    const auto task = GENERATE(repeated, reversal, copying);
    CHECK(drawn(task, 40, 5, 2) == drawn(task, 40, 5, 2));
    CHECK(drawn(task, 40, 5, 2) != drawn(task, 40, 6, 2));
    CHECK(drawn(task, 40, 5, 2) != drawn(task, 40, 5, 3));
    CHECK(drawn(task, 40, 5, 2) != drawn(task, 40, 5, 2, 2));
}

TEST_CASE("Repeated symbols return after different periods, and their first occurrence is no target",
          "[unit][train]") {
    std::set<std::size_t> periods;
    for (std::int64_t step = 0; step < 40; ++step) {
        const SymbolSequence s = drawn(repeated, 64, step);
        const auto period =
            static_cast<std::size_t>(std::find(s.ids.begin() + 1, s.ids.end(), s.ids[0]) - s.ids.begin());
        periods.insert(period);
        CHECK(std::ranges::min(s.ids) >= 1);
        CHECK(std::set(s.ids.begin(), s.ids.begin() + static_cast<std::ptrdiff_t>(period)).size() == period);
        for (std::size_t i = 0; i + 1 < s.ids.size(); ++i) {
            if (i >= period) CHECK(s.ids[i] == s.ids[i - period]);
            CHECK(s.targets[i] == (i < period ? -1 : s.ids[i + 1]));
        }
        CHECK(s.targets.back() == s.ids[s.ids.size() - period]);
    }
    CHECK(*periods.begin() >= 8);
    CHECK(*periods.rbegin() <= 32);
    CHECK(periods.size() > 10);
}

TEST_CASE("After the separator comes the answer, and only that is a target", "[unit][train]") {
    const bool backwards = GENERATE(false, true);
    std::set<std::size_t> counts;
    for (std::int64_t step = 0; step < 40; ++step) {
        const SymbolSequence s = drawn(backwards ? reversal : copying, 33, step);
        const auto bar = static_cast<std::size_t>(std::ranges::find(s.ids, 0) - s.ids.begin());
        counts.insert(bar);
        std::vector<std::int32_t> question(s.ids.begin(), s.ids.begin() + static_cast<std::ptrdiff_t>(bar));
        if (backwards) std::ranges::reverse(question);
        for (std::size_t i = 0; i < s.ids.size(); ++i)
            CHECK(s.targets[i] == (i >= bar && i < 2 * bar ? question[i - bar] : -1));
    }
    CHECK(*counts.begin() >= 8);
    CHECK(*counts.rbegin() <= 16);
    CHECK(counts.size() > 4);
}

TEST_CASE("Symbol sequences of every length stay within the vocabulary", "[unit][train]") {
    const auto task = GENERATE(repeated, reversal, copying);
    for (std::size_t context = 1; context <= 20; ++context)
        for (std::int64_t step = 0; step < 20; ++step) {
            const SymbolSequence s = drawn(task, context, step, 0, 1, 3);
            CHECK(std::ranges::min(s.ids) >= 0);
            CHECK(std::ranges::max(s.ids) <= 2);
            CHECK(std::ranges::min(s.targets) >= -1);
            CHECK(std::ranges::max(s.targets) <= 2);
        }
}

TEST_CASE("A vocabulary of one symbol is refused", "[unit][train]") {
    const auto batches = symbol_batches(repeated, 2, 1);
    REQUIRE(!batches);
    CHECK_THAT(batches.error().message,
               ContainsSubstring("a vocabulary of 2") && ContainsSubstring("at least 3"));
}
