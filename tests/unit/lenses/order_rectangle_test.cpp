// Tests Order where queries and keys are different tokens.
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/lenses/order_screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// Computes attention of three queries over five keys in double, with permuted keys and RoPE or nothing.
std::vector<double> rectangle(const Tensor& q, const Tensor& k, const Tensor& v,
                              const std::vector<Index>& queries, const std::vector<Index>& keys, bool rotary,
                              Index offset) {
    const Index d = q.dim(1), d_v = v.dim(1), half = d / 2;
    const auto turned = [&](const Tensor& rows, Index row, Index position) {
        std::vector<double> out;
        for (Index a = 0; a < d; ++a) out.push_back(static_cast<double>(rows.matrix()(row, a)));
        for (Index a = 0; rotary && a < half; ++a) {
            const double angle = static_cast<double>(position) *
                                 std::pow(10'000.0, -2.0 * static_cast<double>(a) / static_cast<double>(d));
            const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(a + half);
            const double x = out[i], y = out[j];
            out[i] = x * std::cos(angle) - y * std::sin(angle);
            out[j] = x * std::sin(angle) + y * std::cos(angle);
        }
        return out;
    };
    std::vector<double> outputs;
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const auto query = turned(q, queries[i], offset + static_cast<Index>(i));
        std::vector<double> weights;
        double sum = 0;
        for (std::size_t j = 0; j < keys.size(); ++j) {
            const auto key = turned(k, keys[j], static_cast<Index>(j));
            double dot = 0;
            for (std::size_t a = 0; a < key.size(); ++a) dot += query[a] * key[a];
            sum += weights.emplace_back(std::exp(dot / std::sqrt(static_cast<double>(d))));
        }
        for (Index b = 0; b < d_v; ++b) {
            double output = 0;
            for (std::size_t j = 0; j < keys.size(); ++j)
                output += weights[j] / sum * static_cast<double>(v.matrix()(keys[j], b));
            outputs.push_back(output);
        }
    }
    return outputs;
}

}  // namespace

TEST_CASE(
    "different numbers of queries and keys are reordered separately, and outputs do not depend on the keys' "
    "order") {
    const Tensor q = random_tensor({3, 4}, 1), k = random_tensor({5, 4}, 2), v = random_tensor({5, 2}, 3);
    Screen screen;
    Drop files{{"q.npy", write_npy({3, 4}, q.values())},
               {"k.npy", write_npy({5, 4}, k.values())},
               {"v.npy", write_npy({5, 2}, v.values())}};
    put(screen.visit, files);
    screen.settle();
    REQUIRE(tensors_in(screen.visit).own().open());
    open_order(screen);
    REQUIRE(order_in(screen.visit).content);
    CHECK_FALSE(order_in(screen.visit).content->one_line());
    CHECK(spoken(screen.visit) ==
          "Drag a word to see what the order changes without positions.\n3 queries and 5 keys stand in "
          "their own "
          "order.");
    drag(screen, "order/key-token/0", "order/key-token/4");
    const std::vector<Index> keys{1, 2, 3, 4, 0};
    CHECK(now(screen.visit).key_order == keys);
    CHECK(now(screen.visit).order.empty());
    CHECK(spoken(screen.visit).starts_with("Without positions, every output stayed"));
    CHECK(f64(screen.visit, order::cells::largest_output_change(0)) < 1e-15);
    // The weight moves along: key 0 is now at place 4.
    const auto before = why(screen.visit, order::cells::output(order::TokenOrder::original, 0, 0)),
               moved = why(screen.visit, order::cells::output(order::TokenOrder::permuted, 0, 0));
    CHECK(moved->operands[4].left == Catch::Approx(before->operands[0].left).epsilon(1e-12));
    CHECK(moved->operands[4].name == before->operands[0].name);
    for (const bool rotary : {false, true}) {
        change(screen, [&](order::State& o) {
            o.scheme = rotary ? PositionScheme::rotary : PositionScheme::none;
            o.order = {2, 0, 1};
        });
        const auto expected = rectangle(q, k, v, {2, 0, 1}, keys, rotary, 0);
        for (Index place = 0; place < 3; ++place)
            for (Index b = 0; b < 2; ++b) {
                const Index query = std::vector<Index>{2, 0, 1}[static_cast<std::size_t>(place)];
                const auto found =
                    why(screen.visit, order::cells::output(order::TokenOrder::permuted, query, b));
                REQUIRE(found);
                CHECK(found->f64 ==
                      Catch::Approx(expected[static_cast<std::size_t>(place * 2 + b)]).margin(1e-6));
                CHECK(found->f32 == Catch::Approx(found->f64).margin(2e-6));
            }
    }
    CHECK((f64(screen.visit, order::cells::largest_output_change(3)) > 1e-4));
    for (Index s = 0; s < 6; ++s) {
        CHECK(why(screen.visit, order::cells::largest_output_change(s)));
        if (s != 1) CHECK(why(screen.visit, order::cells::equal_scores(s)));  // 1: a table of 512 rows
    }
    CHECK(why(screen.visit, order::cells::score(2, 4)));
    CHECK_FALSE(why(screen.visit, order::cells::score(3, 0)));
    CHECK_FALSE(why(screen.visit, order::cells::score(0, 5)));
    CHECK(parse_fragment(to_fragment(screen.visit.state())).state.of<order::State>() == now(screen.visit));
    screen.visit.undo();
    CHECK(now(screen.visit).scheme == PositionScheme::none);
}
