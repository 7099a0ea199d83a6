#include "analysis/heads/head_examples.hpp"

#include <algorithm>
#include <cmath>

#include "model/explain.hpp"
#include "support/small_families.hpp"
#include "support/this_build.hpp"

using namespace attn;
using namespace attn::test;

namespace {

const std::vector<std::vector<std::int32_t>> example_texts{
    {3, 1, 4, 1, 5, 9, 2, 6}, {5, 3}, {5, 8, 9, 7, 9, 3, 2, 3, 8, 4}, {6}};

std::vector<std::shared_ptr<const Trace>> runs_of(const SmallFamily& family) {
    const auto model = small_model(family);
    std::vector<std::shared_ptr<const Trace>> all;
    for (const auto& ids : example_texts) all.push_back(*run_text(model, ids));
    return all;
}

HeadExamples examples_of(const std::vector<std::shared_ptr<const Trace>>& runs, std::uint64_t seed = 1) {
    HeadExamples examples(seed);
    for (std::size_t text = 0; text < runs.size(); ++text) {
        examples.begin(runs[text], static_cast<Index>(text));
        while (examples.step()) continue;
    }
    return examples;
}

// ‖v W_O‖ of a key, in double.
double length_written(const LayerAttention& at, Index head, Index key) {
    const Record& record = at.record();
    const float* v = record.v().heads().head(record.kv_head(head)).row(key);
    const WeightView& w_o = at.half.attention_out.weight;
    double squares = 0;
    for (Index out = 0; out < w_o.out; ++out) {
        double sum = 0;
        for (Index b = 0; b < record.d_v(); ++b)
            sum += static_cast<double>(v[b]) * element(w_o, head * record.d_v() + b, out);
        squares += sum * sum;
    }
    return std::sqrt(squares);
}

}  // namespace

TEST_CASE("the examples of a head are all pairs that its queries see", "[unit][analysis]") {
    for (const SmallFamily& family : small_families) {
        CAPTURE(family.name);
        const auto runs = runs_of(family);
        const HeadExamples examples = examples_of(runs);
        for (Index number = 0; number < examples.attentions(); ++number)
            for (Index head = 0; head < examples.heads(); ++head) {
                CAPTURE(number, head);
                const auto all = examples.sample({number, head});
                REQUIRE(std::ssize(all) == examples.pairs({number, head}));
                std::int64_t visible = 0;
                for (const auto& run : runs) {
                    const Record& record = run->attention(number).record();
                    for (Index query = 0; query < record.queries(); ++query) {
                        std::int64_t seen = 0;
                        for (Index key = 0; key < record.keys(); ++key)
                            seen += record.spec().mask.allows(head, query, key);
                        if (seen > 1) visible += seen;
                    }
                }
                CHECK(examples.pairs({number, head}) == visible);
                double effects = 0;
                for (const HeadExample& each : all) {
                    const LayerAttention at = runs[static_cast<std::size_t>(each.text)]->attention(number);
                    const float weight = at.record().cell(Stage::weight, head, each.query, each.key);
                    // A weight is within a few roundings of that of its row.
                    CHECK(std::abs(each.value(ExampleMeasure::weight) - weight) < 1e-6f);
                    // A length is a sum of 16 squares of sums of at most 16 products in f32.
                    CHECK(static_cast<double>(each.value(ExampleMeasure::written)) ==
                          Catch::Approx(static_cast<double>(weight) * length_written(at, head, each.key))
                              .epsilon(1e-5)
                              .margin(1e-6));
                    effects += static_cast<double>(each.value(ExampleMeasure::effect));
                }
                // What the head adds to all targets, by its keys and as a whole.
                double shares = 0, size = 1;
                for (const auto& run : runs)
                    for (Index row = 0; row < run->tokens(); ++row) {
                        const std::vector<float> weights = run->attention(number).record().weights(head, row);
                        if (std::ranges::count_if(weights, [](float w) { return w != 0; }) < 2) continue;
                        auto direct = *DirectAttribution::start(run, row, example_target(*run, row));
                        while (direct.step()) continue;
                        for (const LogitShare& share : direct.shares())
                            if (share.part == LogitPart::head && share.number == number && share.head == head)
                                shares += share.value, size += std::abs(share.value);
                    }
                CHECK(std::abs(effects - shares) < 1e-5 * size);
            }
    }
}

TEST_CASE("the strongest examples are those of a sorted list, one of each text", "[unit][analysis]") {
    const auto runs = runs_of(small_families.front());
    const HeadExamples examples = examples_of(runs);
    for (const ExampleMeasure measure :
         {ExampleMeasure::weight, ExampleMeasure::written, ExampleMeasure::effect}) {
        const HeadIndex head{1, 1};
        const auto strongest = examples.strongest(head, measure);
        REQUIRE(strongest.size() == runs.size() - 1);  // one text has a single token
        for (std::size_t i = 0; i < strongest.size(); ++i) {
            if (i > 0) CHECK(strongest[i].value(measure) <= strongest[i - 1].value(measure));
            for (const HeadExample& each : examples.sample(head))
                if (each.text == strongest[i].text) CHECK(each.value(measure) <= strongest[i].value(measure));
        }
        const auto all = examples.sample(head);
        const auto low = examples.at_share(head, measure, 0), high = examples.at_share(head, measure, 1),
                   middle = examples.at_share(head, measure, 0.5);
        REQUIRE((low && high && middle));
        const auto count_below = std::ranges::count_if(
            all, [&](const HeadExample& each) { return each.value(measure) < middle->value(measure); });
        CHECK(count_below <= (std::ssize(all) - 1) / 2);
        for (const HeadExample& each : all) {
            CHECK(each.value(measure) >= low->value(measure));
            CHECK(each.value(measure) <= high->value(measure));
        }
    }
}

TEST_CASE("the sample of a head is drawn evenly from all texts", "[unit][analysis]") {
    const auto model = small_model(small_families.front());
    const auto run = *run_text(model, std::vector<std::int32_t>(16, 3));
    HeadExamples examples(7);
    constexpr Index texts = 60;  // each has 135 pairs
    for (Index text = 0; text < texts; ++text) {
        examples.begin(run, text);
        while (examples.step()) continue;
    }
    CHECK(examples.pairs({0, 0}) == texts * 135);
    const auto sample = examples.sample({0, 0});
    REQUIRE(sample.size() == HeadExamples::sampled);
    // 2,000 draws, half of which fall into either half: five deviations of √(2000 / 4 · 0.755) are 97.
    const auto first = std::ranges::count_if(sample, [](const HeadExample& e) { return e.text < texts / 2; });
    CHECK(std::abs(static_cast<double>(first) - 1000) < 97);
    CHECK(examples.strongest({0, 0}, ExampleMeasure::weight).size() == HeadExamples::strongest_kept);
}
