// Tests lens Sources: terms that add up to the score, contrasts, opened heads and what decides.
#include "lenses/sources/sources.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "subjects/worked/commands.hpp"
#include "support/small_families.hpp"
#include "support/translator.hpp"
#include "unit/app/support.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

sources::Model& model_in(const Screen& screen) {
    return static_cast<ModelLens<sources::Model>&>(screen.visit.lens()).model();
}

void show(Screen& screen, const sources::State& state = {}) {
    show_lens(screen, "sources", Set<sources::State>{state});
}

// Explains some terms, which are those of the matrix, and checks the sums.
void check_terms(const Screen& screen) {
    const sources::Model& model = model_in(screen);
    REQUIRE(model.is_ready());
    const ScoreTerms& terms = *model.terms;
    const Index queries = terms.all(ScoreSide::query), keys = terms.all(ScoreSide::key);
    const std::pair<Index, Index> some[]{{0, 0},          {queries - 1, keys - 1}, {queries, 0}, {0, keys},
                                         {queries, keys}, {queries + 1, keys},     {0, keys + 1}};
    for (const auto& [s, t] : some)
        CHECK(check_told(screen, sources::cells::term(s, t)).f64 ==
              Catch::Approx(terms.term(s, t)).margin(1e-9));
    CHECK_FALSE(why(screen.visit, sources::cells::term(queries + 2, 0)));
    const double against = model.contrasts() ? model.of.against.score() : 0;
    CHECK(terms.total() == Catch::Approx(model.of.place.score() - against).margin(2e-4));
}

// Explains the parts of the opened source, and adds them up.
double opened_sum(const Screen& screen) {
    double sum = 0;
    for (Index part = 0; part < std::ssize(model_in(screen).opened->parts()); ++part)
        sum += check_told(screen, sources::cells::opened(part)).f64;
    return sum;
}

// Opens the strongest head of each side, and each of its tokens: the parts add up at both levels.
void check_opened(Screen& screen, sources::Part part) {
    for (const ScoreSide side : {ScoreSide::query, ScoreSide::key}) {
        show(screen, {.part = part, .side = side});
        const sources::Model& model = model_in(screen);
        REQUIRE(model.contrasts());
        REQUIRE(model.path.size() == 1);
        CHECK(model.opened->whole() ==
              Catch::Approx(model.terms->total(side, model.taken_out())).margin(1e-9));
        CHECK(opened_sum(screen) == Catch::Approx(model.opened->whole()).margin(1e-5));
        const std::vector<OpenedHead> head = model.path;
        const auto parts = model.opened->parts();
        for (const OpenedTerm::Part& each : parts) {
            if (each.source.token < 0) continue;
            const double value = model.opened->value(each);
            sources::State next = model.of.state;
            next.path = head;
            next.path->back().token = each.source.token;
            show(screen, next);
            CHECK(model.path == *next.path);
            CHECK(opened_sum(screen) == Catch::Approx(value).margin(1e-5));
            show(screen, {.part = part, .side = side});
        }
    }
}

}  // namespace

TEST_CASE("the terms of a score explain themselves and add up to it, in every family") {
    for (const SmallFamily& family : small_families) {
        CAPTURE(family.name);
        Screen screen;
        open_model(screen, family);
        screen.visit.perform(Select{{.layer = 1, .head = 1, .query = 4, .key = {}}});
        show(screen);
        check_terms(screen);
        for (const Index norms : {0, 1, 2})
            for (const Index number : {0, 1}) check_told(screen, sources::cells::without(norms, number));
        for (const char* shown :
             {"sources/strongest/0", "sources/error", "sources/opened/0", "sources/way/close"})
            CHECK(screen.shows(shown));
        CHECK_FALSE(table_of(screen, "What the scaled score").row_labels.empty());
        CHECK_FALSE(table_of(screen, "Without head").row_labels.empty());
    }
}

