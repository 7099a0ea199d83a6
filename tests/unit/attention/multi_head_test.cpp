#include "attention/multi_head.hpp"

#include <catch_amalgamated.hpp>

#include "support/kernels.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

// All widths of this cross-attention differ: 10 → 4 heads of 3, memory of 6 → 2 heads of 3 and 5, out 7.
MultiHeadWeights weights() {
    return {.heads = 4,
            .kv_heads = 2,
            .w_q = random_tensor({10, 12}, 1, 0.3f),
            .b_q = random_tensor({12}, 2),
            .w_k = random_tensor({6, 6}, 3, 0.3f),
            .b_k = random_tensor({6}, 4),
            .w_v = random_tensor({6, 10}, 5, 0.3f),
            .b_v = random_tensor({10}, 6),
            .w_o = random_tensor({20, 7}, 7, 0.3f),
            .b_o = random_tensor({7}, 8)};
}
const Tensor x_q = random_tensor({5, 10}, 9), x_kv = random_tensor({8, 6}, 10);

MultiHeadAttention run(MultiHeadWeights w, const Kernels& kernels = default_kernels()) {
    auto result = MultiHeadAttention::run(x_q, x_kv, std::move(w), {}, kernels);
    REQUIRE(result);
    return *std::move(result);
}

std::string failure(const MultiHeadWeights& w, const Tensor& q = x_q, const Tensor& kv = x_kv) {
    const auto result = MultiHeadAttention::run(q, kv, w, {});
    return result ? "" : result.error().message;
}

}  // namespace

TEST_CASE("Heads own their columns of the projections", "[unit][multi_head]") {
    const auto m = run(weights(), *GENERATE(from_range(fast_and_reference_kernels())));
    const auto w = weights();
    CHECK(m.record().q().shape() == Shape{4, 5, 3});
    CHECK(m.record().k().shape() == Shape{2, 8, 3});
    CHECK(m.record().v().shape() == Shape{2, 8, 5});
    for (Index h = 0; h < 4; ++h)
        for (Index i = 0; i < 5; ++i)
            for (Index a = 0; a < 3; ++a) {
                double sum = static_cast<double>(w.b_q.data()[h * 3 + a]);
                for (Index c = 0; c < 10; ++c)
                    sum += static_cast<double>(x_q.matrix()(i, c)) *
                           static_cast<double>(w.w_q.matrix()(c, h * 3 + a));
                CHECK_THAT(m.record().q().heads().head(h)(i, a), WithinAbs(sum, 1e-6));
            }
    for (Index h = 0; h < 4; ++h)
        for (Index i = 0; i < 5; ++i)
            for (Index b = 0; b < 5; ++b)
                CHECK(m.concatenated().matrix()(i, h * 5 + b) == m.record().output().heads().head(h)(i, b));
}

TEST_CASE("The heads' contributions and the bias make the output", "[unit][multi_head]") {
    const bool biased = GENERATE(true, false);
    auto w = weights();
    if (!biased) w.b_q = w.b_k = w.b_v = w.b_o = {};
    const auto m = run(w);
    Tensor sum({5, 7});
    for (Index h = 0; h < 4; ++h) {
        const Tensor added = m.contribution(h);
        REQUIRE(added.shape() == Shape{5, 7});
        for (Index i = 0; i < sum.size(); ++i) sum.data()[i] += added.data()[i];
    }
    if (biased)
        for (Index i = 0; i < 5; ++i)
            for (Index c = 0; c < 7; ++c) sum.matrix()(i, c) += m.weights().b_o.data()[c];
    // Both add up the same twenty products, in different orders.
    CHECK_THAT(largest_difference(sum.values(), m.output().values()), WithinAbs(0, 2e-6));
}

TEST_CASE("Without biases equals with zero biases", "[unit][multi_head]") {
    auto zero = weights(), none = weights();
    zero.b_q = Tensor({12}), zero.b_k = Tensor({6}), zero.b_v = Tensor({10}), zero.b_o = Tensor({7});
    none.b_q = none.b_k = none.b_v = none.b_o = {};
    CHECK(run(zero).output() == run(none).output());
}

TEST_CASE("Self-attention is cross-attention to oneself", "[unit][multi_head]") {
    MultiHeadWeights w{.heads = 2,
                       .kv_heads = 2,
                       .w_q = random_tensor({10, 8}, 11),
                       .w_k = random_tensor({10, 8}, 12),
                       .w_v = random_tensor({10, 8}, 13),
                       .w_o = random_tensor({8, 10}, 14)};
    AttentionSpec causal;
    causal.mask = Mask::causal();
    const auto m = MultiHeadAttention::run(x_q, x_q, w, causal);
    REQUIRE(m);
    CHECK(m->output().shape() == Shape{5, 10});
    CHECK(m->record().cell(Stage::weight, 1, 0, 0) == 1);
    CHECK(m->record().cell(Stage::weight, 1, 0, 1) == 0);
}

TEST_CASE("A token alone, or none", "[unit][multi_head]") {
    const auto w = weights();
    const auto one = MultiHeadAttention::run(random_tensor({1, 10}, 15), random_tensor({1, 6}, 16), w, {});
    REQUIRE(one);
    CHECK(one->record().cell(Stage::weight, 3, 0, 0) == 1);
    const auto none = MultiHeadAttention::run(Tensor({0, 10}), Tensor({0, 6}), w, {});
    REQUIRE(none);
    CHECK(none->output().shape() == Shape{0, 7});
    const auto blind = MultiHeadAttention::run(x_q, Tensor({0, 6}), w, {});
    REQUIRE(blind);
    for (Index i = 0; i < 5; ++i)
        for (Index c = 0; c < 7; ++c) CHECK(blind->output().matrix()(i, c) == w.b_o.data()[c]);
}

TEST_CASE("Weights that do not fit get a sentence", "[unit][multi_head]") {
    auto w = weights();
    SECTION("rows") {
        w.w_q = Tensor({9, 12});
        CHECK(failure(w) ==
              "multi-head attention: w_q is 9×12 and its input 5×10; the input's columns must be the "
              "matrix's rows");
    }
    SECTION("heads") {
        w.heads = 5;
        CHECK_THAT(failure(w), ContainsSubstring("w_q has 12 columns, which do not split into 5 heads"));
    }
    SECTION("no heads") {
        w.kv_heads = 0;
        CHECK_THAT(failure(w), ContainsSubstring("do not split into 0 heads"));
    }
    SECTION("groups") {
        w.heads = 3;
        w.kv_heads = 2;
        CHECK_THAT(failure(w), ContainsSubstring("attention: q has 3 heads and k has 2"));
    }
    SECTION("bias") {
        w.b_v = Tensor({9});
        CHECK(failure(w) == "multi-head attention: w_v has a bias of 9; give 10 numbers or none");
    }
    SECTION("output") {
        w.w_o = Tensor({10, 7});
        CHECK_THAT(failure(w), ContainsSubstring("w_o is 10×7 and its input 5×20"));
    }
    SECTION("ranks") {
        CHECK_THAT(failure(w, Tensor({1, 5, 10})), ContainsSubstring("its input 1×5×10"));
        w.w_k = Tensor({6});
        CHECK_THAT(failure(w), ContainsSubstring("w_k is 6 "));
    }
}
