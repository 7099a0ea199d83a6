// What the page is told, and what links do to a run that is there.
#include "app/session.hpp"

#include "app/explained.hpp"
#include "app/twins.hpp"
#include "app/url.hpp"
#include "unit/app/support.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using enum MatrixId;

TEST_CASE("what is done is in the address, in the history and in the run") {
    FakePage page;
    Session session(page);
    session.perform(SetCell{{x, 0, 1}, 0.7});
    CHECK(page.url == to_fragment(session.state()));
    CHECK(page.can_undo);
    CHECK(session.last_edit() == "X[cat, 1] 0.5 → 0.7");
    CHECK(session.worked().value(session.state().worked, {raw, 0, 1}) == Catch::Approx(1.27));
    REQUIRE(session.worked_before());
    CHECK(session.worked_before()->value(session.state_before().worked, {raw, 0, 1}) == Catch::Approx(1.09));
    session.undo();
    CHECK(page.url == "");
    CHECK(page.can_redo);
    CHECK(session.worked().value(session.state().worked, {raw, 0, 1}) == Catch::Approx(1.09));
    session.perform(SetTemperature{1000});
    REQUIRE(page.notices.size() == 1);
    CHECK(page.notices[0] == "The temperature 1000 is outside 0.01 to 100.");
    CHECK(page.can_redo);
}

TEST_CASE("a broken link says so and the rest of it counts") {
    FakePage page;
    Session session(page);
    session.start("ex=three-tokens&T=banana");
    REQUIRE(page.notices.size() == 1);
    CHECK(page.notices[0].starts_with("The link's value 'banana' for 'T'"));
    CHECK(session.state().worked == preset_state(PresetId::three_tokens));
    CHECK_FALSE(page.can_undo);
    session.open_fragment("ex=causal-row");
    CHECK(page.can_undo);
}

TEST_CASE("whatever a link chooses, the run that is there has it") {
    FakePage page;
    Session session(page);
    load_tiny_model(session);
    session.tokens("abc", {1, 2, 3}, {"a", "b", "c"}, 3);
    finish(session);
    REQUIRE(session.sentence());
    for (const char* fragment :
         {"lens=sentence&layer=999999&head=999999&query=999999&key=999999&pin=weight.999999.0",
          "lens=sentence&layer=1&head=3&query=2&pin=weight.2.3",
          "lens=sentence&head=2&query=2&key=0&pin=output.2.999", "lens=worked&layer=500&query=2",
          "lens=sentence&pin=Q.1.1"}) {
        INFO(fragment);
        session.open_fragment(fragment);
        session.perform(OpenLens{LensId::sentence});
        const Selection& s = session.state().selection;
        CHECK(s.layer < 2);
        CHECK(s.head < 3);
        CHECK((!s.query || *s.query < 3));
        CHECK((!s.key || *s.key < 3));
        if (session.state().pin) (void)explain_cell(session, *session.state().pin);
        for (int i = 0; i < matrix_count; ++i) (void)explain_cell(session, {static_cast<MatrixId>(i), 2, 2});
    }
    // Back to the choices of a longer text.
    session.tokens("abcde", {1, 2, 3, 4, 5}, {"a", "b", "c", "d", "e"}, 5);
    finish(session);
    session.perform(Select{{1, 2, 4, 4}});
    session.perform(SetMap{{.stage = MapStage::scaled}});
    session.tokens("ab", {1, 2}, {"a", "b"}, 2);
    finish(session);
    session.undo();
    CHECK_FALSE(session.state().selection.query);
}

TEST_CASE("a link's choices outlive the loading of its model") {
    FakePage page;
    Session session(page);
    session.start("lens=sentence&layer=1&head=2&model=tiny&text=abc");
    load_tiny_model(session);
    CHECK(session.state().selection.layer == 1);
    session.tokens("abc", {1, 2, 3}, {"a", "b", "c"}, 3);
    finish(session);
    CHECK(session.state().selection.layer == 1);
    CHECK(session.state().selection.head == 2);
    const auto weight_cell = explain_cell(session, {weight, 2, 1});
    REQUIRE(weight_cell);
    CHECK(weight_cell->f32 == Catch::Approx(weight_cell->f64).epsilon(1e-5));
}

TEST_CASE("generation ends where the context does") {
    FakePage page;
    Session session(page);
    load_tiny_model(session);
    std::vector<std::int32_t> ids(17, 3);
    session.tokens("17", ids, std::vector<std::string>(17, "a"), 17);
    finish(session);
    session.play(true);
    session.work(10);
    REQUIRE(page.appended.size() == 1);
    ids.push_back(page.appended[0]);
    session.tokens("18", ids, std::vector<std::string>(18, "a"), 18);
    finish(session);
    CHECK_FALSE(session.work(10));
    CHECK_FALSE(session.playing());
    CHECK(page.appended.size() == 1);
    REQUIRE(page.notices.size() == 1);
    CHECK(page.notices[0] == "The context of 18 tokens is full.");
    // What goes beyond it is said, also where the tokens that are shown stay the same.
    session.tokens("19", ids, std::vector<std::string>(18, "a"), 19);
    REQUIRE(page.notices.size() == 2);
    CHECK(page.notices[1].starts_with("The text has 19 tokens; tiny reads 18"));
}

