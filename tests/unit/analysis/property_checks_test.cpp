// Tests the checks of what attention must have: that sound runs pass them within their bounds, with errors
// that are computed here once more, and that a run with a flaw fails the right one at the right cell.
#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/properties/properties.hpp"
#include "analysis/properties/rounding_bounds.hpp"
#include "support/numbers.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

namespace {

std::shared_ptr<const Record> record_of_kind(const char* mask, const Kernels& kernels = default_kernels(),
                                             double softcap = 0, bool biased = false, Index n = 70) {
    AttentionSpec spec;
    spec.mask = *Mask::parse(mask);
    spec.softcap = softcap;
    if (biased) spec.bias.values = std::make_shared<const Tensor>(random_tensor({2, n, n}, 9));
    auto record = Record::run(random_tensor({2, n, 8}, 1), random_tensor({1, n, 8}, 2),
                              random_tensor({1, n, 5}, 3), spec, kernels);
    REQUIRE(record);
    return std::make_shared<const Record>(*std::move(record));
}

PropertyChecks checked(const std::shared_ptr<const Record>& record, const CheckOptions& options = {}) {
    PropertyChecks checks({{.layer = 0, .heads = {0, 2}, .record = record}}, nullptr, options);
    while (checks.step()) continue;
    return checks;
}

double output(const Record& record, const CheckedCell& at) {
    return static_cast<double>(record.output().heads().head(at.head)(at.query, at.at));
}

constexpr std::array on_records{Property::rows,    Property::masked,  Property::hull, Property::permutation,
                                Property::shift,   Property::past,    Property::bits, Property::rounding,
                                Property::lengths, Property::parallel};

// A kernel with a flaw: what the reference computes, and then `spoil`.
template <void (*spoil)(const AttentionCall&)>
Kernels flawed() {
    Kernels kernels = reference_kernels();
    kernels.attention = [](const AttentionCall& call) {
        reference_kernels().attention(call);
        spoil(call);
    };
    return kernels;
}
// Adds each value times 0, also where the mask forbids it.
void read_all(const AttentionCall& call) {
    for (Index h = 0; h < call.output.heads; ++h)
        for (Index i = 0; i < call.output.rows; ++i)
            for (Index b = 0; b < call.output.cols; ++b)
                for (Index j = 0; j < call.v.rows; ++j) call.output.head(h)(i, b) += 0 * call.v.head(0)(j, b);
}
// Prefers the first key to all others.
void prefer_first(const AttentionCall& call) {
    for (Index h = 0; h < call.output.heads; ++h)
        for (Index i = 0; i < call.output.rows; ++i)
            for (Index b = 0; b < call.output.cols; ++b)
                call.output.head(h)(i, b) = 0.5f * call.output.head(h)(i, b) + 0.5f * call.v.head(0)(0, b);
}
// Depends on how many rows are computed together.
void count_rows(const AttentionCall& call) {
    for (Index h = 0; h < call.output.heads; ++h)
        for (Index i = 0; i < call.output.rows; ++i)
            call.output.head(h)(i, 0) *= 1 + 1e-4f * static_cast<float>(call.output.rows);
}

}  // namespace

