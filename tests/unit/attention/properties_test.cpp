// Tests properties of attention that hold for any numbers.

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <numeric>

#include "attention/record.hpp"
#include "support/kernels.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;

namespace {

Tensor output_of(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec,
                 const Kernels& kernels) {
    auto record = Record::run(q, k, v, spec, kernels);
    REQUIRE(record);
    return record->output();
}

// Permutes the rows of every head.
Tensor permuted(const Tensor& t, const std::vector<Index>& order) {
    Tensor result(t.shape());
    for (Index h = 0; h < t.dim(0); ++h)
        for (Index i = 0; i < t.dim(1); ++i)
            std::copy_n(t.heads().head(h).row(order[static_cast<std::size_t>(i)]), t.dim(2),
                        result.heads().head(h).row(i));
    return result;
}

std::vector<Index> shuffled(Index n, std::uint64_t seed) {
    std::vector<Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), Index{0});
    Random random(seed);
    for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.uniform() * static_cast<double>(i))]);
    return order;
}

}  // namespace

TEST_CASE("Rows of weights sum to one", "[property][attention]") {
    const Kernels& kernels = generate_kernels();
    AttentionSpec spec;
    spec.mask = *Mask::parse(GENERATE("everything", "causal(0)", "window(7,3)", "strided(5) | window(2,0)"));
    const auto r = Record::run(random_tensor({2, 130, 16}, 1), random_tensor({2, 130, 16}, 2),
                               random_tensor({2, 130, 16}, 3), spec, kernels);
    REQUIRE(r);
    std::vector<float> weights(130 * 130);
    for (Index h = 0; h < 2; ++h) {
        r->stage(Stage::weight, h, {0, 130}, {0, 130}, weights);
        for (std::size_t i = 0; i < 130; ++i) {
            double sum = 0;
            for (std::size_t j = 0; j < 130; ++j) {
                const float w = weights[i * 130 + j];
                REQUIRE(w >= 0);
                REQUIRE(w <= 1.000001f);
                sum += static_cast<double>(w);
            }
            // Each weight is off by a few units in its last place, and so is their sum.
            REQUIRE_THAT(sum, WithinAbs(1, 2e-6));
        }
    }
}

TEST_CASE("Permuting the tokens permutes the outputs", "[property][attention]") {
    const Kernels& kernels = generate_kernels();
    const Index n = 70;
    const Tensor q = random_tensor({2, n, 8}, 4), k = random_tensor({2, n, 8}, 5),
                 v = random_tensor({2, n, 8}, 6);
    const auto order = shuffled(n, 7);
    const Tensor plain = output_of(q, k, v, {}, kernels);
    const Tensor moved = output_of(permuted(q, order), permuted(k, order), permuted(v, order), {}, kernels);
    // Inputs are standard-normal: see the bound of the kernels' own test.
    CHECK_THAT(largest_difference(moved.values(), permuted(plain, order).values()), WithinAbs(0, 1e-5));
    // If only the queries are permuted, the output agrees to the bit.
    CHECK(output_of(permuted(q, order), k, v, {}, kernels) == permuted(plain, order));
}

TEST_CASE("A shift of all scores of a row changes nothing", "[property][attention]") {
    const Kernels& kernels = generate_kernels();
    const Tensor q = random_tensor({1, 70, 8}, 8), k = random_tensor({1, 70, 8}, 9),
                 v = random_tensor({1, 70, 8}, 10);
    AttentionSpec spec;
    spec.bias.values = std::make_shared<Tensor>(random_tensor({1, 70, 1}, 11, GENERATE(1.0f, 10.0f)));
    // The shifted scores are near 30 and therefore rounded to 2^-19.
    CHECK_THAT(largest_difference(output_of(q, k, v, spec, kernels).values(),
                                  output_of(q, k, v, {}, kernels).values()),
               WithinAbs(0, 3e-5));
}

