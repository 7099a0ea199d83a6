// Checks the backward pass of a row: by central differences, and by the kernels' own backward pass.
#include "analysis/attribution/row_gradient.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <iterator>
#include <memory>

#include "support/backward.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;

namespace {

constexpr Index head_count = 4, kv_head_count = 2, tokens = 7, key_width = 5, value_width = 3;

Record record_under(AttentionSpec spec, float deviation = 1) {
    return *Record::run(random_tensor({head_count, tokens, key_width}, 1, deviation),
                        random_tensor({kv_head_count, tokens, key_width}, 2, deviation),
                        random_tensor({kv_head_count, tokens, value_width}, 3), std::move(spec));
}

// In the last spec, the first two queries see no key.
std::vector<AttentionSpec> specs() {
    const auto bias = std::make_shared<const Tensor>(random_tensor({1, tokens, tokens}, 4));
    std::vector<AttentionSpec> all(6);
    all[1].scale = 0.3f;
    all[2].mask = Mask::causal();
    all[3].softcap = 1.5f;
    all[3].mask = Mask::causal();
    all[4].softcap = 2;
    all[4].mask = Mask::window(1, 1);
    all[4].bias = {bias};
    all[5].mask = Mask::window(2, -2) & Mask::padding(5);
    return all;
}

// Changes after a causal mask with a soft cap: scores and weights of some keys, and of whole rows.
std::vector<AttentionSpec> changed_specs() {
    const auto other = std::make_shared<const Record>(
        *Record::run(random_tensor({head_count, tokens, key_width}, 11),
                     random_tensor({kv_head_count, tokens, key_width}, 12),
                     random_tensor({kv_head_count, tokens, value_width}, 13), {}));
    using enum CellEdit::Of;
    const auto on = [&](CellEdit::Of of, Operation operation, std::vector<float> values = {}) {
        const bool taken = operation == Operation::patch || operation == Operation::mean_of_texts;
        return CellEdit{of,
                        {.columns = {1, 2, 5}, .operation = operation, .values = std::move(values)},
                        taken ? std::vector{other} : std::vector<std::shared_ptr<const Record>>{}};
    };
    std::vector<AttentionSpec> all;
    for (const CellEdits& edits :
         {CellEdits{on(score, Operation::scale, {-0.5f})}, CellEdits{on(score, Operation::mean)},
          CellEdits{on(score, Operation::set, {0.5f}), on(score, Operation::add, {0.25f, 1, -1})},
          CellEdits{on(score, Operation::patch)}, CellEdits{on(weight, Operation::zero)},
          CellEdits{on(weight, Operation::mean), on(weight, Operation::scale, {1.5f})},
          CellEdits{on(weight, Operation::mean_of_texts)},
          CellEdits{on(weight, Operation::scale, {2}), on(score, Operation::mean),
                    on(weight, Operation::mean)}}) {
        AttentionSpec spec;
        spec.mask = Mask::causal();
        spec.softcap = 1.5f;
        spec.edits = std::make_shared<const CellEdits>(edits);
        all.push_back(std::move(spec));
    }
    return all;
}

AttentionSpec under(Mask mask) {
    AttentionSpec spec;
    spec.mask = std::move(mask);
    return spec;
}

double gradient_at(const Record& record, const RowGradient<double>& pass, Index head, Index query,
                   Stage stage, Index row, Index col, std::optional<Index> target) {
    const auto at = [](const std::vector<double>& numbers, Index i) {
        return numbers[static_cast<std::size_t>(i)];
    };
    if (stage == Stage::q) return at(pass.d_q, col);
    if (stage == Stage::v)
        return at(pass.weight, row) * at(pass.d_summed, col) -
               static_cast<double>(target == row) * at(pass.d_output, col);
    return at(pass.d_raw, row) * static_cast<double>(record.q().heads().head(head)(query, col));
}

double slope_at(const Record& record, Index head, Index query, const RowLoss& loss,
                const RowGradient<double>& pass, Stage stage, Index row, Index col) {
    const auto moved_by = [&](double h) { return std::vector{Moved{stage, row, col, h}}; };
    return central_difference(record, head, query, loss, pass, moved_by, difference_step);
}

}  // namespace

