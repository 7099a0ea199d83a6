// Tests maps by sentences and by spans with names, and means over heads: their explanations, links and files.
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "app/table.hpp"
#include "lenses/lens.hpp"
#include "parts/saving.hpp"
#include "runs/merged_heads.hpp"
#include "subjects/reading.hpp"
#include "unit/app/saved_heads.hpp"
#include "unit/app/support.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::parts;
using namespace attn::test;

namespace {

const std::vector<std::string> unit_tokens{"It", "Ġrains", ".", "ĠWe", "Ġst", "ay", "Ġin", "."};
const std::vector<TokenSpan> two_spans{{{0, 2}, "weather"}, {{4, 6}, "stay"}};

struct UnitVisit {
    FakePage page;
    Visit visit{page};
    UnitVisit() {
        load_tiny_model(visit);
        visit.perform(OpenSubject{sentence_subject});
        read("x y", {3, 1, 4, 1, 5, 9, 2, 6}, unit_tokens);
    }
    void read(const std::string& text, std::vector<std::int32_t> ids, std::vector<std::string> pieces) {
        const Index count = std::ssize(ids);
        visit.text_typed(Box::first, text);
        visit.tokens({Box::first, text, std::move(ids), std::move(pieces), count});
        finish(visit);
        REQUIRE(sentence_in(visit).run());
    }
    TextRun& run() const { return *sentence_in(visit).run(); }
    const std::vector<TokenSpan>& spans() const { return looks_of(visit.state()).map.spans; }
    double weight(HeadIndex head, Range queries, Range keys) const {
        double sum = 0;
        for (Index q = queries.begin; q < queries.end; ++q) {
            const auto row = run().record_at(head.layer).weights(head.head, q);
            for (Index k = keys.begin; k < keys.end; ++k)
                sum += static_cast<double>(row[static_cast<std::size_t>(k)]);
        }
        return sum / static_cast<double>(queries.size());
    }
};

}  // namespace

TEST_CASE("a cell between sentences or spans is made of its tokens' weights") {
    UnitVisit v;
    v.visit.perform(SetSpans{two_spans});
    v.visit.perform(SetMap{{.unit = Unit::spans}});
    v.visit.perform(Select{{1, 2, {}, {}}});
    const std::vector<Range> sentences{{0, 3}, {3, 8}}, spans{{0, 2}, {2, 3}, {3, 4}, {4, 6}, {6, 7}, {7, 8}};
    for (const auto& [unit, groups] :
         {std::pair(Unit::sentences, sentences), std::pair(Unit::spans, spans)}) {
        MapChoice choice{.unit = unit, .spans = two_spans};
        const MapPointer map = v.run().map(1, 2, choice);
        REQUIRE(map->queries() == std::ssize(groups));
        for (Index i = 0; i < std::ssize(groups); ++i)
            for (Index j = 0; j <= i; ++j) {
                const double expected = v.weight({1, 2}, groups[static_cast<std::size_t>(i)],
                                                 groups[static_cast<std::size_t>(j)]);
                const auto why = explained(v.visit, RunCell{Stage::weight, i, j, false, unit});
                REQUIRE(why);
                CAPTURE(i, j);
                // Rounded once to f32; weights in double are within 1e-6 of those in f32.
                CHECK(std::abs(static_cast<double>(map->cell(i, j)) - expected) <= 6e-8);
                CHECK(std::abs(why->f32 - expected) <= 6e-8);
                CHECK(std::abs(why->f64 - expected) <= 1e-6);
            }
    }
    CHECK(explained(v.visit, RunCell{Stage::weight, 3, 0, false, Unit::spans})->title ==
          "Weights[\"stay\", \"weather\"]");
    CHECK_FALSE(explained(v.visit, RunCell{Stage::weight, 6, 0, false, Unit::spans}));
    const auto sum = explained(v.visit, MapSum{MapTotal::row_total, 3, Stage::weight, false, Unit::spans});
    REQUIRE(sum);
    CHECK(std::abs(sum->f64 - 1) <= 1e-6);
}

