// Tests the operator against a literal transcription of its definition, and checks what it refuses.

#include "attention/onnx.hpp"

#include <catch_amalgamated.hpp>

#include "support/kernels.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using onnx::AttentionInputs;
using onnx::AttentionMask;

namespace {

struct Sizes {
    Index batch = 2, heads = 4, kv_heads = 2, n_q = 3, n_new = 5, n_past = 0, d_k = 6, d_v = 7;
    Index keys() const { return n_past + n_new; }
};

AttentionInputs random_inputs(const Sizes& s, Index rank = 4) {
    AttentionInputs in;
    if (rank == 4) {
        in.q = random_tensor({s.batch, s.heads, s.n_q, s.d_k}, 1);
        in.k = random_tensor({s.batch, s.kv_heads, s.n_new, s.d_k}, 2);
        in.v = random_tensor({s.batch, s.kv_heads, s.n_new, s.d_v}, 3);
    } else {
        in.q = random_tensor({s.batch, s.n_q, s.heads * s.d_k}, 1);
        in.k = random_tensor({s.batch, s.n_new, s.kv_heads * s.d_k}, 2);
        in.v = random_tensor({s.batch, s.n_new, s.kv_heads * s.d_v}, 3);
        in.heads = s.heads;
        in.kv_heads = s.kv_heads;
    }
    if (s.n_past > 0) {
        in.past_key = random_tensor({s.batch, s.kv_heads, s.n_past, s.d_k}, 4);
        in.past_value = random_tensor({s.batch, s.kv_heads, s.n_past, s.d_v}, 5);
    }
    return in;
}

// Returns an element of [batch, heads, rows, width], or of the same with heads side by side in the rows.
float at(const Tensor& t, Index heads, Index b, Index h, Index r, Index c) {
    if (t.rank() == 4) return t.data()[((b * t.dim(1) + h) * t.dim(2) + r) * t.dim(3) + c];
    return t.data()[(b * t.dim(1) + r) * t.dim(2) + h * (t.dim(2) / heads) + c];
}

double key_at(const AttentionInputs& in, const Sizes& s, Index b, Index g, Index j, Index a) {
    return j < s.n_past ? at(*in.past_key, s.kv_heads, b, g, j, a)
                        : at(in.k, s.kv_heads, b, g, j - s.n_past, a);
}
double value_at(const AttentionInputs& in, const Sizes& s, Index b, Index g, Index j, Index a) {
    return j < s.n_past ? at(*in.past_value, s.kv_heads, b, g, j, a)
                        : at(in.v, s.kv_heads, b, g, j - s.n_past, a);
}

// Returns what the mask adds to a score. Broadcasting works as in numpy: axes are matched from the last, and
// those of size 1 are repeated.
double added(const AttentionMask& mask, Index b, Index h, Index i, Index j) {
    const Index index[] = {j, i, h, b};
    Index offset = 0, stride = 1;
    for (Index axis = 0; axis < mask.values.rank(); ++axis) {
        const Index size = mask.values.dim(mask.values.rank() - 1 - axis);
        if (axis == 0 && j >= size) return -HUGE_VAL;
        if (size > 1) offset += index[axis] * stride;
        stride *= size;
    }
    const float value = mask.values.data()[offset];
    return mask.boolean ? (value != 0 ? 0 : -HUGE_VAL) : static_cast<double>(value);
}

// Holds the four stages of the scores and the output, as the operator defines them.
struct Expected {
    std::array<std::vector<float>, 4> scores;  // [batch, heads, n_q, n_k]
    std::vector<float> y;                      // [batch, heads, n_q, d_v]
};

Expected literally(const AttentionInputs& in, const Sizes& s) {
    Expected e;
    const double scale =
        in.scale ? static_cast<double>(*in.scale) : 1 / std::sqrt(static_cast<double>(s.d_k));
    const double cap = static_cast<double>(in.softcap);
    for (Index b = 0; b < s.batch; ++b)
        for (Index h = 0; h < s.heads; ++h)
            for (Index i = 0; i < s.n_q; ++i) {
                const Index g = h / (s.heads / s.kv_heads);
                const Index valid =
                    in.nonpad_kv_seqlen
                        ? static_cast<Index>((*in.nonpad_kv_seqlen)[static_cast<std::size_t>(b)])
                        : s.keys();
                const Index offset = in.nonpad_kv_seqlen ? valid - s.n_q : s.n_past;
                std::vector<double> masked;
                double sum = 0;
                for (Index j = 0; j < s.keys(); ++j) {
                    double score = 0;
                    for (Index a = 0; a < s.d_k; ++a)
                        score +=
                            static_cast<double>(at(in.q, s.heads, b, h, i, a)) * key_at(in, s, b, g, j, a);
                    score *= scale;
                    e.scores[0].push_back(static_cast<float>(score));
                    if (cap > 0) score = cap * std::tanh(score / cap);
                    e.scores[1].push_back(static_cast<float>(score));
                    if (in.mask) score += added(*in.mask, b, h, i, j);
                    if ((in.causal && j > i + offset) || j >= valid) score = -HUGE_VAL;
                    e.scores[2].push_back(static_cast<float>(score));
                    masked.push_back(std::exp(score));
                    sum += masked.back();
                }
                for (double& w : masked) {
                    w = sum == 0 ? 0 : w / sum;
                    e.scores[3].push_back(static_cast<float>(w));
                }
                for (Index c = 0; c < s.d_v; ++c) {
                    double y = 0;
                    for (Index j = 0; j < s.keys(); ++j)
                        y += masked[static_cast<std::size_t>(j)] * value_at(in, s, b, g, j, c);
                    e.y.push_back(static_cast<float>(y));
                }
            }
    return e;
}

void check(const AttentionInputs& in, const Sizes& s) {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const auto out = onnx::attention(in, kernels);
    if (!out) FAIL(out.error().message);
    const Expected expected = literally(in, s);
    // Scores are below 10 and outputs below 5, with an error of a few 1e-7 of that.
    constexpr double bound = 5e-6;
    std::vector<float> y;
    for (Index b = 0; b < s.batch; ++b)
        for (Index h = 0; h < s.heads; ++h)
            for (Index i = 0; i < s.n_q; ++i)
                for (Index c = 0; c < s.d_v; ++c) y.push_back(at(out->y, s.heads, b, h, i, c));
    CHECK_THAT(largest_difference(y, expected.y), WithinAbs(0, bound));
    CHECK(out->y.rank() == in.q.rank());
    CHECK(out->records.size() == static_cast<std::size_t>(s.batch));
    for (std::int64_t mode = 0; mode < 4; ++mode) {
        const auto scores = onnx::qk_matmul_output(*out, mode);
        REQUIRE(scores);
        CHECK(scores->shape() == Shape{s.batch, s.heads, s.n_q, s.keys()});
        INFO("mode " << mode);
        CHECK_THAT(largest_difference(scores->values(), expected.scores[static_cast<std::size_t>(mode)]),
                   WithinAbs(0, bound));
    }
    CHECK(out->present_key.shape() == Shape{s.batch, s.kv_heads, s.keys(), s.d_k});
    CHECK(out->present_value.shape() == Shape{s.batch, s.kv_heads, s.keys(), s.d_v});
    for (Index b = 0; b < s.batch; ++b)
        for (Index g = 0; g < s.kv_heads; ++g)
            for (Index j = 0; j < s.keys(); ++j) {
                REQUIRE(static_cast<double>(at(out->present_key, s.kv_heads, b, g, j, 1)) ==
                        key_at(in, s, b, g, j, 1));
                REQUIRE(static_cast<double>(at(out->present_value, s.kv_heads, b, g, j, 2)) ==
                        value_at(in, s, b, g, j, 2));
            }
}

AttentionMask random_mask(Shape shape, bool boolean) {
    AttentionMask mask{random_tensor(std::move(shape), 6), boolean};
    if (boolean)
        for (float& m : mask.values.values()) m = m > 0;
    return mask;
}

std::string failure(const AttentionInputs& in) {
    const auto out = onnx::attention(in);
    return out ? "" : out.error().message;
}

}  // namespace

