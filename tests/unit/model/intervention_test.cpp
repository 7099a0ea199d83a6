// Interventions in every family: what they leave of a site, that nothing else changes, and that a run which keeps what lies
// before them has the bits of one that computes everything.
#include "model/intervention.hpp"

#include <cstring>

#include "attention/explain.hpp"
#include "model/generate.hpp"
#include "model/kept_rows.hpp"
#include "support/small_families.hpp"
#include "support/this_build.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::vector<std::int32_t> changed_ids{3, 1, 4, 1, 5, 9, 2, 6};
const std::vector<std::int32_t> twin_ids{8, 1, 7, 1, 2, 9, 4, 11};

constexpr std::array vector_sites{Site::residual_in,
                                  Site::q,
                                  Site::k,
                                  Site::v,
                                  Site::head_output,
                                  Site::attention_output,
                                  Site::residual_middle,
                                  Site::mlp_output,
                                  Site::residual_out};
constexpr std::array operations{Operation::zero, Operation::scale,         Operation::add,  Operation::set,
                                Operation::mean, Operation::mean_of_texts, Operation::patch};

std::shared_ptr<const Trace> run_of_text(const std::shared_ptr<const Model>& model,
                                         const std::vector<std::int32_t>& of = changed_ids) {
    auto trace = run_text(model, of);
    REQUIRE(trace);
    return *trace;
}

std::shared_ptr<const Trace> run_with(const std::vector<Intervention>& interventions,
                                      const std::shared_ptr<const Trace>& before,
                                      double slice = operations_of_a_frame) {
    auto forward = Forward::start_with(interventions, before, slice);
    INFO((forward ? "" : forward.error().message));
    REQUIRE(forward);
    auto trace = forward->finish();
    REQUIRE(trace);
    return *trace;
}

// Everything that both runs hold, bit for bit.
void check_same(const Trace& a, const Trace& b) {
    const std::vector<NamedTensor> of_a = a.tensors(), of_b = b.tensors();
    REQUIRE(of_a.size() == of_b.size());
    for (std::size_t i = 0; i < of_a.size(); ++i) {
        INFO(of_a[i].name);
        const Tensor x = *of_a[i].tensor, y = *of_b[i].tensor;  // copies lie in one piece
        REQUIRE(x.shape() == y.shape());
        CHECK(std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * sizeof(float)) == 0);
    }
}

// A run in which everything is another number: nothing of it can be kept.
std::shared_ptr<const Trace> disturbed(const std::shared_ptr<const Trace>& trace) {
    std::vector<Intervention> all{
        {.attention = 0, .site = Site::residual_in, .edit = {.operation = Operation::scale, .values = {3}}}};
    if (trace->encoder()) {
        all.push_back(all.front());
        all.back().attention = trace->encoder()->attentions();
    }
    return run_with(all, trace);
}

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

// What an example leaves of a number of its columns: `place` is 0 or 1 among its rows, and among its columns.
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

TEST_CASE("every operation leaves of every site of vectors what it says, in every family", "[model]") {
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
                    // What was kept is what is computed anew, in slices of a token as well.
                    const auto taken = resolved({each}, *trace);
                    REQUIRE(taken);
                    CHECK(changed->interventions() == *taken);
                    check_same(*run_with(*taken, nothing_alike, 1), *changed);
                    // And back again.
                    if (operation == Operation::set) check_same(*run_with({}, changed), *trace);
                }
    }
}

