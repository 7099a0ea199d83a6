#include "attention/record.hpp"

#include <catch_amalgamated.hpp>

#include "support/kernels.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

Tensor tensor(Shape shape, std::vector<float> values) { return Tensor(std::move(shape), values); }

std::vector<float> whole(const Record& r, Stage stage, Index head = 0) {
    std::vector<float> out(static_cast<std::size_t>(r.queries() * r.keys()));
    r.stage(stage, head, {0, r.queries()}, {0, r.keys()}, out);
    return out;
}

std::string failure(Shape q, Shape k, Shape v, AttentionSpec spec = {}) {
    const auto record =
        Record::run(Tensor(std::move(q)), Tensor(std::move(k)), Tensor(std::move(v)), std::move(spec));
    return record ? "" : record.error().message;
}

Bias bias_of(Tensor values) { return {std::make_shared<Tensor>(std::move(values))}; }

// A spec with all features, for 4 heads, 9 queries and 11 keys.
AttentionSpec full_spec() {
    AttentionSpec spec;
    spec.scale = 0.6f;
    spec.softcap = 2;
    spec.mask = Mask::causal(2) & !Mask::window(0, 0);
    spec.bias = bias_of(random_tensor({4, 9, 11}, 9));
    return spec;
}

Record full_record(const Kernels& kernels) {
    auto record = Record::run(random_tensor({4, 9, 6}, 1), random_tensor({2, 11, 6}, 2),
                              random_tensor({2, 11, 5}, 3), full_spec(), kernels);
    REQUIRE(record);
    return *std::move(record);
}

}  // namespace

// Values are computed in double and rounded to six decimals: half a unit there, plus less than 1e-7 for f32.
constexpr double six_decimals = 6e-7;

TEST_CASE("cat, sat, mat: every number of the worked example", "[unit][record]") {
    const Kernels& kernels = generate_kernels();
    const Tensor x = tensor({1, 3, 4}, {1, .5f, .2f, .8f, .3f, .9f, .1f, .4f, .6f, .2f, .7f, .3f});
    const auto r = Record::run(x, x, x, {}, kernels);
    REQUIRE(r);
    CHECK_THAT(largest_difference(whole(*r, Stage::raw),
                                  std::vector{1.93f, 1.09f, 1.08f, 1.09f, 1.07f, 0.55f, 1.08f, 0.55f, 0.98f}),
               WithinAbs(0, six_decimals));
    CHECK_THAT(largest_difference(whole(*r, Stage::scaled),
                                  std::vector{.965f, .545f, .540f, .545f, .535f, .275f, .540f, .275f, .490f}),
               WithinAbs(0, six_decimals));
    CHECK_THAT(largest_difference(whole(*r, Stage::weight),
                                  std::vector{.432747f, .284335f, .282917f, .363183f, .359570f, .277247f,
                                              .367859f, .282223f, .349918f}),
               WithinAbs(0, six_decimals));
    CHECK_THAT(largest_difference(r->output().values(),
                                  std::vector{.687798f, .528859f, .313025f, .544807f, .637402f, .560654f,
                                              .302666f, .517549f, .662476f, .507914f, .346737f, .512152f}),
               WithinAbs(0, six_decimals));
}

