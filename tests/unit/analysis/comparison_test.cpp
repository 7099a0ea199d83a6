#include "analysis/comparison.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>

#include "model/forward.hpp"
#include "tensor/random.hpp"
#include "unit/model/models.hpp"

using namespace attn;
using Catch::Matchers::WithinAbs;

namespace {

using Ids = std::vector<std::int32_t>;

// Finds the length of a longest common subsequence by trying everything.
std::size_t longest_common(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
    if (a.empty() || b.empty()) return 0;
    if (a[0] == b[0]) return 1 + longest_common(a.subspan(1), b.subspan(1));
    return std::max(longest_common(a.subspan(1), b), longest_common(a, b.subspan(1)));
}

std::shared_ptr<const Trace> traced(const Ids& ids) {
    auto trace = run_forward(test::load(test::golden_folder("gpt2-f32")), ids);
    REQUIRE(trace);
    return *trace;
}

}  // namespace

TEST_CASE("texts that differ in one token are paired token by token") {
    const Alignment alignment(Ids{1, 2, 3, 4}, Ids{1, 2, 9, 4});
    CHECK(alignment.pairs() ==
          std::vector<TokenPair>{{0, 0, true}, {1, 1, true}, {2, 2, false}, {3, 3, true}});
    CHECK(alignment.second_of(2) == 2);
}

TEST_CASE("an additional token on one side leaves the others paired") {
    const Alignment alignment(Ids{1, 2, 3, 4}, Ids{1, 2, 7, 8, 3, 4});
    CHECK(alignment.pairs() ==
          std::vector<TokenPair>{{0, 0, true}, {1, 1, true}, {2, 4, true}, {3, 5, true}});
    CHECK(alignment.first_of(2) == std::nullopt);
    CHECK(alignment.first_of(4) == 2);
    CHECK(alignment.second_of(3) == 5);
}

TEST_CASE("empty texts have no pairs") {
    CHECK(Alignment(Ids{}, Ids{}).pairs().empty());
    CHECK(Alignment(Ids{1}, Ids{}).pairs().empty());
    CHECK(Alignment(Ids{1, 2}, Ids{3}).pairs().empty());
    CHECK(Alignment(Ids{1}, Ids{3}).pairs() == std::vector<TokenPair>{{0, 0, false}});
}

TEST_CASE("pairs ascend in both texts, and as many tokens as possible are paired") {
    Random random(5);
    for (int trial = 0; trial < 200; ++trial) {
        const Ids a = random_integers(random, static_cast<std::size_t>(random.below(9)), 0, 4),
                  b = random_integers(random, static_cast<std::size_t>(random.below(9)), 0, 4);
        const Alignment alignment(a, b);
        Index i = -1, j = -1;
        std::size_t same = 0;
        for (const TokenPair& pair : alignment.pairs()) {
            REQUIRE(pair.first > i);
            REQUIRE(pair.second > j);
            i = pair.first, j = pair.second;
            REQUIRE(i < std::ssize(a));
            REQUIRE(j < std::ssize(b));
            CHECK(pair.same == (a[static_cast<std::size_t>(i)] == b[static_cast<std::size_t>(j)]));
            same += pair.same;
        }
        CHECK(same == longest_common(a, b));
    }
}

TEST_CASE("the cosine of two vectors") {
    const Cosine c = cosine(std::vector<float>{3, 4}, std::vector<float>{4, 3});
    CHECK(c.dot == 24);
    CHECK(c.first_norm == 5);
    CHECK_THAT(c.value(), WithinAbs(0.96, 1e-15));
    CHECK(std::isnan(cosine(std::vector<float>{0, 0}, std::vector<float>{1, 1}).value()));
}

TEST_CASE("rows over keys that correspond only partly") {
    const Alignment alignment(Ids{1, 2, 3}, Ids{2, 8, 9, 3});  // 2 ↔ 2, 3 ↔ 3
    const std::vector<float> a{0.5f, 0.25f, 0.25f}, b{0.5f, 0.25f, 0, 0.25f};
    const double norm_a = std::sqrt(0.375), norm_b = std::sqrt(0.375);
    CHECK_THAT(row_cosine(a, b, alignment).value(), WithinAbs((0.125 + 0.0625) / (norm_a * norm_b), 1e-15));
}

// A token depends only on earlier ones: a common beginning is the same in both texts, bit for bit, so its
// cosines are 1 up to the rounding of two square roots.
TEST_CASE("two texts are identical until they differ") {
    const auto a = traced({1, 2, 3, 4, 5}), b = traced({1, 2, 3, 9, 5});
    for (const Cosine& c : residual_cosines(*a, 2, *b, 2)) CHECK_THAT(c.value(), WithinAbs(1, 1e-15));
    const auto after = residual_cosines(*a, 4, *b, 4);
    REQUIRE(after.size() == a->layers().size() + 1);
    CHECK_THAT(after.front().value(), WithinAbs(1, 1e-15));  // the same token in the same place
    CHECK(after.back().value() < 1 - 1e-6);                  // it has attended to another token

    for (std::size_t layer = 0; layer < a->layers().size(); ++layer) {
        const Record &first = a->layers()[layer].attention, &second = b->layers()[layer].attention;
        for (Index head = 0; head < first.heads(); ++head)
            for (Index q = 0; q < 3; ++q) CHECK(first.weights(head, q) == second.weights(head, q));
    }
}