TEST_CASE("a sound attention has every property, in every kernel") {
    for (const Kernels* kernels : {&default_kernels(), &portable_kernels(), &reference_kernels()})
        for (const char* mask : {"causal(0)", "causal(0) & window(7,0)", "everything", "strided(3)"})
            for (const int kind : {0, 1, 2}) {
                CAPTURE(kernels->name, mask, kind);
                const auto record = record_of_kind(mask, *kernels, kind == 1 ? 2 : 0, kind == 2);
                const PropertyChecks checks = checked(record);
                const bool causal = std::string_view(mask).starts_with("causal");
                const bool masks = std::string_view(mask) != "everything";
                for (const Property property : on_records) {
                    const PropertyResult& result = checks.result(property);
                    CAPTURE(static_cast<int>(property), result.worst.error, result.worst.bound,
                            result.worst.head, result.worst.query, result.worst.at);
                    const bool is_cut = property == Property::past || property == Property::lengths;
                    CHECK(result.done);
                    CHECK(result.is_meant == (causal || !is_cut));
                    if (property == Property::masked && !masks) {
                        CHECK(result.lacking == Lacking::masked_keys);
                        continue;
                    }
                    CHECK(result.lacking == Lacking::nothing);
                    CHECK(result.holds() == result.is_meant);
                    CHECK(result.cells > 0);
                    CHECK(result.heads.size() == 2);
                    CHECK(std::ranges::is_sorted(result.queries, {}, &CheckedCell::query));
                }
                CHECK(checks.result(Property::heads).lacking == Lacking::projection);
                CHECK(checks.result(Property::positions).lacking == Lacking::model);
                CHECK(checks.result(Property::rows).cells == 2 * 70);
                CHECK(checks.result(Property::rounding).cells == 2 * 70 * 5);
            }
}

TEST_CASE("errors of properties are those of two runs, computed here once more") {
    const auto record = record_of_kind("causal(0)");
    const CheckOptions options{.constant = 25, .seed = 4};
    const PropertyChecks checks = checked(record, options);

    const CheckedCell& rounding = checks.result(Property::rounding).worst;
    const auto exact = explain_output(*record, rounding.head, rounding.query, rounding.at);
    CHECK(rounding.here == output(*record, rounding));
    CHECK(rounding.there == Catch::Approx(exact.f64).epsilon(1e-13));
    CHECK(rounding.error == std::abs(rounding.here - rounding.there));

    AttentionSpec spec = record->spec();
    Tensor constant({1, 1, 1});
    constant.values()[0] = 25;
    spec.bias.values = std::make_shared<const Tensor>(constant);
    const auto shifted = Record::run(record->q(), record->k(), record->v(), spec);
    const CheckedCell& shift = checks.result(Property::shift).worst;
    CHECK(shift.error > 0);
    CHECK(shift.here == output(*record, shift));
    CHECK(shift.there == output(*shifted, shift));
    double largest = 0;
    for (std::size_t i = 0; i < record->output().values().size(); ++i)
        largest = std::max(largest, std::abs(static_cast<double>(record->output().values()[i]) -
                                             static_cast<double>(shifted->output().values()[i])));
    for (const CheckedCell& head : checks.result(Property::shift).heads) CHECK(head.error <= largest);

    const CheckedCell& row = checks.result(Property::rows).worst;
    double sum = 0;
    for (const float w : record->weights(row.head, row.query)) sum += static_cast<double>(w);
    CHECK(row.error == std::abs(sum - 1));

    // Another constant or seed changes only what it is about.
    PropertyChecks again = checked(record, {});
    const PropertyResult bits = again.result(Property::bits);
    again.follow(options);
    CHECK_FALSE(again.result(Property::shift).done);
    CHECK_FALSE(again.result(Property::permutation).done);
    CHECK(again.result(Property::bits).done);
    while (again.step()) continue;
    CHECK(again.result(Property::shift).worst == shift);
    CHECK(again.result(Property::permutation).worst == checks.result(Property::permutation).worst);
}

TEST_CASE("bounds are near the errors of rows with large scores, and above them") {
    // Scores of some 100, where a rounding of a score is felt most.
    AttentionSpec spec;
    spec.scale = 40;
    const auto run = Record::run(random_tensor({2, 90, 8}, 1), random_tensor({2, 90, 8}, 2),
                                 random_tensor({2, 90, 5}, 3), spec);
    const auto record = std::make_shared<const Record>(*run);
    const PropertyChecks checks = checked(record);
    for (const Property property :
         {Property::rows, Property::hull, Property::permutation, Property::shift, Property::rounding}) {
        CAPTURE(static_cast<int>(property));
        CHECK(checks.result(property).holds());
    }
    // γ_10 alone is 10 roundings; the bound of an output is not more than some hundred times its error.
    const PropertyResult& rounding = checks.result(Property::rounding);
    CHECK(rounding.worst.ratio() > 0.005);
    CHECK(rounding_of_sum(10) == Catch::Approx(10 * 0x1p-24).epsilon(1e-5));
}

