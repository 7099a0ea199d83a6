// Tests every operation at every site, in every family: its result there, that nothing else changes, and that
// a run that reuses everything before the site has the bits of one that computes everything.
#include "attention/explain.hpp"
#include "model/intervention.hpp"
#include "support/this_build.hpp"
#include "unit/model/intervention_runs.hpp"

using namespace attn;
using namespace attn::test;

namespace {

constexpr std::array operations{Operation::zero, Operation::scale,         Operation::add,  Operation::set,
                                Operation::mean, Operation::mean_of_texts, Operation::patch};

Intervention example(Index attention, Site site, Operation operation,
                     const std::shared_ptr<const Trace>& other) {
    Intervention each{.attention = attention,
                      .site = site,
                      .edit = {.rows = {2, 5}, .columns = {1, 3}, .operation = operation}};
    if (is_of_heads(site)) each.edit.head = 0;
    if (operation == Operation::scale) each.edit.values = {-0.5f};
    if (operation == Operation::add) each.edit.values = {0.25f, -1.5f};
    if (operation == Operation::set) each.edit.values = {0.5f, -0.25f, 2, 1};
    if (operation == Operation::mean_of_texts || operation == Operation::patch) each.from = {other};
    if (operation == Operation::patch && !is_of_cells(site)) each.edit.from_rows = {4, 0};
    return each;
}

// The result of an example operation on a number in its columns: `place` is 0 or 1 among its rows, and among
// its columns.
double left_by(Operation operation, double computed, std::size_t row_place, std::size_t column_place,
               double mean, double mean_of_texts, double patched) {
    switch (operation) {
        case Operation::zero: return 0;
        case Operation::scale: return -0.5 * computed;
        case Operation::add: return computed + (column_place == 0 ? 0.25 : -1.5);
        case Operation::set: return std::array{0.5, -0.25, 2.0, 1.0}[2 * row_place + column_place];
        case Operation::mean: return mean;
        case Operation::mean_of_texts: return mean_of_texts;
        case Operation::patch: break;
    }
    return patched;
}

double column_mean(ConstMatrix rows, Index column) {
    double sum = 0;
    for (Index row = 0; row < rows.rows; ++row) sum += static_cast<double>(rows(row, column));
    return sum / static_cast<double>(rows.rows);
}

}  // namespace

TEST_CASE("every operation at every vector site has its defined result, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = run_of_text(model), other = run_of_text(model, twin_ids),
                   nothing_alike = disturbed(trace);
        std::size_t number = 0;
        for (Index attention = 0; attention < trace->attentions(); ++attention)
            for (const Site site : vector_sites)
                for (const Operation operation : operations) {
                    if (test::sanitized && number++ % 4 != 0) continue;
                    CAPTURE(attention, info(site).key, static_cast<int>(operation));
                    const Intervention each = example(attention, site, operation, other);
                    const auto changed = run_with({each}, trace);
                    const ConstHeads before = numbers_at(*trace, attention, site),
                                     after = numbers_at(*changed, attention, site),
                                     from = numbers_at(*other, attention, site);
                    for (Index head = 0; head < before.heads; ++head)
                        for (Index row = 0; row < before.rows; ++row)
                            for (Index column = 0; column < before.cols; ++column) {
                                const double computed = static_cast<double>(before.head(head)(row, column)),
                                             left = static_cast<double>(after.head(head)(row, column));
                                const bool touched =
                                    head == 0 && (row == 2 || row == 5) && (column == 1 || column == 3);
                                if (!touched) {
                                    CHECK(left == computed);
                                    continue;
                                }
                                // Both are rounded once, from numbers below 100.
                                CHECK(std::abs(left - left_by(operation, computed, row == 5, column == 3,
                                                              column_mean(before.head(0), column),
                                                              column_mean(from.head(0), column),
                                                              static_cast<double>(from.head(0)(
                                                                  row == 2 ? 4 : 0, column)))) < 1e-5);
                                const auto why =
                                    explain_changes(*changed, attention, site, head, row, column, computed);
                                REQUIRE(why.size() == 1);
                                CHECK(std::abs(why.front().value - left) < 1e-5);
                            }
                    // Reused numbers equal recomputed ones, in slices of a token as well.
                    const auto taken = resolved({each}, *trace);
                    REQUIRE(taken);
                    CHECK(changed->interventions() == *taken);
                    check_same(*run_with(*taken, nothing_alike, 1), *changed);
                    // The change is then reverted.
                    if (operation == Operation::set) check_same(*run_with({}, changed), *trace);
                }
    }
}

