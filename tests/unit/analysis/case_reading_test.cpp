#include "analysis/check/case_reading.hpp"

#include <catch_amalgamated.hpp>
#include <numeric>

#include "analysis/check/case_mask.hpp"

using namespace attn;

namespace {

CaseArray counted(std::string name, Shape shape) {
    CaseArray array{std::move(name), DType::f32, std::move(shape), {}};
    array.values.resize(static_cast<std::size_t>(*element_count(array.shape)));
    std::iota(array.values.begin(), array.values.end(), 0.125);
    return array;
}
CaseArray number(std::string name, double value) { return {std::move(name), DType::f64, {}, {value}}; }
CaseArray bits(std::string name, Shape shape, std::vector<double> values) {
    return {std::move(name), DType::boolean, std::move(shape), std::move(values)};
}

std::string refusal(const std::vector<CaseArray>& arrays) {
    const auto read = read_case(arrays);
    return read ? "" : read.error().message;
}

}  // namespace

TEST_CASE("names mean what people mean by them", "[analysis]") {
    CHECK(case_role("Query") == "q");
    CHECK(case_role("attn_output") == "output");
    CHECK(case_role("layer.self_attn.q_proj.weight") == "linear_q");
    CHECK(case_role("W_O") == "w_o");
    CHECK(case_role("num_key_value_heads") == "kv_heads");
    CHECK(case_role("cause").empty());
}

TEST_CASE("layouts are read by shapes and heads", "[analysis]") {
    const auto merged = read_case({counted("q", {2, 5, 12}), counted("k", {2, 7, 6}), counted("v", {2, 7, 6}),
                                   counted("output", {2, 5, 12}), number("heads", 4), number("kv_heads", 2)});
    REQUIRE(merged);
    const AttentionCase& c = merged->front();
    CHECK(c.q.heads == 4);
    CHECK(c.k.heads == 2);
    CHECK(c.d_k() == 3);
    CHECK(c.q.row(1, 2, 3)[1] == 0.125 + (1 * 5 + 3) * 12 + 2 * 3 + 1);
    CHECK(!c.output_by_head);

    const auto third =
        read_case({counted("q", {2, 5, 4, 3}), counted("k", {2, 7, 2, 3}), counted("v", {2, 7, 2, 3}),
                   counted("output", {2, 5, 4, 3}), number("heads", 4)});
    REQUIRE(third);
    CHECK(third->front().queries() == 5);
    CHECK(third->front().q.row(1, 2, 3)[1] == 0.125 + ((1 * 5 + 3) * 4 + 2) * 3 + 1);

    const auto linear =
        read_case({counted("x", {5, 6}), counted("q_proj.weight", {8, 6}), counted("k_proj.weight", {8, 6}),
                   counted("v_proj.weight", {8, 6}), counted("output", {5, 8}), number("heads", 2)});
    REQUIRE(linear);
    REQUIRE(linear->front().projections);
    CHECK(linear->front().projections->w_q.broadcast(0, 0, 2, 3) == 0.125 + 3 * 6 + 2);
    CHECK(linear->front().d_k() == 4);
}

TEST_CASE("masks are taken apart", "[analysis]") {
    const MaskShape shape{1, 2, 3, 5};
    CaseMask causal;
    Array4 lower(1, 1, 3, 5);
    for (Index i = 0; i < 3; ++i)
        for (Index j = 0; j < 5; ++j) lower.row(0, 0, i)[static_cast<std::size_t>(j)] = j <= i;
    add_painted(causal, lower, shape);
    CHECK(causal.causal == 0);
    CHECK(causal.painted.empty());
    CHECK(causal.padding.empty());

    CaseMask both;
    for (Index i = 0; i < 3; ++i)
        for (Index j = 0; j < 5; ++j) lower.row(0, 0, i)[static_cast<std::size_t>(j)] = j <= i + 2 && j != 1;
    add_painted(both, lower, shape);
    CHECK(both.causal == 2);
    REQUIRE(!both.padding.empty());
    CHECK(both.padding.values == std::vector<double>{1, 0, 1, 1, 1});

    CaseMask window;
    for (Index i = 0; i < 3; ++i)
        for (Index j = 0; j < 5; ++j) lower.row(0, 0, i)[static_cast<std::size_t>(j)] = j <= i + 2 && j > i;
    add_painted(window, lower, shape);
    CHECK(window.causal == 2);
    CHECK(window.window == CaseWindow{1, 0});
}

TEST_CASE("a case that cannot be read says which array, and what to do", "[analysis]") {
    const CaseArray q = counted("q", {4, 5, 8}), k = counted("k", {4, 5, 8}), v = counted("v", {4, 5, 8});
    CHECK(refusal({q, k, v}).find("'output'") != std::string::npos);
    CHECK(refusal({q, v, counted("output", {4, 5, 8})}).find("'k' is missing") != std::string::npos);
    CHECK(refusal({q, k, v, counted("output", {4, 5, 7})}).find("'output' is 4×5×7") != std::string::npos);
    CHECK(refusal({q, counted("k", {4, 5, 7}), v, counted("output", {4, 5, 8})}).find("widths") !=
          std::string::npos);
    CHECK(refusal({q, k, v, counted("output", {4, 5, 8}), number("heads", 3)}) != "");
    CHECK(refusal({q, k, v, counted("output", {4, 5, 8}), number("heads", -1)}).find("'heads'") !=
          std::string::npos);
    CHECK(refusal({q, k, v, counted("output", {4, 5, 8}), bits("mask", {2, 2}, {1, 0, 0, 1})})
              .find("'mask' is 2×2") != std::string::npos);
    CHECK(refusal({q, k, v, counted("output", {0, 5, 8})}).find("empty") != std::string::npos);
}