TEST_CASE("the gradient of a row is the derivative of its loss", "[analysis]") {
    std::vector<double> along;
    for (Index b = 0; b < value_width; ++b) along.push_back(1.5 - static_cast<double>(b));
    const Edit scaled{.columns = {1, 2}, .operation = Operation::scale, .values = {-2}},
        set{.rows = {4}, .columns = {0}, .operation = Operation::set, .values = {0.5f}};
    std::vector<AttentionSpec> all = specs();
    std::ranges::move(changed_specs(), std::back_inserter(all));
    for (const AttentionSpec& spec : all) {
        const Record record = record_under(spec);
        for (const RowLoss& loss :
             {RowLoss{{}, 1}, RowLoss{3, 0}, RowLoss{.along = along}, RowLoss{3, 0, {}, {scaled, set}},
              RowLoss{.along = along, .edits = {scaled}}})
            for (Index head = 0; head < head_count; ++head)
                for (Index query = 0; query < tokens; ++query) {
                    INFO(spec.mask.text() << ", head " << head << ", query " << query);
                    const auto pass =
                        row_gradient<double>(std::make_shared<const Record>(record), head, query, loss);
                    const auto check = [&](Stage stage, Index rows, Index cols) {
                        for (Index row = stage == Stage::q ? query : 0;
                             row < (stage == Stage::q ? query + 1 : rows); ++row)
                            for (Index col = 0; col < cols; ++col) {
                                const double slope =
                                    slope_at(record, head, query, loss, pass, stage, row, col);
                                // A step of 1e-5 leaves 1e-10 times a third derivative, and 1e-11 of
                                // rounding.
                                CHECK(std::abs(gradient_at(record, pass, head, query, stage, row, col,
                                                           loss.target) -
                                               slope) < 1e-8 * std::max(1.0, std::abs(slope)));
                            }
                    };
                    check(Stage::q, tokens, key_width);
                    check(Stage::k, tokens, key_width);
                    check(Stage::v, tokens, value_width);
                    for (Index key = 0; key < tokens; ++key) {
                        const auto j = static_cast<std::size_t>(key);
                        if (!pass.allowed[j]) continue;
                        const auto near = [&](Stage stage, double gradient) {
                            CHECK(std::abs(gradient - slope_at(record, head, query, loss, pass, stage, query,
                                                               key)) < 1e-8);
                        };
                        near(Stage::raw, pass.d_raw[j]);
                        near(Stage::masked, pass.d_masked[j]);
                        near(Stage::weight, pass.d_weight[j]);
                    }
                }
    }
}

TEST_CASE("the gradient of a changed row matches its record", "[analysis]") {
    for (const AttentionSpec& spec : changed_specs()) {
        const auto record = std::make_shared<const Record>(record_under(spec));
        for (Index head = 0; head < head_count; ++head)
            for (Index query = 0; query < tokens; ++query) {
                const auto pass = row_gradient<double>(record, head, query, {});
                const std::vector<float> weights = record->weights(head, query);
                // Compares f32 with double.
                for (std::size_t j = 0; j < weights.size(); ++j)
                    CHECK(std::abs(pass.weight[j] - static_cast<double>(weights[j])) < 1e-6);
                for (Index b = 0; b < value_width; ++b)
                    CHECK(std::abs(pass.output[static_cast<std::size_t>(b)] -
                                   static_cast<double>(record->output().heads().head(head)(query, b))) <
                          2e-6);
            }
    }
}

