// Compares the fused kernel with the reference in double: sizes, masks, bias, soft cap, grouped heads,
// precisions.

#include <catch_amalgamated.hpp>

#include "attention/mask.hpp"
#include "support/kernels.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;

namespace {

// Q, K and V are standard-normal with the usual scale: scores below about 8 are off by a few 1e-7, and
// weights have the same relative error; outputs are weighted means of values below 5. The largest difference
// seen is 1.2e-6.
constexpr double forward_tolerance = 4e-6;

void check_against_reference(const Kernels& kernels, const AttentionCall& call,
                             double bound = forward_tolerance) {
    const AttentionResult actual = run(kernels, call), expected = run(reference_kernels(), call);
    REQUIRE_THAT(largest_difference(actual.output.values(), expected.output.values()), WithinAbs(0, bound));
    REQUIRE_THAT(largest_difference(actual.row_max.values(), expected.row_max.values()), WithinAbs(0, bound));
    REQUIRE_THAT(largest_difference(actual.row_log_sum.values(), expected.row_log_sum.values()),
                 WithinAbs(0, bound));
}

}  // namespace

TEST_CASE("Attention of every size from 1 to 130", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    with_every_size([&](const AttentionCall& call) { check_against_reference(kernels, call); });
}

TEST_CASE("Attention of wide heads, with d_v different from d_k", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    using Widths = std::pair<Index, Index>;
    const auto [d_k, d_v] = GENERATE(Widths{64, 64}, Widths{80, 33}, Widths{128, 256}, Widths{256, 128},
                                     Widths{257, 1}, Widths{300, 70});
    for (const Index n : {1, 3, 67, 130})
        with_random_heads(2, n, 77, d_k, d_v,
                          [&](const AttentionCall& call) { check_against_reference(kernels, call); });
}

TEST_CASE("Attention under every kind of mask", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const char* text = GENERATE(
        "everything", "causal(0)", "causal(5)", "causal(-3)", "window(3,0)", "window(70,2)", "padding(0)",
        "padding(77)", "prefix(9)", "strided(3)", "global_local([0,66],2)", "causal(0) & window(20,0)",
        "causal(0) & !window(1,1)", "window(2,2) | strided(7)", "!everything",
        "same_document([0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,1,1,1,1],[0,0,0,0,0,0,0,0,0,0,1,1,1])",
        "block_sparse(16,5,9,842108421084)", "painted(1,1,3,a)");
    const auto parsed = Mask::parse(text);
    REQUIRE(parsed);
    const Mask mask = *parsed;
    for (const auto [n_q, n_k] : {std::array<Index, 2>{1, 1}, {65, 65}, {130, 130}, {3, 130}, {130, 3}}) {
        const Tensor q = random_tensor({2, n_q, 8}, 4), k = random_tensor({2, n_k, 8}, 5),
                     v = random_tensor({2, n_k, 5}, 6);
        AttentionCall call = attention_call(q, k, v);
        call.scale = usual_scale(8);
        call.rule = mask.rule();
        INFO(text << ", n_q " << n_q << ", n_k " << n_k);
        check_against_reference(kernels, call);

        // Skipping tiles must not change anything.
        AttentionCall cell_by_cell = call;
        cell_by_cell.rule.tile = nullptr;
        REQUIRE(run(kernels, call) == run(kernels, cell_by_cell));
    }
}