TEST_CASE("Ranks 3 and 4, any heads, with and without a past, causal or not", "[unit][onnx]") {
    Sizes s;
    s.kv_heads = GENERATE(1, 2, 4);
    s.n_past = GENERATE(0, 3);
    AttentionInputs in = random_inputs(s, GENERATE(3, 4));
    in.causal = GENERATE(false, true);
    check(in, s);
}

TEST_CASE("Scale and soft cap", "[unit][onnx]") {
    Sizes s;
    AttentionInputs in = random_inputs(s);
    in.scale = GENERATE(0.01f, 1.0f);
    in.softcap = GENERATE(0.0f, 0.5f, 2.0f);
    check(in, s);
}

TEST_CASE("Masks of rank 2 to 4 broadcast; short ones forbid the keys beyond", "[unit][onnx]") {
    Sizes s;
    s.n_past = 2;
    AttentionInputs in = random_inputs(s);
    const Shape shape = GENERATE(Shape{3, 7}, Shape{1, 7}, Shape{4, 3, 7}, Shape{1, 3, 7}, Shape{2, 1, 3, 7},
                                 Shape{2, 4, 3, 7}, Shape{1, 4, 1, 7}, Shape{2, 1, 1, 7}, Shape{3, 4},
                                 Shape{2, 4, 3, 5}, Shape{2, 1, 3, 1}, Shape{3, 0});
    in.mask = random_mask(shape, GENERATE(false, true));
    in.causal = GENERATE(false, true);
    INFO(to_string(shape));
    check(in, s);
}