TEST_CASE("a mean over heads is explained by the heads it is taken over") {
    UnitVisit v;
    v.visit.perform(Select{{1, 2, {}, {}}});
    for (const Unit unit : {Unit::tokens, Unit::words})
        for (const HeadMean mean : {HeadMean::layer, HeadMean::all}) {
            const MapChoice choice{.unit = unit, .mean = mean};
            const auto heads = v.run().meant(mean, {1, 2});
            CHECK(std::ssize(heads) == (mean == HeadMean::all ? 6 : 3));
            const MapPointer map = v.run().map(1, 2, choice);
            const RunCell cell{Stage::weight, 3, 1, false, unit, Sink::shown, mean};
            const auto why = explained(v.visit, cell);
            REQUIRE(why);
            double expected = 0;
            for (const HeadIndex head : heads)
                expected += unit == Unit::tokens ? v.weight(head, {3, 4}, {1, 2})
                                                 : v.weight(head, v.run().words.of(3), v.run().words.of(1));
            expected /= static_cast<double>(heads.size());
            CHECK(std::abs(static_cast<double>(map->cell(3, 1)) - expected) <= 1e-7);
            CHECK(std::abs(why->f64 - expected) <= 1e-6);
            CHECK(why->operands.size() == heads.size());
            CHECK(why->operands.front().left_at);
            CHECK_THAT(why->provenance,
                       Catch::Matchers::StartsWith(mean == HeadMean::all ? "mean of all 6 heads"
                                                                         : "mean of the 3 heads of layer 1"));
        }
    // Scores of several heads have no mean.
    CHECK(v.run().mean_of({.stage = Stage::scaled, .mean = HeadMean::all}) == HeadMean::one);
    CHECK(refusal(v.visit.state(),
                  Pin{RunCell{Stage::raw, 0, 0, false, Unit::tokens, Sink::shown, HeadMean::layer}}) != "");
    v.visit.perform(SetMap{{.unit = Unit::words, .mean = HeadMean::layer}});
    CHECK(table_in(v.visit).title == "Weights between words of tiny, mean of the 3 heads of layer 1");
}

TEST_CASE("units, spans and means are in the link") {
    State s = after(default_state(), OpenSubject{sentence_subject});
    s = after(s, SetSpans{{{{4, 6}, "verb, or so"}, {{0, 2}, "1.5"}, {{0, 3}, "target", 1}}});
    s = after(s, SetMap{{.unit = Unit::spans, .mean = HeadMean::all}});
    s = after(s, Pin{RunCell{Stage::weight, 1, 0, false, Unit::spans, Sink::hidden, HeadMean::all}});
    const auto parsed = parse_fragment(to_fragment(s));
    CHECK(parsed.note.empty());
    CHECK(parsed.state == s);
    CHECK(looks_of(s).map.spans.front().name == "1.5");
    CHECK_THAT(to_fragment(s), Catch::Matchers::ContainsSubstring("map=weight,spans,all_mean"));
    CHECK_THAT(to_fragment(s), Catch::Matchers::ContainsSubstring("pin=weight.1.0.spans.nosink.all_mean"));
}

TEST_CASE("spans have names and do not overlap") {
    const State s = after(default_state(), OpenSubject{sentence_subject});
    CHECK(refusal(s, SetSpans{{{{0, 2}, "a"}, {{1, 3}, "b"}}}) ==
          "Choose other tokens: some of these belong to the span “a”, and spans do not overlap.");
    CHECK(refusal(s, SetSpans{{{{0, 2}, ""}}}) == "Type a name for the span first.");
    CHECK(refusal(s, SetSpans{{{{2, 2}, "a"}}}) == "Choose tokens of the text to name; these are outside.");
    CHECK(refusal(s, SetSpans{{{{0, 2}, std::string(41, 'a')}}}) ==
          "Choose a shorter name: a span's has at most 40 characters.");
    CHECK(after(s, SetSpans{{{{0, 2}, "a"}, {{0, 2}, "b", 1}}}).subject == sentence_subject);
}

TEST_CASE("spans stay as far as the text does, and come back with it") {
    UnitVisit v;
    v.visit.perform(SetSpans{two_spans});
    v.read("x y z", {3, 1, 4, 1, 5, 9, 2, 6, 7}, [] {
        auto more = unit_tokens;
        more.push_back("ĠNo");
        return more;
    }());
    CHECK(v.spans().size() == 2);
    v.read("x z", {3, 1, 4}, {"It", "Ġrains", "Ġnot"});
    REQUIRE(v.spans().size() == 1);
    CHECK(v.spans().front().name == "weather");
    v.read("z", {4}, {"No"});
    CHECK(v.spans().empty());
}

TEST_CASE("saved files name spans") {
    UnitVisit v;
    v.visit.save(Saving::all_heads(all_heads(v.run(), {.unit = Unit::spans, .spans = two_spans})));
    while (v.visit.work(1000)) {
    }
    const SavedHeads archive = read_saved_heads(v.page.downloaded_bytes);
    CHECK(archive.shape == Shape{2, 3, 6, 6});
    CHECK(archive.about["spans"].at(0) == "weather");
    CHECK(archive.about["tokens of a span"] == std::vector<int>{2, 1, 1, 2, 1, 1});
}