TEST_CASE("every attention of an encoder–decoder has its sources, and cross-attention those of both texts") {
    for (const SmallFamily& family : small_encoder_decoders) {
        CAPTURE(family.name);
        Screen screen;
        open_encoder_decoder(screen.visit, family, {3, 1, 4, 1, 5, 9}, {3, 1, 4, 1, 5});
        const Index layers = subject_in(screen.visit).attention()->layers();
        for (Index layer = 0; layer < layers; ++layer) {
            CAPTURE(layer);
            screen.visit.perform(Select{{.layer = layer, .head = 1, .query = 3, .key = {}}});
            for (const ScoreSide side : {ScoreSide::query, ScoreSide::key}) {
                show(screen, {.side = side});
                check_terms(screen);
                const sources::Model& model = model_in(screen);
                if (model.path.empty()) continue;
                // Down to a token and into a head of its stream, as far as there is one.
                sources::State next = model.of.state;
                next.path = model.path;
                next.path->back().token = model.opened->parts().front().source.token;
                show(screen, next);
                check_told(screen, sources::cells::opened(0));
                const auto head =
                    std::ranges::find(model.opened->parts(), SourcePart::head,
                                      [](const OpenedTerm::Part& part) { return part.source.part; });
                if (head == model.opened->parts().end()) continue;
                next.path->push_back({head->source.number, head->source.head, {}});
                show(screen, next);
                CHECK(model.path == *next.path);
                check_told(screen, sources::cells::opened(0));
            }
        }
    }
}

TEST_CASE("an opened head is the sum of its tokens in lens Sources, and a token that of its own sources") {
    Screen screen({1440, 2400});
    open_family(screen, "llama");
    screen.visit.perform(Select{{.layer = 1, .head = 0, .query = 5, .key = 2}});
    for (const ScoreSide side : {ScoreSide::query, ScoreSide::key})
        for (const std::optional<Index> with : {std::optional<Index>(), std::optional<Index>(0)}) {
            CAPTURE(static_cast<int>(side), with.has_value());
            show(screen, {.side = side});
            const sources::Model& model = model_in(screen);
            REQUIRE(model.path.size() == 1);
            show(screen, {.side = side, .path = model.path, .with = with});
            CHECK(opened_sum(screen) == Catch::Approx(model.opened->whole()).margin(1e-5));
            const double token = model.opened->value(model.opened->parts().front());
            sources::State next = model.of.state;
            next.path->back().token = model.opened->parts().front().source.token;
            show(screen, next);
            CHECK(opened_sum(screen) == Catch::Approx(token).margin(1e-5));
            CHECK(screen.visit.state().of<sources::State>() == next);
        }
    // A click opens a token, the way leads back, and Close closes.
    show(screen);
    screen.click("sources/opened/0");
    screen.settle();
    CHECK(model_in(screen).path.back().token);
    CHECK(screen.shows("sources/way/1"));
    screen.click("sources/way/0");
    screen.settle();
    CHECK_FALSE(model_in(screen).path.back().token);
    screen.click("sources/way/close");
    screen.settle();
    CHECK(model_in(screen).path.empty());
    CHECK_FALSE(screen.shows("sources/opened/0"));
    screen.visit.undo();
    screen.settle();
    CHECK(screen.shows("sources/opened/0"));
    // A click on a term opens the head in it, with the other side's source, also while another one is open.
    for (const sources::State& from : {sources::State{.path = std::vector<OpenedHead>{}}, sources::State{}}) {
        show(screen, from);
        const ScoreTerms& terms = *model_in(screen).terms;
        const auto bar = std::ranges::find_if(terms.listed(), [&](const ScoreTerms::Term& each) {
            const auto query = static_cast<std::size_t>(each.query);
            return terms.sources(ScoreSide::query)[query].part == SourcePart::head;
        });
        REQUIRE(bar != terms.listed().end());
        const Index with = bar->key;
        // What was pressed last may have been kept in its place as the lens became shorter.
        const std::string name = "sources/strongest/" + std::to_string(bar - terms.listed().begin());
        reveal(screen, name);
        screen.click(name);
        screen.settle();
        CHECK(model_in(screen).of.state.with == with);
        CHECK(model_in(screen).path.size() == 1);
    }
}