TEST_CASE("Three tokens of two components, with values of three", "[unit][record]") {
    const Kernels& kernels = generate_kernels();
    const Tensor x = tensor({1, 3, 2}, {1, 0, 0, 1, 1, 1});
    const auto r = Record::run(x, x, tensor({1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), {}, kernels);
    REQUIRE(r);
    CHECK_THAT(r->scale(), WithinRel(0.70710678f, 1e-7f));
    CHECK_THAT(
        largest_difference(r->output().values(), std::vector{4.f, 5.f, 6.f, 4.610009f, 5.610009f, 6.610009f,
                                                             4.765704f, 5.765704f, 6.765704f}),
        WithinAbs(0, 2e-6));  // numbers are near 7: 3 units in the last place
}

TEST_CASE("One causal row", "[unit][record]") {
    const Kernels& kernels = generate_kernels();
    AttentionSpec spec;
    spec.scale = 1;
    spec.mask = Mask::causal(2);
    const auto r = Record::run(tensor({1, 1, 1}, {1}), tensor({1, 4, 1}, {.5f, .8f, .3f, .9f}),
                               Tensor({1, 4, 1}), spec, kernels);
    REQUIRE(r);
    CHECK(whole(*r, Stage::masked) == std::vector<float>{.5f, .8f, .3f, -infinity});
    CHECK_THAT(largest_difference(whole(*r, Stage::weight), std::vector{.315598f, .426013f, .258390f, 0.f}),
               WithinAbs(0, six_decimals));
    CHECK(r->cell(Stage::weight, 0, 0, 3) == 0);
}

TEST_CASE("Every stage follows the formula", "[unit][record]") {
    const Record r = full_record(generate_kernels());
    const AttentionSpec spec = full_spec();
    for (Index h = 0; h < 4; ++h)
        for (Index i = 0; i < 9; ++i) {
            const Index g = h / 2;
            std::vector<double> masked(11), weights(11);
            double max = -HUGE_VAL, sum = 0;
            for (Index j = 0; j < 11; ++j) {
                double raw = 0;
                for (Index a = 0; a < 6; ++a)
                    raw += static_cast<double>(r.q().heads().head(h)(i, a)) *
                           static_cast<double>(r.k().heads().head(g)(j, a));
                const double scaled = static_cast<double>(0.6f) * raw, capped = 2 * std::tanh(scaled / 2);
                // Sums of six products below 10, each with an error of 2^-24 of that.
                const double bound = 5e-6;
                CHECK_THAT(r.cell(Stage::raw, h, i, j), WithinAbs(raw, bound));
                CHECK_THAT(r.cell(Stage::scaled, h, i, j), WithinAbs(scaled, bound));
                CHECK_THAT(r.cell(Stage::capped, h, i, j), WithinAbs(capped, bound));
                const bool allowed = j <= i + 2 && i != j;
                auto& m = masked[static_cast<std::size_t>(j)];
                m = allowed ? capped + static_cast<double>(spec.bias.at(h, i, j)) : -HUGE_VAL;
                if (allowed)
                    CHECK_THAT(r.cell(Stage::masked, h, i, j), WithinAbs(m, bound));
                else
                    CHECK(r.cell(Stage::masked, h, i, j) == -infinity);
                max = std::max(max, m);
            }
            for (double m : masked) sum += std::exp(m - max);
            for (Index j = 0; j < 11; ++j) {
                const double weight = std::exp(masked[static_cast<std::size_t>(j)] - max) / sum;
                weights[static_cast<std::size_t>(j)] = weight;
                double norm = 0;
                for (Index b = 0; b < 5; ++b)
                    norm += std::pow(static_cast<double>(r.v().heads().head(g)(j, b)), 2);
                CHECK_THAT(r.cell(Stage::weight, h, i, j), WithinAbs(weight, 2e-6));
                CHECK_THAT(r.cell(Stage::contribution, h, i, j), WithinAbs(weight * std::sqrt(norm), 1e-5));
            }
            for (Index b = 0; b < 5; ++b) {
                double output = 0;
                for (Index j = 0; j < 11; ++j)
                    output += weights[static_cast<std::size_t>(j)] *
                              static_cast<double>(r.v().heads().head(g)(j, b));
                CHECK_THAT(r.output().heads().head(h)(i, b), WithinAbs(output, 1e-5));
            }
            CHECK_THAT(r.row_max().matrix()(h, i), WithinAbs(max, 5e-6));
            CHECK_THAT(r.row_log_sum().matrix()(h, i), WithinAbs(std::log(sum), 5e-6));
        }
}

TEST_CASE("A window has the same bits as that part of the whole", "[unit][record]") {
    const Record r = full_record(generate_kernels());
    for (const Stage stage :
         {Stage::raw, Stage::scaled, Stage::capped, Stage::masked, Stage::weight, Stage::contribution}) {
        const auto all = whole(r, stage, 3);
        for (const Range rows : {Range{0, 1}, Range{2, 7}, Range{8, 9}, Range{4, 4}})
            for (const Range cols : {Range{0, 11}, Range{3, 5}, Range{10, 11}, Range{5, 5}}) {
                std::vector<float> window(static_cast<std::size_t>(rows.size() * cols.size()));
                r.stage(stage, 3, rows, cols, window);
                for (Index i = rows.begin; i < rows.end; ++i)
                    for (Index j = cols.begin; j < cols.end; ++j) {
                        const auto at =
                            static_cast<std::size_t>((i - rows.begin) * cols.size() + j - cols.begin);
                        REQUIRE(window[at] == all[static_cast<std::size_t>(i * 11 + j)]);
                        REQUIRE(r.cell(stage, 3, i, j) == window[at]);
                    }
            }
    }
}

TEST_CASE("Computed in slices, a record has the same bits", "[unit][record]") {
    const Kernels& kernels = generate_kernels();
    const Record expected = full_record(kernels);
    const Index rows = GENERATE(1, 2, 5, 9);
    auto sliced = Record::prepare(expected.q(), expected.k(), expected.v(), full_spec(), kernels);
    REQUIRE(sliced);
    for (Index first = 0; first < 9; first += rows)
        sliced->compute({first, std::min<Index>(first + rows, 9)});
    CHECK(sliced->output() == expected.output());
    CHECK(sliced->row_max() == expected.row_max());
    CHECK(sliced->row_log_sum() == expected.row_log_sum());
}

TEST_CASE("A record that is only measured has the same row numbers and stages", "[unit][record]") {
    const Kernels& kernels = generate_kernels();
    const Record expected = full_record(kernels);
    auto measured = Record::prepare(expected.q(), expected.k(), expected.v(), full_spec(), kernels);
    REQUIRE(measured);
    measured->measure({0, 4});
    measured->measure({4, 9});
    CHECK(measured->row_max() == expected.row_max());
    CHECK(measured->row_log_sum() == expected.row_log_sum());
    CHECK(measured->output().size() == 0);
    for (const Stage stage : {Stage::weight, Stage::contribution})
        CHECK(whole(*measured, stage, 2) == whole(expected, stage, 2));
}

TEST_CASE("Measuring some heads of a record matches measuring all", "[unit][record]") {
    AttentionSpec spec = full_spec();
    PaintedBits bits{4, 9, 11, {}};
    Random random(5);
    for (int i = 0; i < 4 * 9 * 11; ++i) bits.allowed.push_back(random.bits() % 3 != 0);
    spec.mask = Mask::painted(std::move(bits));
    const Kernels& kernels = generate_kernels();
    const auto expected = Record::run(random_tensor({4, 9, 6}, 1), random_tensor({2, 11, 6}, 2),
                                      random_tensor({2, 11, 5}, 3), spec, kernels);
    REQUIRE(expected);
    auto measured = expected->prepare_under(spec);
    REQUIRE(measured);
    measured->measure({0, 9}, 2, {1, 2});
    measured->measure({0, 9}, 1, {0, 1});
    measured->measure({1, 8}, 2, {1, 2});
    CHECK(measured->row_max() == expected->row_max());
    CHECK(measured->row_log_sum() == expected->row_log_sum());
}

TEST_CASE("A record prepared under another rule shares the same Q, K and V", "[unit][record]") {
    const Record first = full_record(generate_kernels());
    AttentionSpec spec;
    spec.mask = Mask::causal();
    auto second = first.prepare_under(spec);
    REQUIRE(second);
    CHECK(&second->q() == &first.q());
    CHECK(&second->v() == &first.v());
    second->compute({0, 9});
    const auto expected = Record::run(first.q(), first.k(), first.v(), spec, first.kernels());
    REQUIRE(expected);
    CHECK(second->output() == expected->output());
    spec.bias = bias_of(random_tensor({4, 9, 12}, 9));
    const auto wrong = first.prepare_under(spec);
    REQUIRE_FALSE(wrong);
    CHECK_THAT(wrong.error().message, ContainsSubstring("the bias is 4×9×12"));
}

TEST_CASE("Every n-th query of a record has the same bits", "[unit][record]") {
    const Record expected = full_record(generate_kernels());
    auto some = Record::prepare(expected.q(), expected.k(), expected.v(), full_spec(), expected.kernels());
    REQUIRE(some);
    for (Index first = 0; first < 3; ++first) some->compute({first, 9}, 3);
    CHECK(some->output() == expected.output());
    CHECK(some->row_max() == expected.row_max());
    CHECK(some->row_log_sum() == expected.row_log_sum());

    const auto all = whole(expected, Stage::weight, 2);
    Tensor rows({3, 4});
    expected.stage(Stage::weight, 2, {1, 8}, 3, {5, 9}, rows.matrix());
    for (Index r = 0; r < 3; ++r)
        for (Index j = 0; j < 4; ++j)
            CHECK(rows.matrix()(r, j) == all[static_cast<std::size_t>((1 + 3 * r) * 11 + 5 + j)]);
}

TEST_CASE("The bias broadcasts along axes of size 1", "[unit][record]") {
    const Kernels& kernels = generate_kernels();
    const Shape shape = GENERATE(Shape{1, 1, 1}, Shape{2, 1, 1}, Shape{1, 3, 1}, Shape{1, 1, 4},
                                 Shape{2, 3, 4}, Shape{2, 1, 4}, Shape{1, 3, 4});
    AttentionSpec spec;
    spec.bias = bias_of(random_tensor(shape, 4));
    const Tensor q = random_tensor({2, 3, 5}, 5), k = random_tensor({2, 4, 5}, 6),
                 v = random_tensor({2, 4, 5}, 7);
    const auto r = Record::run(q, k, v, spec, kernels);
    REQUIRE(r);

    Tensor wide({2, 3, 4});
    for (Index h = 0; h < 2; ++h)
        for (Index i = 0; i < 3; ++i)
            for (Index j = 0; j < 4; ++j) wide.heads().head(h)(i, j) = spec.bias.at(h, i, j);
    AttentionSpec widened;
    widened.bias = bias_of(wide);
    const auto expected = Record::run(q, k, v, widened, kernels);
    REQUIRE(expected);
    CHECK(r->output() == expected->output());
    for (Index h = 0; h < 2; ++h) CHECK(whole(*r, Stage::weight, h) == whole(*expected, Stage::weight, h));
}

TEST_CASE("A bias by offsets equals that of every pair of a query and a key", "[unit][record]") {
    const Kernels& kernels = generate_kernels();
    const auto [heads, queries, keys, zero] = GENERATE(
        table<Index, Index, Index, Index>({{2, 70, 130, 69}, {1, 3, 4, 5}, {2, 1, 9, 8}, {2, 9, 1, 8}}));
    CAPTURE(heads, queries, keys, zero);
    AttentionSpec spec;
    spec.mask = Mask::causal(60);
    spec.bias = {std::make_shared<Tensor>(random_tensor({heads, 1, zero + keys}, 4)), zero};
    const Tensor q = random_tensor({2, queries, 5}, 5), k = random_tensor({2, keys, 5}, 6),
                 v = random_tensor({2, keys, 5}, 7);
    const auto r = Record::run(q, k, v, spec, kernels);
    REQUIRE(r);

    AttentionSpec by_pairs = spec;
    Tensor wide({2, queries, keys});
    for (Index h = 0; h < 2; ++h)
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys; ++j)
                wide.heads().head(h)(i, j) =
                    spec.bias.values->heads().head(heads == 1 ? 0 : h)(0, zero + j - i);
    by_pairs.bias = bias_of(wide);
    auto expected = Record::run(q, k, v, by_pairs, kernels);
    REQUIRE(expected);
    CHECK(r->output() == expected->output());
    for (Index h = 0; h < 2; ++h)
        for (const Stage stage : {Stage::masked, Stage::weight})
            CHECK(whole(*r, stage, h) == whole(*expected, stage, h));
    auto some = r->prepare_under(spec);
    REQUIRE(some);
    for (const Index first : {0, 1}) some->compute({first, queries}, 2);
    CHECK(some->output() == r->output());

    for (const auto& [shape, at] : {std::pair{Shape{2, 1, zero + keys - 1}, zero},
                                    {Shape{2, 1, zero + keys}, queries - 2},
                                    {Shape{2, 2, zero + keys}, zero},
                                    {Shape{3, 1, zero + keys}, zero}}) {
        AttentionSpec wrong;
        wrong.bias = {std::make_shared<Tensor>(Tensor(shape)), at};
        const auto refused = r->prepare_under(wrong);
        REQUIRE_FALSE(refused);
        CHECK_THAT(refused.error().message, ContainsSubstring("the bias by offsets is"));
    }
}