namespace {

// A row of attention in double, one loop per index, with an example operation on its cells.
struct PlainRow {
    std::vector<double> weights, output;
};
PlainRow plain_row(const Record& record, const Intervention& each, Index head, Index query,
                   const Record& other) {
    const AttentionSpec& spec = record.spec();
    const ConstMatrix q = record.q().heads().head(head), k = record.k().heads().head(record.kv_head(head)),
                      v = record.v().heads().head(record.kv_head(head));
    const bool touched = head == 0 && (query == 2 || query == 5);
    std::vector<bool> seen;
    std::vector<double> row;
    for (Index key = 0; key < record.keys(); ++key) {
        double score = 0;
        for (Index a = 0; a < q.cols; ++a)
            score += static_cast<double>(q(query, a)) * static_cast<double>(k(key, a));
        score *= static_cast<double>(record.scale());
        if (spec.softcap != 0) {
            const double cap = static_cast<double>(spec.softcap);
            score = cap * std::tanh(score / cap);
        }
        if (!spec.bias.empty()) score += static_cast<double>(spec.bias.at(head, query, key));
        row.push_back(score);
        seen.push_back(spec.mask.allows(head, query, key));
    }
    const auto change = [&](Stage from_stage) {
        double mean = 0;
        for (std::size_t j = 0; j < row.size(); ++j) mean += seen[j] ? row[j] : 0;
        mean /= static_cast<double>(std::ranges::count(seen, true));
        for (const std::size_t j : {std::size_t{1}, std::size_t{3}}) {
            const double from =
                static_cast<double>(other.cell(from_stage, head, query, static_cast<Index>(j)));
            row[j] = left_by(each.edit.operation, row[j], query == 5, j == 3, mean, from, from);
        }
    };
    if (touched && each.site == Site::score) change(Stage::masked);
    double max = -HUGE_VAL, sum = 0;
    for (std::size_t j = 0; j < row.size(); ++j)
        if (seen[j]) max = std::max(max, row[j]);
    for (std::size_t j = 0; j < row.size(); ++j) {
        row[j] = seen[j] && std::isfinite(max) ? std::exp(row[j] - max) : 0;
        sum += row[j];
    }
    for (double& weight : row) weight = sum == 0 ? 0 : weight / sum;
    if (touched && each.site == Site::weight) change(Stage::weight);
    for (std::size_t j = 0; j < row.size(); ++j)
        if (!seen[j]) row[j] = 0;
    PlainRow out{row, {}};
    for (Index b = 0; b < v.cols; ++b) {
        double component = 0;
        for (Index key = 0; key < v.rows; ++key)
            component += row[static_cast<std::size_t>(key)] * static_cast<double>(v(key, b));
        out.output.push_back(component);
    }
    return out;
}

}  // namespace

TEST_CASE("every operation on scores and weights matches a plain softmax, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = run_of_text(model), other = run_of_text(model, twin_ids),
                   nothing_alike = disturbed(trace);
        std::size_t number = 0;
        for (Index attention = 0; attention < trace->attentions(); ++attention)
            for (const Site site : {Site::score, Site::weight})
                for (const Operation operation : operations) {
                    if (test::sanitized && number++ % 4 != 0) continue;
                    CAPTURE(attention, info(site).key, static_cast<int>(operation));
                    const Intervention each = example(attention, site, operation, other);
                    const auto changed = run_with({each}, trace);
                    const Record& record = changed->attention(attention).record();
                    const Record& from = other->attention(attention).record();
                    for (Index head = 0; head < record.heads(); ++head)
                        for (Index query = 0; query < record.queries(); ++query) {
                            const PlainRow plain = plain_row(record, each, head, query, from);
                            const std::vector<float> weights = record.weights(head, query);
                            // Scores are within ±20 and off by some of their last bits, so weights have
                            // relative errors of 1e-5.
                            for (std::size_t j = 0; j < weights.size(); ++j) {
                                const auto key = static_cast<Index>(j);
                                CHECK(std::abs(static_cast<double>(weights[j]) - plain.weights[j]) < 1e-5);
                                // A part of the row equals that part of the whole.
                                CHECK(record.cell(Stage::weight, head, query, key) == weights[j]);
                                const CellExplanation why = explain(record, Stage::weight, head, query, key);
                                CHECK(std::abs(why.f64 - plain.weights[j]) < 1e-12);
                            }
                            const float* output = record.output().heads().head(head).row(query);
                            for (std::size_t b = 0; b < plain.output.size(); ++b)
                                CHECK(std::abs(static_cast<double>(output[b]) - plain.output[b]) < 1e-4);
                        }
                    check_same(*run_with(changed->interventions(), nothing_alike, 1), *changed);
                    check_same(*run_with({}, changed), *trace);
                }
    }
}