TEST_CASE("Sources contrasts two keys, two texts, and a changed run with the one before") {
    Screen screen;
    open_family(screen, "gpt2");
    screen.visit.perform(Select{{.layer = 1, .head = 1, .query = 5, .key = 3}});
    show(screen, {.part = sources::Part::key, .against = 1});
    CHECK(model_in(screen).of.against.key == 1);
    check_terms(screen);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring(" prefers "));
    check_opened(screen, sources::Part::key);

    show(screen, {.part = sources::Part::text});
    CHECK(screen.shows("sources/step"));
    screen.visit.perform(Together{{Compare{Comparison{.text = "other words"}}, OpenLens{"sources"}}});
    screen.visit.tokens({Box::second, "other words", {1, 2, 3, 4, 0, 2}, {"a", "b", "c", "d", "e", "f"}, 6});
    screen.settle();
    REQUIRE(model_in(screen).contrasts());
    CHECK(model_in(screen).of.against.trace != model_in(screen).of.place.trace);
    check_terms(screen);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("in the other text."));
    check_opened(screen, sources::Part::text);

    show(screen, {.part = sources::Part::change});
    CHECK_FALSE(model_in(screen).contrasts());
    screen.click("sources/step");
    screen.settle();
    REQUIRE(model_in(screen).contrasts());
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("After the change, "));
    check_terms(screen);
    check_opened(screen, sources::Part::change);
}

TEST_CASE("taking a head out in lens Sources keeps the query and the key") {
    Screen screen;
    open_family(screen, "gpt2");
    screen.visit.perform(Select{{.layer = 1, .head = 1, .query = 5, .key = {}}});
    show(screen);
    const ScorePlace before = model_in(screen).of.place;
    screen.click("sources/try/out");
    screen.settle();
    const ScorePlace& now = model_in(screen).of.place;
    CHECK(now.trace != before.trace);
    CHECK(std::pair(now.query, now.key) == std::pair(before.query, before.key));
    CHECK(model_in(screen).contrasts());
    // The chip of the change pushes the button down, and the headline stays in view.
    CHECK(screen.shows("changed/0"));
    CHECK(rect("spoken").top >= rect("panel/lens").top);
}

TEST_CASE("Sources takes out the source whose total is clicked, all biases together too") {
    Screen screen;
    open_family(screen, "gpt2");
    screen.visit.perform(Select{{.layer = 1, .head = 1, .query = 5, .key = 3}});
    for (const ScoreSide side : {ScoreSide::query, ScoreSide::key}) {
        show(screen);
        const ScoreTerms& terms = *model_in(screen).terms;
        const Index biases = terms.all(side) - 1;
        REQUIRE(terms.sources(side)[static_cast<std::size_t>(biases)].is_bias());
        show(screen, {.side = side, .path = std::vector<OpenedHead>{}, .out = biases});
        const sources::Model& model = model_in(screen);
        CHECK(model.taken_out() == biases);
        CHECK(model.without->source == biases);
        CHECK(model.without->score(1) == Catch::Approx(terms.total() - terms.total(side, biases)));
        for (const Index norms : {0, 1, 2})
            for (const Index number : {0, 1}) check_told(screen, sources::cells::without(norms, number));
        CHECK_FALSE(table_of(screen, "Without biases").row_labels.empty());
        CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());
    }
}

TEST_CASE("removing a source by an intervention gives the score that Sources predicts with live norms") {
    Screen screen;
    open_family(screen, "gptj");  // its MLPs do not read what the heads of their block write
    screen.visit.perform(Select{{.layer = 1, .head = 1, .query = 5, .key = 3}});
    show(screen);
    const OpenedHead head = model_in(screen).path.front();
    const double predicted = model_in(screen).without->score(2), before = model_in(screen).of.place.score();
    CHECK_FALSE(subject_in(screen.visit).text_model()->unchanged());
    // At the query alone, so the keys stay as they are.
    screen.visit.perform(
        ChangeRun{{.at = {.site = Site::head_output, .attention = head.number, .head = head.head, .row = 5},
                   .operation = Operation::zero}});
    screen.settle();
    CHECK(subject_in(screen.visit).text_model()->unchanged());
    const ScorePlace& now = model_in(screen).of.place;
    CHECK(now.score() == Catch::Approx(predicted).margin(1e-5));
    CHECK(std::abs(before - predicted) > 1e-3);
}