TEST_CASE("The weights of every precision follow the fused kernel's", "[unit][record]") {
    const Kernels& kernels = generate_kernels();
    AttentionSpec spec;
    spec.softmax_precision =
        GENERATE(SoftmaxPrecision::f32, SoftmaxPrecision::f64, SoftmaxPrecision::f16, SoftmaxPrecision::bf16);
    spec.mask = Mask::causal();
    // The values are unit vectors, so the output is the row of weights.
    Tensor v({1, 20, 20});
    for (Index j = 0; j < 20; ++j) v.data()[j * 21] = 1;
    const auto r =
        Record::run(random_tensor({1, 20, 8}, 10), random_tensor({1, 20, 8}, 11), v, spec, kernels);
    REQUIRE(r);
    // Both divide the same exponentials by the same sum, once as a quotient and once by its logarithm.
    // Compared with the reference, f32 and f64 scores may be rounded to neighbouring 16-bit numbers.
    const bool narrow =
        spec.softmax_precision == SoftmaxPrecision::f16 || spec.softmax_precision == SoftmaxPrecision::bf16;
    const double bound = narrow && &kernels == &reference_kernels() ? 5e-3 : 5e-7;
    CHECK_THAT(largest_difference(whole(*r, Stage::weight), r->output().values()), WithinAbs(0, bound));
}