TEST_CASE("the gradient of a row matches the kernels' for an output gradient of this row alone",
          "[analysis]") {
    for (const AttentionSpec& spec : specs()) {
        const Record record = record_under(spec);
        const Index head = 3, query = 4, kv = record.kv_head(head);
        const RowLoss loss{1, 0};
        const auto pass = row_gradient<double>(std::make_shared<const Record>(record), head, query, loss);
        AttentionCall call = attention_call(record.q(), record.k(), record.v());
        call.scale = static_cast<float>(record.scale());
        call.softcap = static_cast<float>(spec.softcap);
        call.rule = spec.mask.rule();
        if (!spec.bias.empty()) {
            call.bias = spec.bias.values->heads();
            call.bias.heads = head_count;
            call.bias.head_stride = 0;
        }
        AttentionPass whole(call);
        std::ranges::fill(whole.d_output.values(), 0.0f);
        for (Index b = 0; b < value_width; ++b)
            whole.d_output.heads().head(head)(query, b) =
                static_cast<float>(pass.d_output[static_cast<std::size_t>(b)]);
        const AttentionGradients kernels = differentiate(reference_backward(), whole);
        // The reference rounds once, to f32, and takes the rounded d_output: two half units of 2⁻²³ of the
        // summands.
        const auto near = [](double a, float b) {
            CHECK(std::abs(a - static_cast<double>(b)) < 5e-7 * std::max(1.0, std::abs(a)));
        };
        for (Index a = 0; a < key_width; ++a)
            near(pass.d_q[static_cast<std::size_t>(a)], kernels.d_q.heads().head(head)(query, a));
        for (Index j = 0; j < tokens; ++j) {
            for (Index a = 0; a < key_width; ++a)
                near(gradient_at(record, pass, head, query, Stage::k, j, a, loss.target),
                     kernels.d_k.heads().head(kv)(j, a));
            for (Index b = 0; b < value_width; ++b)
                near(gradient_at(record, pass, head, query, Stage::v, j, b, {}),
                     kernels.d_v.heads().head(kv)(j, b));
        }
    }
}

TEST_CASE("a row's gradient in single precision is close to double", "[analysis]") {
    for (const float deviation : {1.0f, 20.0f}) {
        const Record record = record_under(under(Mask::causal()), deviation);
        for (Index query = 0; query < tokens; ++query) {
            const auto f32 = row_gradient<float>(std::make_shared<const Record>(record), 0, query, {2, 0});
            const auto f64 = row_gradient<double>(std::make_shared<const Record>(record), 0, query, {2, 0});
            // A score is off by d_k + 2 roundings of its products; a weight by twice the error of the score
            // and the row's sum; a gradient by the errors of its three factors.
            const ConstMatrix q = record.q().heads().head(0), k = record.k().heads().head(0);
            double products = 0, largest_k = 0, largest_slope = 0;
            for (Index j = 0; j < tokens; ++j) {
                double sum = 0;
                for (Index a = 0; a < key_width; ++a) {
                    sum += std::abs(static_cast<double>(q(query, a)) * static_cast<double>(k(j, a)));
                    largest_k = std::max(largest_k, std::abs(static_cast<double>(k(j, a))));
                }
                products = std::max(products, sum);
                largest_slope = std::max(largest_slope, std::abs(f64.d_weight[static_cast<std::size_t>(j)]));
            }
            const double scale = static_cast<double>(record.scale());
            const double score = (key_width + 2) * 0x1p-24 * products * scale, few = 0x1p-20;
            for (std::size_t a = 0; a < f64.d_q.size(); ++a)
                CHECK(std::abs(static_cast<double>(f32.d_q[a]) - f64.d_q[a]) <
                      tokens * largest_k * scale * largest_slope * (6 * score + few));
            for (std::size_t j = 0; j < f64.weight.size(); ++j)
                CHECK(std::abs(static_cast<double>(f32.weight[j]) - f64.weight[j]) < 2 * score + few);
        }
    }
}

TEST_CASE("a row that sees nothing has no gradient, and a weight of 0 ignores an infinite value",
          "[analysis]") {
    const Record blind = record_under(under(!Mask::everything()));
    const auto none = row_gradient<double>(std::make_shared<const Record>(blind), 0, 3, {1, 0});
    for (const double d : none.d_q) CHECK(d == 0);
    for (const double d : none.d_raw) CHECK(d == 0);
    CHECK(none.output == std::vector<double>(value_width, 0.0));

    Tensor v = random_tensor({1, 3, 2}, 9);
    v.values()[4] = HUGE_VALF;  // belongs to the masked key
    const Record record = *Record::run(random_tensor({1, 3, 2}, 7), random_tensor({1, 3, 2}, 8), std::move(v),
                                       under(Mask::causal()));
    const auto pass = row_gradient<double>(std::make_shared<const Record>(record), 0, 1, {{}, 0});
    for (const double d : pass.d_q) CHECK(std::isfinite(d));
    CHECK(pass.d_weight[2] == 0);
}

