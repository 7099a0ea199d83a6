// Compares the fused gradients of attention with the reference in double: sizes, masks, bias,
// soft cap, grouped heads.

#include <catch_amalgamated.hpp>

#include "attention/mask.hpp"
#include "support/backward.hpp"
#include "support/threads.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;

namespace {

// Q, K, V and dO are standard-normal with the usual scale. Weights have a relative error of 1e-6, as in the
// forward pass, and dP, a sum of d_v products, of about as much; both are relative to the largest gradient.
constexpr double gradient_tolerance = 5e-6;

void check(const Tensor& actual, const Tensor& expected, double bound) {
    const double largest = static_cast<double>(largest_magnitude(expected.values()));
    REQUIRE_THAT(largest_difference(actual.values(), expected.values()), WithinAbs(0, bound * (1 + largest)));
}

void check_against_reference(const BackwardKernels& kernels, const AttentionCall& call,
                             double bound = gradient_tolerance) {
    const AttentionPass pass(call);
    const AttentionGradients actual = differentiate(kernels, pass),
                             expected = differentiate(reference_backward(), pass);
    check(actual.d_q, expected.d_q, bound);
    check(actual.d_k, expected.d_k, bound);
    check(actual.d_v, expected.d_v, bound);
    check(actual.d_bias, expected.d_bias, bound);
}

}  // namespace

TEST_CASE("Gradients of attention of every size from 1 to 130", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    with_every_size([&](const AttentionCall& call) { check_against_reference(kernels, call); });
}

TEST_CASE("Gradients of attention of wide heads, with d_v different from d_k", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    using Widths = std::pair<Index, Index>;
    const auto [d_k, d_v] =
        GENERATE(Widths{64, 64}, Widths{80, 33}, Widths{257, 1}, Widths{1, 257}, Widths{300, 270});
    for (const Index n : {1, 67})
        with_random_heads(2, n, 77, d_k, d_v,
                          [&](const AttentionCall& call) { check_against_reference(kernels, call); });
}

TEST_CASE("Gradients of attention under every kind of mask", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const char* text = GENERATE(
        "everything", "causal(0)", "causal(5)", "causal(-3)", "window(3,0)", "window(70,2)", "padding(0)",
        "padding(77)", "prefix(9)", "strided(3)", "global_local([0,66],2)", "causal(0) & window(20,0)",
        "causal(0) & !window(1,1)", "!everything", "block_sparse(16,5,9,842108421084)", "painted(1,1,3,a)");
    const Mask mask = *Mask::parse(text);
    for (const auto [n_q, n_k] : {std::array<Index, 2>{1, 1}, {65, 65}, {130, 130}, {3, 130}, {130, 3}}) {
        const Tensor q = random_tensor({2, n_q, 8}, 7), k = random_tensor({2, n_k, 8}, 8),
                     v = random_tensor({2, n_k, 5}, 9);
        AttentionCall call = attention_call(q, k, v);
        call.scale = usual_scale(8);
        call.rule = mask.rule();
        INFO(text << ", n_q " << n_q << ", n_k " << n_k);
        check_against_reference(kernels, call);

        // Skipped tiles would only have added zeros; the parts of a tile that is cut may be added in another
        // order.
        AttentionPass pass(call);
        const AttentionGradients skipping = differentiate(kernels, pass);
        pass.call.rule.tile = nullptr;
        const AttentionGradients cell_by_cell = differentiate(kernels, pass);
        check(skipping.d_q, cell_by_cell.d_q, gradient_tolerance);
        check(skipping.d_k, cell_by_cell.d_k, gradient_tolerance);
        check(skipping.d_v, cell_by_cell.d_v, gradient_tolerance);
    }
}

TEST_CASE("Gradients of attention under a random painted mask with empty rows and columns",
          "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const Index heads = 2, n_q = 100, n_k = 90;
    PaintedBits bits{heads, n_q, n_k, std::vector<std::uint8_t>(static_cast<std::size_t>(heads * n_q * n_k))};
    Random random(10);
    for (Index i = 0; i < std::ssize(bits.allowed); ++i) {
        const Index query = i / n_k % n_q, key = i % n_k;
        bits.allowed[static_cast<std::size_t>(i)] = query % 7 != 3 && key % 11 != 5 && random.uniform() < 0.2;
    }
    const Mask mask = Mask::painted(bits);
    const Tensor q = random_tensor({heads, n_q, 8}, 11), k = random_tensor({heads, n_k, 8}, 12),
                 v = random_tensor({heads, n_k, 8}, 13);
    AttentionCall call = attention_call(q, k, v);
    call.rule = mask.rule();
    check_against_reference(kernels, call, 2e-5);  // scores reach 30: there is no scale of 1/√8

    const AttentionGradients g = differentiate(kernels, AttentionPass(call));
    for (Index c = 0; c < 8; ++c) {
        CHECK(g.d_q.heads().head(1)(3, c) == 0);
        CHECK(g.d_k.heads().head(1)(5, c) == 0);
        CHECK(g.d_v.heads().head(1)(5, c) == 0);
    }
}