TEST_CASE("Shapes that do not fit get a sentence", "[unit][record]") {
    CHECK(failure({2, 3}, {1, 3, 2}, {1, 3, 2}) ==
          "attention: q is 2×3; give it the three axes [heads, n_q, d_k]");
    CHECK(failure({1, 2, 3}, {3}, {1, 3, 2}) ==
          "attention: k is 3; give it the three axes [kv_heads, n_k, d_k]");
    CHECK(failure({1, 2, 3}, {1, 2, 3}, {}) ==
          "attention: v is scalar; give it the three axes [kv_heads, n_k, d_v]");
    CHECK(failure({3, 2, 4}, {2, 2, 4}, {2, 2, 4}) ==
          "attention: q has 3 heads and k has 2; the first must be a multiple of the second");
    CHECK(failure({0, 2, 4}, {1, 2, 4}, {1, 2, 4}) ==
          "attention: q has 0 heads and k has 1; the first must be a multiple of the second");
    CHECK_FALSE(failure({2, 2, 4}, {0, 2, 4}, {0, 2, 4}).empty());
    CHECK(failure({1, 2, 4}, {1, 3, 4}, {1, 2, 4}) ==
          "attention: k is 1×3×4 and v is 1×2×4; their heads and keys must be the same");
    CHECK(failure({1, 2, 4}, {1, 3, 5}, {1, 3, 5}) ==
          "attention: q is 1×2×4 and k is 1×3×5; their last axes must be the same and not empty");
    CHECK_FALSE(failure({1, 2, 0}, {1, 3, 0}, {1, 3, 5}).empty());

    AttentionSpec spec;
    spec.bias = bias_of(Tensor({1, 2, 2}));
    CHECK(failure({1, 2, 4}, {1, 3, 4}, {1, 3, 4}, spec) ==
          "attention: the bias is 1×2×2 and the scores are 1×2×3; each axis of the bias must be 1 or that of "
          "the scores");
    spec.bias = bias_of(Tensor({2, 3}));
    CHECK_FALSE(failure({1, 2, 4}, {1, 3, 4}, {1, 3, 4}, spec).empty());
}

TEST_CASE("The same inputs give the same bits", "[unit][record]") {
    const Kernels& kernels = generate_kernels();
    const Record a = full_record(kernels), b = full_record(kernels);
    CHECK(a.output() == b.output());
    CHECK(a.row_max() == b.row_max());
    CHECK(a.row_log_sum() == b.row_log_sum());
    CHECK(whole(a, Stage::contribution, 1) == whole(b, Stage::contribution, 1));
}

TEST_CASE("Stages have names", "[unit][record]") {
    CHECK(info(Stage::raw).key == "raw");
    CHECK(info(Stage::contribution).key == "contribution");
}
