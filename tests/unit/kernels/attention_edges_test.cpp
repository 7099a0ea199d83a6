// Tests, for every kernel table, the results that attention/record.hpp defines beyond the formula.

#include <catch_amalgamated.hpp>

#include "attention/mask.hpp"
#include "support/kernels.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

// One head with d_k = 1 and scale 1: the score of query i and key j is q[i] · k[j].
struct Scores {
    Tensor q, k, v;
    AttentionCall call;

    Scores(std::vector<float> queries, std::vector<float> keys, std::vector<float> values)
        : q({1, std::ssize(queries), 1}, queries),
          k({1, std::ssize(keys), 1}, keys),
          v({1, std::ssize(keys), 1}, values) {
        call = attention_call(q, k, v);
    }
};

// Repeats a number for enough keys to fill three tiles.
std::vector<float> many(float value) { return std::vector<float>(150, value); }

SoftmaxPrecision generate_precision() {
    return GENERATE(SoftmaxPrecision::f32, SoftmaxPrecision::f64, SoftmaxPrecision::f16,
                    SoftmaxPrecision::bf16);
}

}  // namespace

TEST_CASE("A row without an allowed cell is zero", "[unit][kernels]") {
    const Kernels& kernels = generate_kernels();
    Scores s({1, 1, 1}, many(1), many(7));
    s.call.softmax_precision = generate_precision();
    const Mask mask = Mask::causal(-2);  // rows 0 and 1 see nothing
    s.call.rule = mask.rule();
    const AttentionResult r = run(kernels, s.call);
    CHECK(r.output == Tensor({1, 3, 1}, std::vector<float>{0, 0, 7}));
    CHECK(r.row_max == Tensor({1, 3}, std::vector<float>{-infinity, -infinity, 1}));
    CHECK(r.row_log_sum == Tensor({1, 3}, std::vector<float>{-infinity, -infinity, 0}));
}

TEST_CASE("A row of −inf scores is zero", "[unit][kernels]") {
    const Kernels& kernels = generate_kernels();
    Scores s({1, -1}, many(-infinity), many(7));
    s.call.softmax_precision = generate_precision();
    const AttentionResult r = run(kernels, s.call);
    CHECK(r.output.data()[0] == 0);
    CHECK(r.row_max.data()[0] == -infinity);
    CHECK(r.output.data()[1] == 7);  // 150 scores of +inf share
}

TEST_CASE("+inf scores share their row, in whichever tile they are", "[unit][kernels]") {
    const Kernels& kernels = generate_kernels();
    const auto [first, second] = GENERATE(std::pair{0, 1}, std::pair{3, 140}, std::pair{70, 149});
    Scores s({1}, many(2), many(infinity));  // every other key holds an infinite value of weight 0
    s.call.softmax_precision = generate_precision();
    s.k.data()[first] = s.k.data()[second] = infinity;
    s.v.data()[first] = 3, s.v.data()[second] = 5;
    const AttentionResult r = run(kernels, s.call);
    CHECK(r.output.data()[0] == 4);
    CHECK(r.row_max.data()[0] == infinity);
    CHECK_THAT(r.row_log_sum.data()[0], WithinRel(std::log(2.0f), 1e-6f));
}

TEST_CASE("A NaN score makes its row NaN and no other", "[unit][kernels]") {
    const Kernels& kernels = generate_kernels();
    const Index at = GENERATE(0, 64, 149);
    Scores s({1, 0.5f, 0}, many(2), many(7));
    s.call.softmax_precision = generate_precision();
    s.q.data()[1] = not_a_number;
    s.k.data()[at] = infinity;  // 0 · inf: NaN in row 2, +inf in row 0
    const AttentionResult r = run(kernels, s.call);
    CHECK(r.output.data()[0] == 7);
    CHECK(std::isnan(r.output.data()[1]));
    CHECK(std::isnan(r.output.data()[2]));
    CHECK_FALSE(std::isnan(r.row_log_sum.data()[0]));
    CHECK(std::isnan(r.row_log_sum.data()[1]));
    CHECK(std::isnan(r.row_log_sum.data()[2]));
}

TEST_CASE("A NaN score wins over +inf and −inf", "[unit][kernels]") {
    const Kernels& kernels = generate_kernels();
    Scores s({1}, many(GENERATE(infinity, -infinity)), many(7));
    s.k.data()[GENERATE(0, 100)] = not_a_number;
    CHECK(std::isnan(run(kernels, s.call).output.data()[0]));
}