TEST_CASE("a flawed kernel is found out") {
    const auto fails = [](const Kernels& kernels, std::initializer_list<Property> broken) {
        const auto record = record_of_kind("causal(0)", kernels);
        PropertyChecks checks = checked(record);
        for (const Property property : on_records) {
            CAPTURE(static_cast<int>(property), checks.result(property).worst.error);
            CHECK(checks.result(property).holds() == (std::ranges::find(broken, property) == broken.end()));
        }
        return checks;
    };
    static const Kernels reads = flawed<read_all>(), prefers = flawed<prefer_first>(),
                         counts = flawed<count_rows>();
    const PropertyResult read = fails(reads, {Property::masked}).result(Property::masked);
    CHECK(std::isinf(read.worst.error));
    CHECK(read.worst.at > read.worst.query);
    fails(prefers, {Property::permutation, Property::rounding});
    fails(counts, {Property::hull, Property::bits, Property::parallel, Property::rounding});
}

TEST_CASE("changed weights and outputs break what they should") {
    auto record = Record::run(random_tensor({2, 20, 8}, 1), random_tensor({2, 20, 8}, 2),
                              random_tensor({2, 20, 5}, 3), {});
    REQUIRE(record);
    record->output_to_change().head(1)(7, 2) = 50;
    const PropertyChecks changed = checked(std::make_shared<const Record>(*record));
    for (const Property property : {Property::hull, Property::bits, Property::rounding, Property::parallel}) {
        const PropertyResult& result = changed.result(property);
        CHECK(result.broken == 1);
        CHECK(result.worst.head == 1);
        CHECK(result.worst.query == 7);
        CHECK(result.worst.at == 2);
        CHECK(result.worst.here == 50);
    }
    CHECK(changed.result(Property::shift).holds());

    AttentionSpec spec;
    CellEdits edits{
        {.of = CellEdit::Of::weight,
         .edit = {.head = 0, .rows = {3}, .columns = {5}, .operation = Operation::set, .values = {-0.25f}}}};
    spec.edits = std::make_shared<const CellEdits>(edits);
    const auto edited = Record::run(record->q(), record->k(), record->v(), spec);
    const PropertyResult rows = checked(std::make_shared<const Record>(*edited)).result(Property::rows);
    CHECK(rows.broken == 2);  // the weight below 0, and the sum of its row
    CHECK(rows.worst.query == 3);
    CHECK(rows.worst.at == 5);
    CHECK(rows.worst.error == 0.25);
}

TEST_CASE("finished weights are checked as far as they say something") {
    std::vector<float> weights{1,    0,    0,  //
                               0.5f, 0.6f, 0,  //
                               0.7f, 0.5f, -0.2f};
    const auto owner = std::make_shared<std::vector<float>>(weights);
    const auto map =
        finished_map({owner, {DType::f32, false, {3, 3}, {3, 1}, std::as_bytes(std::span(*owner))}});
    REQUIRE(map);
    PropertyChecks checks({{.layer = 0, .heads = {0, 1}, .maps = {*map}}}, nullptr, {});
    while (checks.step()) continue;
    const PropertyResult& rows = checks.result(Property::rows);
    CHECK(rows.broken == 2);
    CHECK(rows.worst.error == Catch::Approx(0.2));
    CHECK(rows.worst.at == 2);
    REQUIRE(rows.queries.size() == 3);
    CHECK(rows.queries[1].error == Catch::Approx(0.1));
    CHECK(checks.result(Property::past).holds());
    CHECK(checks.result(Property::past).cells == 3);
    CHECK(checks.result(Property::hull).lacking == Lacking::scores);
}