TEST_CASE("nonpad_kv_seqlen hides padding and sets the causal offset, even a negative one", "[unit][onnx]") {
    Sizes s;
    s.batch = 4;
    AttentionInputs in = random_inputs(s);
    in.nonpad_kv_seqlen = {5, 3, 1, 0};  // 3 queries: offsets 2, 0, −2, −3
    in.causal = GENERATE(false, true);
    if (GENERATE(false, true)) in.mask = random_mask({4, 1, 3, 5}, true);
    check(in, s);
}

TEST_CASE("A cached decode equals the last row of the whole, to the bit", "[unit][onnx]") {
    Sizes s;
    s.n_q = s.n_new = 7;
    AttentionInputs whole = random_inputs(s);
    whole.causal = true;
    const auto all = onnx::attention(whole);
    REQUIRE(all);

    Sizes last = s;
    last.n_q = last.n_new = 1;
    last.n_past = 6;
    AttentionInputs in = random_inputs(last);
    in.causal = true;
    const auto part = [&](const Tensor& from, Tensor& to, Index first) {
        const Index rows = to.dim(2), width = to.dim(3);
        for (Index h = 0; h < to.dim(0) * to.dim(1); ++h)
            std::copy_n(from.data() + (h * from.dim(2) + first) * width, rows * width,
                        to.data() + h * rows * width);
    };
    part(whole.q, in.q, 6), part(whole.k, in.k, 6), part(whole.v, in.v, 6);
    part(whole.k, *in.past_key, 0), part(whole.v, *in.past_value, 0);
    const auto one = onnx::attention(in);
    REQUIRE(one);
    Tensor expected(one->y.shape());
    part(all->y, expected, 6);
    CHECK(one->y == expected);
    CHECK(one->present_key == whole.k);
}

TEST_CASE("Outputs are rounded to the type of the inputs", "[unit][onnx]") {
    Sizes s;
    AttentionInputs in = random_inputs(s);
    in.dtype = GENERATE(DType::f16, DType::bf16);
    for (Tensor* t : {&in.q, &in.k, &in.v}) round_to(in.dtype, t->values());
    const auto out = onnx::attention(in);
    REQUIRE(out);
    Tensor again = out->y;
    round_to(in.dtype, again.values());
    CHECK(again == out->y);
    // The bound is half a step of numbers below 4: 2^-11 · 4/2 in f16, 2^-8 · 4/2 in bf16.
    AttentionInputs exact = in;
    exact.dtype = DType::f32;
    CHECK_THAT(largest_difference(out->y.values(), onnx::attention(exact)->y.values()),
               WithinAbs(0, in.dtype == DType::f16 ? 1e-3 : 8e-3));
    const auto scores = onnx::qk_matmul_output(*out, 3);
    REQUIRE(scores);
    Tensor rounded = *scores;
    round_to(in.dtype, rounded.values());
    CHECK(rounded == *scores);
}