TEST_CASE("the Jacobian of a softmax row is diag(a) - a a^T: symmetric, and its rows sum to 0",
          "[analysis]") {
    const Record record = record_under({});
    const auto pass = row_gradient<double>(std::make_shared<const Record>(record), 0, 0, {});
    for (Index j = 0; j < tokens; ++j) {
        double sum = 0;
        for (Index k = 0; k < tokens; ++k) {
            CHECK(weight_slope(pass.weight, j, k) == weight_slope(pass.weight, k, j));
            sum += weight_slope(pass.weight, j, k);
        }
        CHECK(std::abs(sum) < 1e-15);
    }
    // ∂L/∂masked is the Jacobian times ∂L/∂A.
    for (Index k = 0; k < tokens; ++k) {
        double sum = 0;
        for (Index j = 0; j < tokens; ++j)
            sum += pass.d_weight[static_cast<std::size_t>(j)] * weight_slope(pass.weight, j, k);
        CHECK(std::abs(sum - pass.d_masked[static_cast<std::size_t>(k)]) < 1e-14);
    }
}

TEST_CASE("a loss with numbers changed matches a record with those numbers", "[analysis]") {
    std::vector<double> along;
    for (Index b = 0; b < value_width; ++b) along.push_back(0.5 + static_cast<double>(b));
    for (const AttentionSpec& spec : specs())
        for (const RowLoss& loss : {RowLoss{{}, 1}, RowLoss{3, 0}, RowLoss{.along = along}})
            for (const Index query : {Index{0}, Index{4}}) {
                INFO(spec.mask.text() << ", query " << query);
                const Index head = 2;
                const auto record = std::make_shared<const Record>(record_under(spec));
                const auto pass = row_gradient<double>(record, head, query, loss);
                // Sums of these with the record's numbers are exact in f32 except for the last bit.
                const std::vector<Moved> moved{{Stage::q, query, 1, 0.25}, {Stage::q, query, 3, -0.5},
                                               {Stage::k, 3, 1, 0.125},    {Stage::k, 0, 4, 1},
                                               {Stage::v, 3, 1, -0.25},    {Stage::v, 2, 0, 2}};
                Tensor q = record->q(), k = record->k(), v = record->v();
                for (const Moved& each : moved) {
                    const Index kv = record->kv_head(head);
                    float& number = each.stage == Stage::q   ? q.heads().head(head)(each.row, each.col)
                                    : each.stage == Stage::k ? k.heads().head(kv)(each.row, each.col)
                                                             : v.heads().head(kv)(each.row, each.col);
                    number += static_cast<float>(each.by);
                }
                auto changed = Record::run(std::move(q), std::move(k), std::move(v), spec);
                REQUIRE(changed);
                const auto again = row_gradient<double>(std::make_shared<const Record>(*std::move(changed)),
                                                        head, query, loss);
                // Half a unit of 2⁻²³ of each changed number, at most 4, times gradients of a few.
                CHECK(std::abs(moved_loss(*record, head, query, loss, pass, moved) - again.loss) <
                      1e-5 * std::max(1.0, std::abs(again.loss)));
            }
}

TEST_CASE("a row of many keys is processed in slices", "[analysis]") {
    const auto record = std::make_shared<const Record>(*Record::run(
        random_tensor({1, 1, 64}, 1), random_tensor({1, 9'000, 64}, 2), random_tensor({1, 9'000, 8}, 3), {}));
    RowGradientJob<double> passing(record, 0, 0, {});
    int steps = 1;
    while (passing.step()) ++steps;
    CHECK(steps > 10);
    double sum = 0, slopes = 0;
    for (const double weight : passing.pass().weight) sum += weight;
    for (const double slope : passing.pass().d_masked) slopes += slope;
    CHECK(std::abs(sum - 1) < 1e-12);
    CHECK(std::abs(slopes) < 1e-12);  // adding a constant to all scores changes nothing
}