TEST_CASE("heads have scores by units, and means have their own") {
    UnitVisit v;
    v.visit.perform(SetSpans{two_spans});
    TextRun& run = v.run();
    for (const Unit unit : {Unit::tokens, Unit::words, Unit::spans}) {
        const MapChoice choice{.unit = unit, .spans = two_spans};
        const auto by_unit = run.merged_heads().by_unit(run, choice),
                   means = run.merged_heads().means(run, choice);
        CHECK((by_unit == nullptr) == (unit == Unit::tokens));
        REQUIRE(means);
        CHECK(means->layers() == 3);  // two layers, and both
        while (means->step_maps() || means->step_scores()) continue;
        for (Index number = 0; number < 3; ++number) {
            const auto [mean, layer] = mean_at(run, number);
            CHECK(mean == (number < 2 ? HeadMean::layer : HeadMean::all));
            CHECK(number_of_mean(run, mean, layer) == number);
            MapChoice shown = choice;
            shown.mean = mean;
            const MapPointer map = run.shown_maps(shown)(layer, 0);
            double entropy = 0, previous = 0, sum = 0;
            for (Index q = 0; q < map->queries(); ++q)
                for (Index k = 0; k <= q; ++k) {
                    const double weight = static_cast<double>(map->cell(q, k));
                    entropy -= weight > 0 ? weight * std::log(weight) : 0;
                    previous += k == q - 1 ? weight : 0;
                    sum += weight;
                }
            entropy /= static_cast<double>(map->queries());
            const auto& scores = means->scores({number, 0});
            REQUIRE(scores);
            // Cells are f32, at most 8 a row.
            CHECK(std::abs(scores->entropy - entropy) < 1e-6);
            CHECK(std::abs(scores->previous_token - previous / sum) < 1e-6);
            const RunCell cell{.stage = Stage::head_score,
                               .row = number,
                               .col = static_cast<Index>(HeadScore::entropy),
                               .unit = unit,
                               .mean = HeadMean::layer};
            const auto why = explained(v.visit, cell);
            REQUIRE(why);
            CHECK(std::abs(why->f64 - entropy) < 1e-12);
            CHECK(std::abs(why->f64 - why->f32) < 1e-6);
            CHECK(may_pin(v.visit.state(), cell));
        }
    }
    const MapChoice words{.unit = Unit::words};
    const auto heads = run.merged_heads().by_unit(run, words);
    CHECK(heads == run.merged_heads().by_unit(run, words));
    while (heads->step_maps() || heads->step_scores()) continue;
    const auto why = explained(v.visit, RunCell{.stage = Stage::head_score,
                                                .row = 4,
                                                .col = static_cast<Index>(HeadScore::previous_token),
                                                .unit = Unit::words});
    REQUIRE(why);
    CHECK(why->title == "previous token by words, layer 1, head 1");
    CHECK(std::abs(why->f64 - heads->scores({1, 1})->previous_token) < 1e-6);
}

TEST_CASE("the headline is about the units and the heads that the map shows") {
    UnitVisit v;
    v.visit.perform(SetSpans{two_spans});
    v.visit.perform(Select{{1, 2, 5, {}}});
    const MapChoice spans{.unit = Unit::spans, .mean = HeadMean::layer, .spans = two_spans};
    const auto reading = read_row(v.run(), 1, 2, 5, spans);
    REQUIRE(reading);
    CHECK(reading->asks == "Reading “stay”");
    double most = 0;
    for (const Range keys : {Range{0, 2}, Range{2, 3}, Range{3, 4}, Range{4, 6}}) {
        double share = 0;
        for (Index head = 0; head < 3; ++head) share += v.weight({1, head}, {4, 6}, keys) / 3;
        most = std::max(most, share);
    }
    CHECK(std::abs(reading->looks.front().share - most) < 1e-6);
    v.visit.perform(SetMap{spans});
    CHECK_THAT(lens_in(v.visit).spoken(subject_in(v.visit)),
               Catch::Matchers::StartsWith("Reading “stay”, the mean of the 3 heads of layer 1 "));
    v.visit.perform(SetMap{{.stage = Stage::scaled, .unit = Unit::spans, .mean = HeadMean::layer}});
    CHECK_THAT(lens_in(v.visit).spoken(subject_in(v.visit)),
               Catch::Matchers::ContainsSubstring(", this head "));
}