TEST_CASE("Gradients of attention with a bias that broadcasts", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const Index heads = 2, n_q = 67, n_k = 70;
    const Tensor q = random_tensor({heads, n_q, 8}, 14), k = random_tensor({heads, n_k, 8}, 15),
                 v = random_tensor({heads, n_k, 8}, 16), bias = random_tensor({heads, n_q, n_k}, 17);
    AttentionCall call = attention_call(q, k, v);
    call.scale = usual_scale(8);
    const bool per_head = GENERATE(false, true), per_row = GENERATE(false, true),
               per_key = GENERATE(false, true);
    call.bias = bias.heads();
    if (!per_head) call.bias.head_stride = 0;
    if (!per_row) call.bias.row_stride = 0;
    call.bias_one_column = !per_key;
    check_against_reference(kernels, call);
}

TEST_CASE("Gradients of K and V are summed over the heads that share them", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const Index kv_heads = GENERATE(1, 2, 3, 6);
    const Mask mask = Mask::causal(3);
    const Tensor q = random_tensor({6, 70, 8}, 18), k = random_tensor({kv_heads, 73, 8}, 19),
                 v = random_tensor({kv_heads, 73, 7}, 20);
    AttentionCall call = attention_call(q, k, v);
    call.scale = usual_scale(8);
    call.rule = mask.rule();
    check_against_reference(kernels, call);
}

TEST_CASE("Gradients of attention with a soft cap", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const Tensor q = random_tensor({1, 70, 16}, 21, 2), k = random_tensor({1, 70, 16}, 22, 2),
                 v = random_tensor({1, 70, 16}, 23);
    const Mask mask = Mask::causal();
    AttentionCall call = attention_call(q, k, v);
    call.softcap = GENERATE(0.5f, 2.0f, 50.0f);
    call.scale = usual_scale(16);
    call.rule = mask.rule();
    // Scores reach 30 before the cap, and derivatives are a difference from 1.
    check_against_reference(kernels, call, 2e-5);
}

TEST_CASE("Large scores have gradients, too", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const Tensor q({1, 1, 1}, std::vector<float>{1}), v = random_tensor({1, 70, 4}, 24);
    Tensor k({1, 70, 1});
    for (float& x : k.values()) x = 1e4f;
    k.data()[3] = k.data()[69] = 1e4f + 0.5f;
    // The gradient of Q is a sum of products with K that cancel: the error is 2^-24 of numbers near 1e3.
    check_against_reference(kernels, attention_call(q, k, v), 1e-3);
    for (float& x : k.values()) x = -x;
    check_against_reference(kernels, attention_call(q, k, v), 1e-3);
}

TEST_CASE("Gradients of attention in strided views leave the gaps alone", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const Index heads = 3, n = 50, d = 5, stride = 3 * heads * d;
    const Tensor x = random_tensor({n, stride}, 25);  // Q, K and V of all heads side by side
    const auto part = [&](Index i) { return ConstHeads{x.data() + i * heads * d, heads, n, d, d, stride}; };
    AttentionCall call{
        .q = part(0), .k = part(1), .v = part(2), .output = {}, .row_max = {}, .row_log_sum = {}};
    const AttentionPass pass(call);
    Tensor d_x({n, stride + 1});
    std::ranges::fill(d_x.values(), 7.0f);
    const auto d_part = [&](Index i) {
        return HeadsView<float>{d_x.data() + i * heads * d, heads, n, d, d, stride + 1};
    };
    kernels.attention({pass.call, pass.d_output.heads(), d_part(0), d_part(1), d_part(2)});
    const AttentionGradients apart = differentiate(kernels, pass);
    const std::array<const Tensor*, 3> expected{&apart.d_q, &apart.d_k, &apart.d_v};
    for (Index i = 0; i < n; ++i) {
        for (Index c = 0; c < stride; ++c)
            REQUIRE(d_x.matrix()(i, c) == expected[static_cast<std::size_t>(c / (heads * d))]->heads().head(
                                              c % (heads * d) / d)(i, c % d));
        REQUIRE(d_x.matrix()(i, stride) == 7);
    }
}

TEST_CASE("Gradients of no queries, no keys, no components", "[unit][kernels]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_and_reference_backward()));
    const auto gradients = [&](Index heads, Index n_q, Index n_k, Index d_v) {
        const Tensor q = random_tensor({heads, n_q, 4}, 1), k = random_tensor({heads, n_k, 4}, 2),
                     v = random_tensor({heads, n_k, d_v}, 3);
        return differentiate(kernels, AttentionPass(attention_call(q, k, v)));
    };
    CHECK(gradients(2, 0, 5, 3).d_k == Tensor({2, 5, 4}));
    CHECK(gradients(2, 3, 0, 3).d_q == Tensor({2, 3, 4}));
    CHECK(gradients(2, 3, 5, 0).d_q == Tensor({2, 3, 4}));
    CHECK(gradients(0, 3, 5, 2).d_q.size() == 0);
}

TEST_CASE("Gradients of attention have the same bits for any number of threads", "[unit][kernels][threads]") {
    const BackwardKernels& kernels = *GENERATE(from_range(fast_backward()));
    const Index n = 150, d = 24;
    const Tensor q = random_tensor({12, n, d}, 26), k = random_tensor({6, n, d}, 27),
                 v = random_tensor({6, n, d}, 28);
    const Mask causal = Mask::causal();
    AttentionCall call = attention_call(q, k, v);
    call.rule = causal.rule();
    const AttentionPass pass(call);
    const Threads one(1);
    const AttentionGradients expected = differentiate(kernels, pass);
    const Threads several(GENERATE(2, 5));
    CHECK(differentiate(kernels, pass) == expected);
}