TEST_CASE("Masked cells are never read", "[unit][kernels]") {
    const Kernels& kernels = generate_kernels();
    const float poison = GENERATE(not_a_number, infinity, -infinity);
    Scores s({1, 1}, many(1), many(7));
    s.call.softmax_precision = generate_precision();
    for (Index j : {1, 2, 63, 64, 148}) s.k.data()[j] = s.v.data()[j] = poison;
    const Mask mask = *Mask::parse("!(window(-1,2) | window(-63,64) | window(-148,148))");
    s.call.rule = mask.rule();
    const AttentionResult r = run(kernels, s.call);
    CHECK(r.output.data()[0] == 7);
}

TEST_CASE("A value of weight 0 is ignored, even an infinite one", "[unit][kernels]") {
    const Kernels& kernels = generate_kernels();
    Scores s({1}, many(0), many(infinity));
    s.call.softmax_precision = generate_precision();
    s.k.data()[GENERATE(0, 149)] = 2000;  // exp(−2000) is 0 in every precision
    for (Index j = 0; j < 150; ++j)
        if (s.k.data()[j] != 0) s.v.data()[j] = 9;
    CHECK(run(kernels, s.call).output.data()[0] == 9);
}

TEST_CASE("Infinite and NaN values of allowed cells reach the output", "[unit][kernels]") {
    const Kernels& kernels = generate_kernels();
    Scores s({0}, many(0), many(1));
    s.v.data()[GENERATE(5, 149)] = infinity;
    CHECK(run(kernels, s.call).output.data()[0] == infinity);
    s.v.data()[80] = -infinity;
    CHECK(std::isnan(run(kernels, s.call).output.data()[0]));
}

TEST_CASE("For large scores, their differences decide", "[unit][kernels]") {
    const Kernels& kernels = generate_kernels();
    const float large = GENERATE(1e4f, -1e4f, 1e38f, -1e38f, 3e38f);
    Scores s({1}, many(large), many(0));
    for (Index j = 0; j < 150; ++j) s.v.data()[j] = static_cast<float>(j);
    // Equal scores have equal weights however large they are: the result is the mean of 0 … 149.
    CHECK_THAT(run(kernels, s.call).output.data()[0], WithinRel(74.5f, 1e-6f));
    s.k.data()[99] = large + std::abs(large) / 1000;  // 10, or 1e35, above the others
    const double w = std::exp(static_cast<double>(s.k.data()[99]) - static_cast<double>(large));
    const double expected = std::isinf(w) ? 99 : (74.5 * 150 - 99 + 99 * w) / (149 + w);
    CHECK_THAT(run(kernels, s.call).output.data()[0], WithinRel(static_cast<float>(expected), 1e-6f));
}

TEST_CASE("No queries, no keys, no components", "[unit][kernels]") {
    const Kernels& kernels = generate_kernels();
    const auto result = [&](Index n_q, Index n_k, Index d_v) {
        const Tensor q = random_tensor({2, n_q, 4}, 1), k = random_tensor({2, n_k, 4}, 2),
                     v = random_tensor({2, n_k, d_v}, 3);
        return run(kernels, attention_call(q, k, v));
    };
    CHECK(result(0, 5, 3).output.size() == 0);
    CHECK(result(5, 3, 0).output.size() == 0);
    CHECK(result(2, 0, 3).output == Tensor({2, 2, 3}));
    CHECK(result(2, 0, 3).row_max == Tensor({2, 2}, std::vector<float>(4, -infinity)));
}

TEST_CASE("One query and one key: the value itself", "[unit][kernels]") {
    const Kernels& kernels = generate_kernels();
    Scores s({3}, {5}, {0.1f});
    s.call.softmax_precision = generate_precision();
    const AttentionResult r = run(kernels, s.call);
    CHECK(r.output.data()[0] == 0.1f);
    CHECK(r.row_max.data()[0] == 15);
    CHECK(r.row_log_sum.data()[0] == 0);
}

TEST_CASE("16-bit softmax rounds scores, exponentials and their sum", "[unit][kernels]") {
    const Kernels& kernels = generate_kernels();
    // In bf16, 1.01 rounds to 1.0078125, exp(−1.0078125) to 0.365234375, and 1 + that to 1.3671875.
    Scores s({1}, {0, 1.01f}, {1, 0});
    s.call.softmax_precision = SoftmaxPrecision::bf16;
    CHECK_THAT(run(kernels, s.call).output.data()[0], WithinRel(0.365234375f / 1.3671875f, 1e-6f));
    // In f16, 1.01 rounds to 1.0097656, exp to 0.36425781, and the sum to 1.3642578.
    s.call.softmax_precision = SoftmaxPrecision::f16;
    CHECK_THAT(run(kernels, s.call).output.data()[0], WithinRel(0.3642578125f / 1.3642578125f, 1e-6f));
}