TEST_CASE("the inspector writes what a cell is made of") {
    FakePage page;
    Session session(page);
    const auto score = explain_cell(session, {raw, 1, 2});
    REQUIRE(score);
    CHECK(score->title == "Scores[sat, mat]");
    CHECK(score->f64 == Catch::Approx(0.55).epsilon(1e-15));
    CHECK(score->formula == "Σ_a Q[sat, a] · K[mat, a]");
    CHECK(score->operands.size() == 4);
    CHECK(score->note == "The tutorial prints 0.65; the exact value is 0.550000.");
    session.perform(SetCell{{x, 0, 0}, 2});
    CHECK(explain_cell(session, {raw, 1, 2})->note ==
          "The tutorial prints 0.65 for its own numbers; with your edits the exact value is 0.550000.");
    session.perform(Generate{1});
    CHECK(explain_cell(session, {raw, 1, 2})->note == "");
    CHECK_FALSE(explain_cell(session, {raw, 3, 0}));
    CHECK_FALSE(explain_cell(session, {x, 0, 0}));

    session.perform(OpenPreset{PresetId::causal_row});
    const auto hidden = explain_cell(session, {raw, 0, 3});
    REQUIRE(hidden);
    CHECK(hidden->masked);
    CHECK(hidden->provenance == "from example D");
    REQUIRE_FALSE(hidden->steps.empty());
    CHECK(hidden->steps.front().arithmetic == "given");
    CHECK(hidden->steps.back().arithmetic == "exactly 0: the mask forbids it");
}

TEST_CASE("a link trains to its step, and a command to the end") {
    FakePage page;
    Session session(page);
    session.start("train=induction,d:16,heads:2,vocabulary:16,context:16,batch:2,steps:9&step=4");
    while (session.work(5)) {
    }
    REQUIRE(session.training().shown());
    CHECK(session.training().shown_view(session.state().training)->step == 4);
    session.perform(RunTraining{true});
    CHECK(page.url.ends_with("&step=4&training=on"));
    CHECK_FALSE(page.can_undo);
    while (session.work(5)) {
    }
    CHECK(session.training().shown()->finished());
    CHECK(session.training().shown_view(session.state().training)->step == 4);
    CHECK(page.notices.empty());

    session.perform(SetTrainingPlan{training_preset("own-text")->plan});
    CHECK(page.can_undo);
    CHECK_FALSE(session.work(5));
    CHECK_FALSE(session.work(5));
    REQUIRE(page.notices.size() == 1);
    CHECK(page.notices[0] == "There is no text to train on yet: paste some.");
}

TEST_CASE("what is written in lens Training with a text of one's own is learned") {
    FakePage page;
    Session session(page);
    session.start("lens=training&train=own-text,layers:1,d:16,heads:2,context:8,batch:1,steps:2");
    std::string text;
    for (int i = 0; i < 30; ++i) text += "the cat sat on the mat and ";
    session.text_typed(text);
    CHECK(session.state().training.plan.text == text);
    CHECK(session.state().sentence.text.empty());
    CHECK(session.state().lens == LensId::training);
    session.perform(RunTraining{true});
    while (session.work(5)) {
    }
    REQUIRE(session.training().shown());
    CHECK(session.training().shown()->finished());
    CHECK(page.notices.empty());
}

TEST_CASE("a second sentence runs beside the first, and goes without a trace") {
    FakePage page;
    Session session(page);
    load_tiny_model(session);
    session.perform(OpenLens{LensId::sentence});
    session.text_typed("abc");
    session.tokens("abc", {1, 2, 3}, {"a", "b", "c"}, 3);
    finish(session);
    CHECK_FALSE(page.second);
    session.perform(Compare{Comparison{.text = "abd"}});
    CHECK(page.second == "abd");
    session.second_tokens("abd", {1, 2, 4}, {"a", "b", "d"}, 3);
    finish(session);
    REQUIRE(session.compared());
    CHECK(session.compared()->pieces == std::vector<std::string>{"a", "b", "d"});
    CHECK(session.sentence()->pieces == std::vector<std::string>{"a", "b", "c"});
    CHECK(parse_fragment(page.url).state == session.state());

    // A cell of either is explained from its own run.
    const auto first = explain_cell(session, {weight, 2, 1}),
               second = explain_cell(session, {weight, 2, 1, true});
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->title == "Weights[\"c\", \"b\"]");
    CHECK(second->title == "Weights[\"d\", \"b\"]");
    CHECK(first->f32 != second->f32);

    session.perform(Pin{CellRef{weight, 2, 1, true}});
    session.perform(Select{{0, 0, 2, {}, 1}});
    session.second_text_typed("ab");
    session.second_tokens("ab", {1, 2}, {"a", "b"}, 2);
    finish(session);
    CHECK_FALSE(session.state().pin);  // the second sentence has no third word any more
    CHECK(session.state().selection.counterpart == 1);
    session.perform(Compare{});
    CHECK_FALSE(page.second);
    CHECK_FALSE(session.compared());
    CHECK_FALSE(session.state().selection.counterpart);
    session.undo();
    CHECK(page.second == "ab");
    session.perform(OpenLens{LensId::worked});
    CHECK_FALSE(page.second);
}

TEST_CASE("a pair of sentences comes in one step, with its word chosen") {
    FakePage page;
    Session session(page);
    load_tiny_model(session);
    session.perform(OpenLens{LensId::sentence});
    const Pair& pair = pairs()[1];
    session.compare(pair);
    CHECK(session.state().sentence.text == pair.first);
    CHECK(page.second == pair.second);
    session.tokens(pair.first, {1, 2, 3}, {"the", " bank", "."}, 3);
    finish(session);
    CHECK(session.state().selection.query == 1);
    session.undo();
    CHECK(session.state().sentence.text.empty());
    CHECK_FALSE(page.second);
}