TEST_CASE("Empty batches and sequences", "[unit][onnx]") {
    const Index rank = GENERATE(3, 4);
    Sizes s;
    SECTION("batch") { s.batch = 0; }
    SECTION("queries") { s.n_q = 0; }
    SECTION("keys") { s.n_new = 0; }
    AttentionInputs in = random_inputs(s, rank);
    const auto out = onnx::attention(in);
    REQUIRE(out);
    const auto scores = onnx::qk_matmul_output(*out, 2);
    REQUIRE(scores);
    CHECK(scores->dim(3) == s.keys());
    for (float y : out->y.values()) CHECK(y == 0);
}

TEST_CASE("Inputs that do not fit together get a sentence", "[unit][onnx]") {
    Sizes s;
    AttentionInputs in = random_inputs(s);
    SECTION("ranks") {
        in.k = Tensor({2, 5, 12});
        CHECK(failure(in) ==
              "Attention: Q, K and V have ranks 4, 3 and 4; give all three rank 3 or all three rank 4");
    }
    SECTION("rank 2") {
        in.q = in.k = in.v = Tensor({2, 5});
        CHECK_THAT(failure(in), ContainsSubstring("ranks 2, 2 and 2"));
    }
    SECTION("batches") {
        in.v = Tensor({3, 2, 5, 7});
        CHECK_THAT(failure(in), ContainsSubstring("2, 2 and 3 batch entries"));
    }
    SECTION("heads given with rank 4") {
        in.heads = 3;
        CHECK_THAT(failure(in), ContainsSubstring("but 3 heads are given"));
    }
    SECTION("no heads with rank 3") {
        in = random_inputs(s, 3);
        in.kv_heads.reset();
        CHECK(failure(in) == "Attention: K has rank 3; give q_num_heads and kv_num_heads with it");
    }
    SECTION("heads that do not divide") {
        in = random_inputs(s, 3);
        in.heads = GENERATE(5, 0, -1);
        CHECK_THAT(failure(in), ContainsSubstring("does not split into"));
    }
    SECTION("heads that are not a multiple") {
        in.k = Tensor({2, 3, 5, 6}), in.v = Tensor({2, 3, 5, 7});
        CHECK_THAT(failure(in), ContainsSubstring("q has 4 heads and k has 3"));
    }
    SECTION("widths") {
        in.k = Tensor({2, 2, 5, 4});
        CHECK_THAT(failure(in), ContainsSubstring("their last axes must be the same"));
    }
    SECTION("half of a past") {
        in.past_key = Tensor({2, 2, 3, 6});
        CHECK_THAT(failure(in), ContainsSubstring("only one of past_key and past_value"));
    }
    SECTION("a past with other heads") {
        in.past_key = Tensor({2, 1, 3, 6}), in.past_value = Tensor({2, 1, 3, 7});
        CHECK(failure(in) ==
              "Attention: past_key is 2×1×3×6; it needs 2 batch entries, 2 heads and width 6 as the "
              "new keys and values have");
    }
    SECTION("pasts of different lengths") {
        in.past_key = Tensor({2, 2, 3, 6}), in.past_value = Tensor({2, 2, 4, 7});
        CHECK_THAT(failure(in), ContainsSubstring("both must be [batch, kv_heads, past, width]"));
    }
    SECTION("lengths and a past") {
        in = random_inputs({.n_past = 2});
        in.nonpad_kv_seqlen = {1, 1};
        CHECK_THAT(failure(in), ContainsSubstring("give one of them"));
    }
    SECTION("too few lengths") {
        in.nonpad_kv_seqlen = {1};
        CHECK_THAT(failure(in), ContainsSubstring("give one for each of the 2 batch entries"));
    }
    SECTION("lengths out of range") {
        in.nonpad_kv_seqlen = {1, GENERATE(-1, 6)};
        CHECK_THAT(failure(in), ContainsSubstring("give a number from 0 to the 5 keys there are"));
    }
    SECTION("masks") {
        in.mask = AttentionMask{Tensor(GENERATE(Shape{5}, Shape{1, 2, 4, 3, 5}, Shape{3, 6}, Shape{2, 5},
                                                Shape{3, 3, 5}, Shape{3, 4, 3, 5}, Shape{0, 5})),
                                GENERATE(false, true)};
        CHECK_THAT(failure(in), ContainsSubstring("does not broadcast to the scores, 2×4×3×5"));
    }
    SECTION("an unknown mode") {
        const auto out = onnx::attention(in);
        REQUIRE(out);
        CHECK_FALSE(onnx::qk_matmul_output(*out, GENERATE(-1, 4)));
    }
}