TEST_CASE("Nothing leaks from the future", "[property][attention]") {
    const Kernels& kernels = generate_kernels();
    const Index n = 130, past = GENERATE(0, 3), split = GENERATE(1, 63, 64, 65, 128);
    const Tensor q = random_tensor({1, n, 8}, 12), k = random_tensor({1, n + past, 8}, 13),
                 v = random_tensor({1, n + past, 8}, 14);
    AttentionSpec spec;
    spec.mask = Mask::causal(past);
    const Tensor before = output_of(q, k, v, spec, kernels);
    Tensor other_k = k, other_v = v;
    for (Index j = split + past; j < n + past; ++j)
        for (Index a = 0; a < 8; ++a) {
            other_k.heads().head(0)(j, a) = a == 3 ? not_a_number : 1e30f;
            other_v.heads().head(0)(j, a) = a == 3 ? infinity : -1e30f;
        }
    const Tensor after = output_of(q, other_k, other_v, spec, kernels);
    const auto kept = static_cast<std::size_t>(split * 8);
    CHECK(std::ranges::equal(before.values().first(kept), after.values().first(kept)));
    CHECK_FALSE(std::ranges::equal(before.values(), after.values()));
}

TEST_CASE("Grouped heads are repeated heads", "[property][attention]") {
    const Kernels& kernels = generate_kernels();
    const Index kv_heads = GENERATE(1, 2, 3), group = 6 / kv_heads;
    const Tensor q = random_tensor({6, 20, 8}, 15), k = random_tensor({kv_heads, 30, 8}, 16),
                 v = random_tensor({kv_heads, 30, 5}, 17);
    Tensor k6({6, 30, 8}), v6({6, 30, 5});
    for (Index h = 0; h < 6; ++h) {
        std::copy_n(k.heads().head(h / group).data, 30 * 8, k6.heads().head(h).data);
        std::copy_n(v.heads().head(h / group).data, 30 * 5, v6.heads().head(h).data);
    }
    AttentionSpec spec;
    spec.mask = Mask::causal(10);
    CHECK(output_of(q, k, v, spec, kernels) == output_of(q, k6, v6, spec, kernels));
}

TEST_CASE("Heads do not see each other", "[property][attention]") {
    const Kernels& kernels = generate_kernels();
    const Tensor q = random_tensor({3, 20, 8}, 18), k = random_tensor({3, 20, 8}, 19),
                 v = random_tensor({3, 20, 8}, 20);
    const Tensor all = output_of(q, k, v, {}, kernels);
    const auto only = [](const Tensor& t, Index h) {
        return Tensor({1, 20, 8}, {t.heads().head(h).data, 160});
    };
    for (Index h = 0; h < 3; ++h)
        CHECK(output_of(only(q, h), only(k, h), only(v, h), {}, kernels) == only(all, h));
}

TEST_CASE("Equal keys give the mean of the values", "[property][attention]") {
    const Kernels& kernels = generate_kernels();
    const Tensor v = random_tensor({1, 100, 4}, 21);
    const Tensor out = output_of(random_tensor({1, 3, 8}, 22), Tensor({1, 100, 8}), v, {}, kernels);
    for (Index b = 0; b < 4; ++b) {
        double mean = 0;
        for (Index j = 0; j < 100; ++j) mean += static_cast<double>(v.heads().head(0)(j, b));
        for (Index i = 0; i < 3; ++i) CHECK_THAT(out.heads().head(0)(i, b), WithinAbs(mean / 100, 1e-6));
    }
}

TEST_CASE("A mask made of a mask's cells equals the mask", "[property][attention]") {
    const Kernels& kernels = generate_kernels();
    const Index n = 67;
    const Tensor q = random_tensor({1, n, 8}, 23), k = random_tensor({1, n, 8}, 24),
                 v = random_tensor({1, n, 8}, 25);
    AttentionSpec rule, painted, added;
    rule.mask = *Mask::parse("causal(0) & (window(5,0) | strided(4))");
    PaintedBits bits{1, n, n, {}};
    Tensor bias({1, n, n});
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) {
            bits.allowed.push_back(rule.mask.allows(0, i, j));
            bias.heads().head(0)(i, j) = bits.allowed.back() ? 0 : -infinity;
        }
    painted.mask = Mask::painted(bits);
    added.bias.values = std::make_shared<Tensor>(bias);
    CHECK(output_of(q, k, v, rule, kernels) == output_of(q, k, v, painted, kernels));
    CHECK(output_of(q, k, v, rule, kernels) == output_of(q, k, v, added, kernels));
}
