#include "attention/explain.hpp"

#include <catch_amalgamated.hpp>

#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

constexpr Stage stages[] = {Stage::raw,    Stage::scaled, Stage::capped,
                            Stage::masked, Stage::weight, Stage::contribution};

Record record_with(AttentionSpec spec, const Kernels& kernels = portable_kernels()) {
    auto r = Record::run(random_tensor({4, 9, 6}, 1), random_tensor({2, 11, 6}, 2),
                         random_tensor({2, 11, 5}, 3), std::move(spec), kernels);
    REQUIRE(r);
    return *std::move(r);
}

AttentionSpec explained_spec() {
    AttentionSpec spec;
    spec.softcap = 3;
    spec.mask = Mask::causal(1);
    spec.bias.values = std::make_shared<Tensor>(random_tensor({1, 9, 11}, 4));
    return spec;
}

}  // namespace

TEST_CASE("Every cell is explained: f32 as the run has it, f64 as it should be", "[unit][explain]") {
    const Record r = record_with(explained_spec());
    for (const Stage stage : stages)
        for (Index h = 0; h < 4; ++h)
            for (Index i = 0; i < 9; ++i)
                for (Index j = 0; j < 11; ++j) {
                    const CellExplanation cell = explain(r, stage, h, i, j);
                    REQUIRE(cell.f32 == r.cell(stage, h, i, j));
                    REQUIRE(cell.allowed == (j <= i + 1));
                    if (std::isinf(cell.f32))
                        REQUIRE(cell.f64 == static_cast<double>(cell.f32));
                    else
                        REQUIRE_THAT(cell.f64,
                                     WithinAbs(static_cast<double>(cell.f32), 1e-5));  // scores are below 10
                }
}

TEST_CASE("The chain of a cell leads from its dot product to its weight", "[unit][explain]") {
    const Record r = record_with(explained_spec());
    const CellExplanation c = explain(r, Stage::raw, 3, 5, 2);
    CHECK(c.terms.size() == 6);
    double raw = 0;
    for (const Term& t : c.terms) {
        CHECK(t.left == static_cast<double>(r.q().heads().head(3)(5, t.index)));
        CHECK(t.right == static_cast<double>(r.k().heads().head(1)(2, t.index)));
        raw += t.product();
    }
    CHECK_THAT(c.raw, WithinRel(raw, 1e-15));
    CHECK(c.f64 == c.raw);
    CHECK(c.scale == 1 / std::sqrt(6.0));
    CHECK(c.scaled == c.scale * c.raw);
    CHECK_THAT(c.capped, WithinRel(3 * std::tanh(c.scaled / 3), 1e-15));
    CHECK(c.bias == static_cast<double>(r.spec().bias.at(3, 5, 2)));
    CHECK(c.masked == c.capped + c.bias);
    CHECK_THAT(c.exponential, WithinRel(std::exp(c.masked - c.row_max), 1e-15));
    CHECK_THAT(c.weight, WithinRel(c.exponential / c.row_sum, 1e-15));

    double sum = 0;
    for (Index j = 0; j < 11; ++j) sum += explain(r, Stage::weight, 3, 5, j).weight;
    CHECK_THAT(sum, WithinAbs(1, 1e-14));
}

TEST_CASE("A contribution and an output are weights times values", "[unit][explain]") {
    const Record r = record_with(explained_spec());
    const CellExplanation c = explain(r, Stage::contribution, 2, 4, 3);
    REQUIRE(c.terms.size() == 5);
    CHECK(c.terms[1].left == c.weight);
    CHECK(c.terms[1].right == static_cast<double>(r.v().heads().head(1)(3, 1)));

    for (Index b = 0; b < 5; ++b) {
        const CellExplanation o = explain_output(r, 2, 4, b);
        REQUIRE(o.terms.size() == 11);
        CHECK(o.f32 == r.output().heads().head(2)(4, b));
        CHECK_THAT(o.f64, WithinAbs(static_cast<double>(o.f32), 1e-6));
        for (const Term& t : o.terms) CHECK(t.left == explain(r, Stage::weight, 2, 4, t.index).weight);
        CHECK(o.row_sum == c.row_sum);
    }
}

TEST_CASE("Against the reference kernels, f32 is f64, rounded", "[unit][explain]") {
    const Record r = record_with({}, reference_kernels());
    for (Index b = 0; b < 5; ++b) {
        const CellExplanation o = explain_output(r, 1, 3, b);
        CHECK_THAT(o.f32, Catch::Matchers::WithinULP(static_cast<float>(o.f64), 1));
    }
}

TEST_CASE("Explanations at the edges are the defined results", "[unit][explain]") {
    AttentionSpec spec;
    spec.scale = 1;
    spec.mask = Mask::causal(-1);
    // Row 0 sees nothing, row 1 a NaN key, rows 2 and 3 infinite scores.
    const auto r =
        Record::run(Tensor({1, 4, 1}, std::vector<float>{1, 1, -1, 1}),
                    Tensor({1, 4, 1}, std::vector<float>{infinity, -infinity, infinity, not_a_number}),
                    Tensor({1, 4, 1}, std::vector<float>{5, infinity, 7, not_a_number}), spec);
    REQUIRE(r);
    for (const Stage stage : stages)
        for (Index i = 0; i < 4; ++i)
            for (Index j = 0; j < 4; ++j) {
                const CellExplanation c = explain(*r, stage, 0, i, j);
                INFO(info(stage).key << " " << i << " " << j);
                if (std::isnan(c.f32))
                    CHECK(std::isnan(c.f64));
                else
                    CHECK_THAT(c.f64, WithinRel(static_cast<double>(c.f32), 1e-6));
            }
    CHECK(explain(*r, Stage::weight, 0, 0, 0).weight == 0);
    CHECK(explain_output(*r, 0, 0, 0).f64 == 0);
    CHECK(explain_output(*r, 0, 1, 0).f64 == 5);
    CHECK(explain_output(*r, 0, 3, 0).f64 == 6);
}