TEST_CASE("Attention with a bias that broadcasts", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const Index heads = 2, n_q = 67, n_k = 70;
    const Tensor q = random_tensor({heads, n_q, 8}, 7), k = random_tensor({heads, n_k, 8}, 8),
                 v = random_tensor({heads, n_k, 8}, 9), bias = random_tensor({heads, n_q, n_k}, 10);
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

TEST_CASE("Grouped heads share keys and values: 0, 0, 1, 1", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const Index kv_heads = GENERATE(1, 2, 3, 6);
    const Tensor q = random_tensor({6, 9, 8}, 11), k = random_tensor({kv_heads, 12, 8}, 12),
                 v = random_tensor({kv_heads, 12, 7}, 13);
    AttentionCall call = attention_call(q, k, v);
    check_against_reference(kernels, call);
}

TEST_CASE("Soft cap", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const Tensor q = random_tensor({1, 70, 16}, 14, 3), k = random_tensor({1, 70, 16}, 15, 3),
                 v = random_tensor({1, 70, 16}, 16);
    AttentionCall call = attention_call(q, k, v);
    call.softcap = GENERATE(0.5f, 2.0f, 50.0f);
    call.scale = usual_scale(16);
    // Scores reach 60 before the cap and are off by several units of 4e-6. The largest difference seen is
    // 3.8e-6.
    check_against_reference(kernels, call, 2e-5);
}

TEST_CASE("exp in other precisions", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const Tensor q = random_tensor({1, 70, 16}, 17), k = random_tensor({1, 130, 16}, 18),
                 v = random_tensor({1, 130, 16}, 19);
    AttentionCall call = attention_call(q, k, v);
    call.scale = usual_scale(16);
    const Mask mask = Mask::causal(3);
    call.rule = mask.rule();
    // If a score is halfway between two 16-bit numbers, f32 and f64 may round it differently: by one step,
    // 2^-11 of a score below 8 in f16 and 2^-8 in bf16, in a few of the weights.
    const auto [precision, bound] =
        GENERATE(std::pair{SoftmaxPrecision::f64, forward_tolerance}, std::pair{SoftmaxPrecision::f16, 4e-3},
                 std::pair{SoftmaxPrecision::bf16, 3e-2});
    call.softmax_precision = precision;
    check_against_reference(kernels, call, bound);
}

TEST_CASE("A row of attention has the same bits decoded against a cache as in the causal whole",
          "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const auto precision = GENERATE(SoftmaxPrecision::f32, SoftmaxPrecision::f64, SoftmaxPrecision::bf16);
    const Index n = 150, d = 24;
    const Tensor q = random_tensor({1, n, d}, 20), k = random_tensor({1, n, d}, 21),
                 v = random_tensor({1, n, d}, 22);
    const Mask causal = Mask::causal();
    AttentionCall call = attention_call(q, k, v);
    call.scale = usual_scale(d);
    call.rule = causal.rule();
    call.softmax_precision = precision;
    const AttentionResult whole = run(kernels, call);
    for (Index i = 0; i < n; ++i) {
        AttentionCall step = call;
        step.q = {q.data() + i * d, 1, 1, d, d, d};
        step.k.rows = step.v.rows = i + 1;
        step.rule = {};
        const AttentionResult one = run(kernels, step);
        REQUIRE(one.output ==
                Tensor({1, 1, d}, whole.output.values().subspan(static_cast<std::size_t>(i * d), d)));
        REQUIRE(one.row_max.data()[0] == whole.row_max.data()[i]);
        REQUIRE(one.row_log_sum.data()[0] == whole.row_log_sum.data()[i]);
    }
}

TEST_CASE("The same inputs give the same bits", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const Tensor q = random_tensor({2, 33, 8}, 23), k = random_tensor({2, 70, 8}, 24),
                 v = random_tensor({2, 70, 8}, 25);
    const AttentionCall call = attention_call(q, k, v);
    CHECK(run(kernels, call) == run(kernels, call));
}

TEST_CASE(
    "Row numbers in parts of the keys have the bits of all keys at once, and the masked scores are kept",
    "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const char* text = GENERATE("everything", "causal(0)", "causal(-3)", "window(70,2)", "padding(0)",
                                "strided(3)", "causal(0) & !window(1,1)", "!everything", "painted(1,1,3,a)");
    const auto mask = Mask::parse(text);
    REQUIRE(mask);
    const Index width = GENERATE(64, 192);
    const bool is_wide = GENERATE(false, true);
    for (const auto [n_q, n_k] : {std::array<Index, 2>{1, 1}, {1, 200}, {65, 65}, {130, 300}, {500, 70}}) {
        const Index d = is_wide ? 260 : 8;
        const Tensor q = random_tensor({1, n_q, d}, 4), k = random_tensor({1, n_k, d}, 5), v({1, n_k, 0}),
                     bias = random_tensor({1, 1, n_k}, 6);
        AttentionCall call = attention_call(q, k, v);
        call.scale = 3 * usual_scale(d);  // the reference of many a row changes
        call.rule = mask->rule();
        if (is_wide) {
            call.softcap = 5;
            call.bias = bias.heads();
            call.bias.row_stride = 0;
            call.bias.rows = n_q;
        }
        INFO(text << ", n_q " << n_q << ", n_k " << n_k);
        const AttentionResult whole = run(kernels, call);

        const Index stride = (n_k + 63) / 64 * 64;
        const auto in_parts = [&](const Kernels& of, Tensor& scores) {
            AttentionResult result;
            std::vector<RowSums> sums(static_cast<std::size_t>(n_q));
            for (Index key = 0; key <= n_k; key += width) {
                const Range keys{key, std::min(key + width, n_k)};
                const KeyPart part{keys, key + width > n_k, sums, scores.matrix()};
                call.part = &part;
                result = run(of, call);
            }
            call.part = nullptr;
            return result;
        };
        Tensor scores({n_q, stride}), expected({n_q, stride});
        REQUIRE(in_parts(kernels, scores) == whole);
        in_parts(reference_kernels(), expected);
        for (Index i = 0; i < n_q; ++i)
            for (Index j = 0; j < n_k; ++j) {
                const float score = scores.matrix()(i, j), wanted = expected.matrix()(i, j);
                if (std::isinf(wanted) ? score != wanted : !(std::abs(score - wanted) <= 2e-5f))
                    FAIL_CHECK("score " << i << ", " << j << ": " << score << ", not " << wanted);
            }
    }
}