namespace {

// A row of attention in double, one loop per index, under an example on its cells.
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

TEST_CASE("every operation leaves of scores and weights what a plain softmax makes of them, in every family",
          "[model]") {
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
                            // Scores are within ±20 and off by some of their last bits, so weights by 1e-5 of theirs.
                            for (std::size_t j = 0; j < weights.size(); ++j) {
                                const auto key = static_cast<Index>(j);
                                CHECK(std::abs(static_cast<double>(weights[j]) - plain.weights[j]) < 1e-5);
                                // A part of the row is that part of the whole.
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

TEST_CASE("a mask that is changed is another mask, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = run_of_text(model), nothing_alike = disturbed(trace);
        for (Index attention = 0; attention < trace->attentions(); ++attention) {
            CAPTURE(attention);
            const auto with = [&](Operation operation, std::vector<float> values) {
                Intervention each{.attention = attention,
                                  .site = Site::mask,
                                  .edit = {.head = 1,
                                           .rows = {2, 5},
                                           .columns = {1, 6},
                                           .operation = operation,
                                           .values = std::move(values)}};
                return each;
            };
            const Record& as_it_is = trace->attention(attention).record();
            const auto check = [&](const Intervention& each, bool first, bool second) {
                const auto changed = run_with({each}, trace);
                const Record& record = changed->attention(attention).record();
                for (Index head = 0; head < record.heads(); ++head)
                    for (Index query = 0; query < record.queries(); ++query)
                        for (Index key = 0; key < record.keys(); ++key) {
                            const bool touched = head == 1 && (query == 2 || query == 5);
                            const bool expected = touched && key == 1 ? first
                                                  : touched && key == 6
                                                      ? second
                                                      : as_it_is.spec().mask.allows(head, query, key);
                            CHECK(record.spec().mask.allows(head, query, key) == expected);
                        }
                const auto alone = Record::run(record.q(), record.k(), record.v(), record.spec());
                REQUIRE(alone);
                CHECK(alone->output() == record.output());
                check_same(*run_with(changed->interventions(), nothing_alike, 1), *changed);
                return changed;
            };
            check(with(Operation::zero, {}), false, false);
            check(with(Operation::set, {1}), true, true);
            const auto both = check(with(Operation::set, {1, 0}), true, false);
            Intervention patch = with(Operation::patch, {});
            patch.from = {both};
            check_same(*run_with({patch}, trace), *both);
        }
    }
}

TEST_CASE("what a hidden key does not reach is kept, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = run_of_text(small_model(family)), nothing_alike = disturbed(trace);
        std::vector<Intervention> hidden;
        for (Index attention = 0; attention < trace->attentions(); ++attention) {
            const AttentionKind kind = trace->attention(attention).place.kind;
            if (kind != AttentionKind::cross && kind != AttentionKind::encoder)
                hidden.push_back({.attention = attention, .site = Site::mask, .edit = {.columns = {4}}});
        }
        const auto changed = run_with(hidden, trace);
        check_same(*run_with(changed->interventions(), nothing_alike, 1), *changed);
        CHECK(KeptRows(*changed, trace.get()).rows(0, BlockStep::attend) ==
              (trace->network().causal ? 4 : 0));
    }
}

TEST_CASE("what is there already changes no bit, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = run_of_text(small_model(family));
        check_same(*run_with({}, trace), *trace);
        for (Index attention = 0; attention < trace->attentions(); ++attention)
            for (const Site site : vector_sites) {
                CAPTURE(attention, info(site).key);
                check_same(*run_with({{.attention = attention,
                                       .site = site,
                                       .edit = {.operation = Operation::patch},
                                       .from = {trace}}},
                                     trace),
                           *trace);
            }
    }
}

TEST_CASE("without all heads an attention writes its bias, in every family", "[model]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = run_of_text(small_model(family));
        for (Index attention = 0; attention < trace->attentions(); ++attention) {
            const auto changed = run_with({{.attention = attention, .site = Site::head_output}}, trace);
            const LayerAttention at = changed->attention(attention);
            const std::span<const float> bias = at.half.attention_out.bias.values();
            const ConstMatrix output = at.run.attention_output.matrix();
            for (Index row = 0; row < output.rows; ++row)
                for (Index column = 0; column < output.cols; ++column)
                    CHECK(output(row, column) == (bias.empty() ? 0 : bias[static_cast<std::size_t>(column)]));
        }
    }
}