TEST_CASE("a model of every family has every property, as far as it is meant to") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = run_text(model, {3, 1, 4, 1, 5, 9});
        REQUIRE(trace);
        for (Index layer = 0; layer < (*trace)->attentions(); ++layer) {
            CAPTURE(layer);
            const LayerAttention at = (*trace)->attention(layer);
            const auto record = record_of(*trace, layer);
            const std::vector<CheckedHeads> heads{{.layer = layer, .heads = {1, 2}, .record = record},
                                                  {.layer = layer, .heads = {0, 1}, .record = record}};
            PropertyChecks checks(heads, *trace, {});
            while (checks.step()) CHECK(checks.progress() <= 1);
            const bool causal = family.causal && at.place.kind != AttentionKind::encoder;
            for (Index i = 0; i < required_properties; ++i) {
                const auto property = static_cast<Property>(i);
                const PropertyResult& result = checks.result(property);
                CAPTURE(i, result.worst.error, result.worst.bound);
                if (!result.can_be_checked()) {
                    CHECK(property == Property::masked);
                    continue;
                }
                CHECK(result.is_meant == (causal || property != Property::past));
                CHECK((result.holds() || !result.is_meant));
                CHECK(result.cells > 0);
            }
            CHECK(checks.result(Property::heads).cells == at.queries.tokens() * 16);
            const PropertyResult& positions = checks.result(Property::positions);
            CHECK_FALSE(positions.is_meant);
            CHECK(positions.worst.error > 0);
        }
    }
}

TEST_CASE("what positions do is the run of the permuted text") {
    const auto model =
        small_model(*std::ranges::find(small_families, std::string_view("gpt2"),
                                       [](const auto& each) { return std::string_view(each.name); }));
    const std::vector<std::int32_t> ids{3, 1, 4, 1, 5, 9};
    const auto trace = run_forward(model, ids);
    PropertyChecks checks({{.layer = 1, .heads = {0, 1}, .record = record_of(*trace, 1)}}, *trace,
                          {.seed = 3});
    while (checks.step()) continue;
    const std::vector<Index> order = shuffled(6, 3);
    std::vector<std::int32_t> moved;
    for (const Index each : order) moved.push_back(ids[static_cast<std::size_t>(each)]);
    const auto other = run_forward(model, moved);
    double largest = 0;
    for (Index i = 0; i < 6; ++i)
        for (Index b = 0; b < 8; ++b)
            largest = std::max(
                largest, std::abs(static_cast<double>((*trace)->attention(1).record().output().heads().head(
                                      0)(order[static_cast<std::size_t>(i)], b)) -
                                  static_cast<double>(
                                      (*other)->attention(1).record().output().heads().head(0)(i, b))));
    CHECK(checks.result(Property::positions).worst.error == largest);

    // A change of what the heads add up to is found, and the run with it is repeated.
    auto pass =
        ForwardPass::start_with({{.attention = 1,
                                  .site = Site::attention_output,
                                  .edit = {.rows = {2}, .columns = {3}, .operation = Operation::zero}}},
                                *trace);
    REQUIRE(pass);
    const auto changed = pass->finish();
    REQUIRE(changed);
    PropertyChecks found({{.layer = 1, .heads = {0, 1}, .record = record_of(*changed, 1)}}, *changed, {});
    while (found.step()) continue;
    const PropertyResult& sums = found.result(Property::heads);
    CHECK(sums.broken == 1);
    CHECK(sums.worst.query == 2);
    CHECK(sums.worst.at == 3);
    CHECK(sums.worst.there == 0);
    double sum = 0;
    for (const double each : head_summands(**changed, 1, 2, 3)) sum += each;
    CHECK(sums.worst.here == sum);
    CHECK(found.result(Property::bits).holds());
}