TEST_CASE("Sources says what decides a row, and what decides over many texts") {
    Screen screen;
    open_family(screen, "gpt2");
    screen.visit.perform(Select{{.layer = 1, .head = 1, .query = 5, .key = {}}});
    show(screen, {.part = sources::Part::row});
    const sources::Model& model = model_in(screen);
    REQUIRE(model.row->done());
    double shares = 0;
    const Index count = std::ssize(model.row->deciding());
    for (Index rank = 0; rank < count; ++rank)
        shares += check_told(screen, sources::cells::deciding(rank)).f64;
    CHECK(shares == Catch::Approx(1));
    for (Index key = 0; key < 6; ++key) {
        double sum = 0;
        for (Index rank = 0; rank < count; ++rank)
            sum += check_told(screen, sources::cells::added(rank, key)).f64;
        CHECK(sum == Catch::Approx(check_told(screen, sources::cells::added(count, key)).f64).margin(1e-6));
    }
    CHECK_FALSE(why(screen.visit, sources::cells::added(count + 1, 0)));
    CHECK_FALSE(why(screen.visit, sources::cells::deciding(count)));
    CHECK(screen.shows("sources/deciding/0"));
    CHECK(table_of(screen, "What each source adds").values.rows > 0);

    screen.visit.perform(SetCorpus{{.own = "apple bear cat\ndog egg fig goat hat\nink jar"}});
    show(screen, {.part = sources::Part::texts});
    REQUIRE(model.texts);
    REQUIRE(model.texts->done());
    double means = 0;
    for (Index rank = 0; rank < std::ssize(model.texts->means()); ++rank)
        means += check_told(screen, sources::cells::texts(rank)).f64;
    CHECK(means == Catch::Approx(1));
    CHECK(screen.shows("sources/texts/0"));
    CHECK_THAT(spoken(screen.visit), ContainsSubstring(" in 3 texts, in the mean."));
}

TEST_CASE("links of lens Sources open as they are written, and refuse what is no path") {
    Screen screen;
    open_family(screen, "gpt2");
    show(screen, {.part = sources::Part::key,
                  .against = 2,
                  .side = ScoreSide::key,
                  .path = {{{0, 1, 2}, {0, 0, {}}}},
                  .with = 3});
    const std::string link = to_fragment(screen.visit.state());
    CHECK_THAT(link, ContainsSubstring("sources.open=key,0.1.2-0.0,3"));
    CHECK(parse_fragment(link).state == screen.visit.state());
    show(screen, {.path = std::vector<OpenedHead>{}});
    CHECK_THAT(to_fragment(screen.visit.state()), ContainsSubstring("sources.open=query,none"));
    State state = default_state();
    const LinkRows rows = sources::links();
    const auto row = std::ranges::find(rows.rows, std::string_view("sources.open"), &LinkRow::key);
    REQUIRE(row != rows.rows.end());
    for (const char* wrong : {"query,1", "query,1.", "query,a.b", "query,1.2-1.0", "query,1.2.x",
                              "query,-1.0", "query,1.2.3-", "query,1.2.3.4", "side", "query,1.2,x"}) {
        CAPTURE(wrong);
        CHECK_FALSE(row->read(state, wrong));
    }
    // A path that is not there opens nothing.
    show(screen, {.path = {{{0, 77, {}}}}});
    CHECK(model_in(screen).path.empty());
}

TEST_CASE("Sources needs a model, and names what it lacks") {
    Screen screen;
    screen.visit.perform(OpenSubject{worked_subject});
    screen.visit.perform(OpenLens{"sources"});
    screen.settle();
    CHECK(screen.shows("missing"));
    screen.open_sentence();
    show(screen);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring(", led by "));
    // The first query sees itself alone.
    screen.visit.perform(Select{{.layer = 1, .head = 0, .query = 0, .key = 0}});
    show(screen, {.part = sources::Part::key});
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("sees one key only"));
    CHECK(screen.shows("sources/lacking"));
    screen.train_some();
    show(screen);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring(", led by "));
    show(screen, {.part = sources::Part::texts});
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("no other texts"));
}