TEST_CASE("a changed run goes on with more tokens, one by one as well, in every family", "[model]") {
    const std::vector<std::int32_t> longer{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
    for (const SmallFamily& family : all_small_families()) {
        if (!family.causal) continue;
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = run_of_text(model), whole = run_of_text(model, longer);
        const Index last = trace->attentions() - 1;
        const std::vector<Intervention> all{
            {.attention = last, .site = Site::q, .edit = {.head = 1, .operation = Operation::mean}},
            {.attention = last,
             .site = Site::weight,
             .edit = {.operation = Operation::scale, .values = {0.5f}}},
            {.attention = last,
             .site = Site::score,
             .edit = {.head = 0, .columns = {2}, .operation = Operation::mean}},
            {.attention = last, .site = Site::mask, .edit = {.head = 0, .columns = {0, 1}}},
            {.attention = last, .site = Site::mlp_output, .edit = {.rows = {3}}},
            {.attention = last,
             .site = Site::v,
             .edit = {.rows = {2}, .operation = Operation::patch, .from_rows = {1}},
             .from = {trace}},
        };
        const auto changed = run_with(all, trace);
        auto forward = continue_text(changed, longer, 1);
        REQUIRE(forward);
        const auto continued = forward->finish();
        REQUIRE(continued);
        const auto at_once = run_with(changed->interventions(), whole);
        check_same(**continued, *at_once);

        auto generator = Generator::start(changed, {});
        REQUIRE(generator);
        for (int i = 0; i < 3; ++i) REQUIRE(generator->next());
        while (generator->step()) {
        }
        const auto again = run_with(changed->interventions(),
                                    run_of_text(model, {generator->ids().begin(), generator->ids().end()}));
        const Tensor logits = again->logits({again->tokens() - 1, again->tokens()});
        CHECK(std::ranges::equal(generator->logits(), logits.values()));
    }
}

TEST_CASE("a query that was shown a key behind it sees it when the text goes on", "[model]") {
    const auto model = small_model(small_families.front());
    const auto trace = run_of_text(model);
    const auto changed =
        run_with({{.attention = 0,
                   .site = Site::mask,
                   .edit = {.rows = {1}, .columns = {6}, .operation = Operation::set, .values = {1}}}},
                 trace);
    std::vector<std::int32_t> text = changed_ids;
    for (const std::int32_t id : {4, 4}) {
        text.push_back(id);
        check_same(**Forward::start(changed, text)->finish(),
                   *run_with(changed->interventions(), run_of_text(model, text)));
    }
    const std::vector<std::int32_t> shorter(changed_ids.begin(), changed_ids.begin() + 4);
    const auto cut = *Forward::start(changed, shorter)->finish();
    check_same(*cut, *run_of_text(model, shorter));
    check_same(**Forward::start(cut, text)->finish(),
               *run_with(changed->interventions(), run_of_text(model, text)));
}

TEST_CASE("interventions that a run cannot take are refused in one sentence", "[model]") {
    const auto model = small_model(small_families[1]);
    const auto trace = run_of_text(model), shorter = run_of_text(model, {1, 2, 3});
    const auto other = run_of_text(small_model(small_families.front()));
    const auto refused = [&](Intervention each) {
        const auto forward = Forward::start_with({std::move(each)}, trace);
        REQUIRE(!forward);
        return forward.error().message;
    };
    CHECK(refused({.attention = 2}) == "there is no attention 2 among the model's 2");
    CHECK(refused({.attention = 1, .site = Site::k, .edit = {.head = 1}}) ==
          "k in layer 1: there is no head 1 among 1");
    CHECK(refused({.site = Site::mlp_output, .edit = {.head = 0}}) ==
          "MLP output in layer 0: it belongs to all heads together; leave the head out");
    CHECK(refused({.site = Site::q, .edit = {.rows = {8}}}) == "q in layer 0: there is no token 8 among 8");
    CHECK(refused({.site = Site::weight, .edit = {.rows = {3, 3}}}) ==
          "weight in layer 0: query 3 comes after 3; name each once, in ascending order");
    CHECK(refused({.site = Site::score, .edit = {.columns = {-1}}}) ==
          "score in layer 0: there is no key -1 among 8");
    CHECK(refused({.site = Site::q, .edit = {.columns = {8}}}) ==
          "q in layer 0: there is no component 8 among 8");
    CHECK(
        refused({.site = Site::q, .edit = {.rows = {1}, .operation = Operation::set, .values = {1, 2, 3}}}) ==
        "q in layer 0: 3 values given; give one, or 8 for the components, or 8 for these in 1 token");
    CHECK(refused({.site = Site::q, .edit = {.operation = Operation::scale}}) ==
          "q in layer 0: 0 values given; a scale is one factor");
    CHECK_THAT(refused({.site = Site::q, .edit = {.operation = Operation::set, .values = {NAN}}}),
               ContainsSubstring("not finite"));
    CHECK_THAT(refused({.site = Site::mask, .edit = {.operation = Operation::set, .values = {0.5f}}}),
               ContainsSubstring("0 or 1"));
    CHECK_THAT(refused({.site = Site::mask, .edit = {.operation = Operation::mean}}),
               ContainsSubstring("zero or one"));
    CHECK_THAT(refused({.site = Site::q, .edit = {.operation = Operation::patch}}),
               ContainsSubstring("one other run"));
    CHECK_THAT(refused({.site = Site::q, .edit = {.operation = Operation::mean_of_texts}}),
               ContainsSubstring("no texts"));
    CHECK(refused({.site = Site::q, .edit = {.operation = Operation::patch}, .from = {shorter}}) ==
          "q in layer 0: the other run has 3 tokens and this one 8; say from which of them each is patched");
    CHECK_THAT(refused({.site = Site::weight, .edit = {.operation = Operation::patch}, .from = {shorter}}),
               ContainsSubstring("a text of as many"));
    CHECK_THAT(refused({.site = Site::k, .edit = {.operation = Operation::patch}, .from = {other}}),
               ContainsSubstring("the same model"));
    CHECK_THAT(refused({.site = Site::v,
                        .edit = {.rows = {1, 2}, .operation = Operation::patch, .from_rows = {0}},
                        .from = {shorter}}),
               ContainsSubstring("one for each"));
}

TEST_CASE("interventions are told in words", "[model]") {
    const auto told = [](const Intervention& each, const char* family) {
        return text_of(each, small_model(*std::ranges::find(small_families, std::string_view(family),
                                                            &SmallFamily::name))
                                 ->network());
    };
    const Edit some{
        .head = 1, .rows = {0, 4, 5, 6}, .columns = {2}, .operation = Operation::set, .values = {1}};
    CHECK(told({.attention = 1, .site = Site::q, .edit = some}, "gpt2") ==
          "q of head 1 in layer 1, tokens 0, 4 to 6, component 2: set to 1");
    CHECK(told({.site = Site::weight, .edit = {.operation = Operation::scale, .values = {0.5f}}}, "bert") ==
          "weight in layer 0: × 0.5");
    const auto t5 = small_model(small_encoder_decoders.front());
    CHECK(text_of({.attention = 5, .site = Site::mask, .edit = {.columns = {1, 2}}}, t5->network()) ==
          "mask in cross-attention 1, keys 1, 2: zero");
}
