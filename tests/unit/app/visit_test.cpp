// Tests what the page is told, and what links do to an existing run.
#include "app/visit.hpp"

#include "app/explained.hpp"
#include "app/link.hpp"
#include "lenses/softmax/softmax.hpp"
#include "subjects/sentence/twins.hpp"
#include "unit/app/support.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using enum Stage;

TEST_CASE("changes are in the address, in the history and in the run") {
    FakePage page;
    Visit visit(page);
    visit.perform(SetCell{{x, 0, 1}, 0.7});
    CHECK(page.url == to_fragment(visit.state()));
    CHECK(page.can_undo);
    CHECK(visit.last_edit() == "X[cat, 1] 0.5 → 0.7");
    CHECK(worked_in(visit).run().value(worked_of(visit.state()), {raw, 0, 1}) == Catch::Approx(1.27));
    REQUIRE(worked_in(visit).run_before());
    CHECK(worked_in(visit).run_before()->value(worked_of(visit.state_before()), {raw, 0, 1}) ==
          Catch::Approx(1.09));
    visit.undo();
    CHECK(page.url == "");
    CHECK(page.can_redo);
    CHECK(worked_in(visit).run().value(worked_of(visit.state()), {raw, 0, 1}) == Catch::Approx(1.09));
    visit.perform(SetTemperature{1000});
    REQUIRE(page.notices.size() == 1);
    CHECK(page.notices[0] == "The temperature 1000 is outside 0.01 to 100.");
    CHECK(page.can_redo);
}

TEST_CASE("a broken link says so, and the rest of it is used") {
    FakePage page;
    Visit visit(page);
    visit.start("ex=three-tokens&T=banana");
    REQUIRE(page.notices.size() == 1);
    CHECK(page.notices[0].starts_with("The link's value 'banana' for 'T'"));
    CHECK(worked_of(visit.state()) == preset_state(PresetId::three_tokens));
    CHECK_FALSE(page.can_undo);
    visit.open_fragment("ex=causal-row");
    CHECK(page.can_undo);
}

TEST_CASE("whatever a link selects, the existing run has it") {
    FakePage page;
    Visit visit(page);
    load_tiny_model(visit);
    visit.tokens({Box::first, "abc", {1, 2, 3}, {"a", "b", "c"}, 3});
    finish(visit);
    REQUIRE(sentence_in(visit).run());
    for (const char* fragment :
         {"lens=sentence&layer=999999&head=999999&query=999999&key=999999&pin=weight.999999.0",
          "lens=sentence&layer=1&head=3&query=2&pin=weight.2.3",
          "lens=sentence&head=2&query=2&key=0&pin=output.2.999", "lens=worked&layer=500&query=2",
          "lens=sentence&pin=Q.1.1"}) {
        INFO(fragment);
        visit.open_fragment(fragment);
        visit.perform(OpenSubject{sentence_subject});
        const Selection& s = visit.state().selection;
        CHECK(s.layer < 2);
        CHECK(s.head < 3);
        CHECK((!s.query || *s.query < 3));
        CHECK((!s.key || *s.key < 3));
        if (visit.state().pin) (void)explained(visit, *visit.state().pin);
        for (int i = 0; i < stage_count; ++i) (void)explained(visit, RunCell{static_cast<Stage>(i), 2, 2});
    }
    // The visit returns to the selection in a longer text.
    visit.tokens({Box::first, "abcde", {1, 2, 3, 4, 5}, {"a", "b", "c", "d", "e"}, 5});
    finish(visit);
    visit.perform(Select{{1, 2, 4, 4}});
    visit.perform(SetMap{{.stage = Stage::scaled}});
    visit.tokens({Box::first, "ab", {1, 2}, {"a", "b"}, 2});
    finish(visit);
    visit.undo();
    CHECK_FALSE(visit.state().selection.query);
}

TEST_CASE("a link's choices outlive the loading of its model") {
    FakePage page;
    Visit visit(page);
    visit.start("lens=sentence&layer=1&head=2&model=tiny&text=abc");
    load_tiny_model(visit);
    CHECK(visit.state().selection.layer == 1);
    visit.tokens({Box::first, "abc", {1, 2, 3}, {"a", "b", "c"}, 3});
    finish(visit);
    CHECK(visit.state().selection.layer == 1);
    CHECK(visit.state().selection.head == 2);
    const auto weight_cell = explained(visit, RunCell{weight, 2, 1});
    REQUIRE(weight_cell);
    CHECK(weight_cell->f32 == Catch::Approx(weight_cell->f64).epsilon(1e-5));
}

TEST_CASE("generation ends where the context does") {
    FakePage page;
    Visit visit(page);
    load_tiny_model(visit);
    std::vector<std::int32_t> ids(17, 3);
    visit.tokens({Box::first, "17", ids, std::vector<std::string>(17, "a"), 17});
    finish(visit);
    sentence_in(visit).play(true);
    visit.work(10);
    CHECK(page.appended.empty());  // not before the text is in the picture
    visit.begin_frame();
    visit.work(10);
    REQUIRE(page.appended.size() == 1);
    ids.push_back(page.appended[0]);
    visit.tokens({Box::first, "18", ids, std::vector<std::string>(18, "a"), 18});
    finish(visit);
    visit.begin_frame();
    CHECK_FALSE(visit.work(10));
    CHECK_FALSE(sentence_in(visit).playing());
    CHECK(page.appended.size() == 1);
    REQUIRE(page.notices.size() == 1);
    CHECK(page.notices[0] == "The context of 18 tokens is full: shorten the text to go on.");
    // A text longer than the context is reported, even if the tokens shown stay the same.
    visit.tokens({Box::first, "19", ids, std::vector<std::string>(18, "a"), 19});
    REQUIRE(page.notices.size() == 2);
    CHECK(page.notices[1].starts_with("The text has 19 tokens; tiny reads 18"));
}

namespace {

// Waits for a token, and answers as the page does, with the whole text.
void await_token(Visit& visit, FakePage& page, std::string& text, std::vector<std::int32_t>& ids,
                 std::vector<std::string>& names) {
    const std::size_t before = page.appended.size();
    visit.begin_frame();
    for (int i = 0; i < 100 && page.appended.size() == before; ++i) visit.work(5);
    REQUIRE(page.appended.size() == before + 1);
    ids.push_back(page.appended.back());
    names.push_back(" t" + std::to_string(ids.back()));
    text += names.back();
    visit.tokens({Box::first, text, ids, names, std::ssize(ids)});
    finish(visit);
}

}  // namespace

TEST_CASE("text generated by Play is one undo step, and the last row stays chosen") {
    FakePage page;
    Visit visit(page);
    load_tiny_model(visit);
    std::string text = "abc";
    std::vector<std::int32_t> ids{1, 2, 3};
    std::vector<std::string> names{"a", "b", "c"};
    visit.tokens({Box::first, text, ids, names, 3});
    finish(visit);
    visit.perform(Select{{1, 1, 2, {}}});
    sentence_in(visit).play(true);
    for (int i = 0; i < 4; ++i) await_token(visit, page, text, ids, names);
    CHECK(sentence_in(visit).run()->tokens() == 7);
    CHECK(visit.state().selection.query == 6);
    const std::string played = visit.last_edit();
    CHECK(played == "“" + text.substr(3, 24) + (text.size() > 27 ? "…” added" : "” added"));
    sentence_in(visit).play(false);
    sentence_in(visit).generate_step();
    await_token(visit, page, text, ids, names);
    CHECK(visit.last_edit() == "“" + names.back() + "” added");
    visit.undo();
    CHECK(visit.last_edit() == "undone: “" + names.back() + "” added");
    visit.undo();
    CHECK(sentence_of(visit.state()).text == "abc");
    CHECK(visit.last_edit() == "undone: " + played);
    CHECK(visit.state().selection.query == 2);
    visit.redo();
    CHECK(visit.last_edit() == "redone: " + played);
    // A chosen row other than the last stays.
    finish(visit);
    visit.perform(Select{{1, 1, 1, {}}});
    sentence_in(visit).choose_next(9);
    REQUIRE(page.appended.back() == 9);
    CHECK(visit.state().selection.query == 1);
}

TEST_CASE("a run continues the previous one: its pictures and scores are there from the start") {
    FakePage page;
    Visit visit(page);
    load_tiny_model(visit);
    std::vector<std::int32_t> ids{1, 2, 3, 4, 5, 6};
    std::vector<std::string> names{"a", "b", "c", "d", "e", "f"};
    visit.tokens({Box::first, "abcdef", ids, names, 6});
    finish(visit);
    ids.push_back(7);
    names.push_back("g");
    const TextRun* before = sentence_in(visit).run();
    visit.tokens({Box::first, "abcdefg", ids, names, 7});
    for (int i = 0; i < 100 && sentence_in(visit).run() == before; ++i) visit.work(0);
    REQUIRE(sentence_in(visit).run()->tokens() == 7);
    const HeadOverview& heads = *sentence_in(visit).run()->all_heads;
    CHECK(heads.maps().done());
    CHECK(heads.scored() == heads.layers() * heads.heads());
    // Nothing is kept if the beginning differs.
    ids.front() = 9;
    before = sentence_in(visit).run();
    visit.tokens({Box::first, "xbcdefg", ids, names, 7});
    for (int i = 0; i < 100 && sentence_in(visit).run() == before; ++i) visit.work(0);
    CHECK(sentence_in(visit).run()->all_heads->scored() == 0);
}

TEST_CASE("the inspector writes what a cell is computed from") {
    FakePage page;
    Visit visit(page);
    const auto score = explained(visit, RunCell{raw, 1, 2});
    REQUIRE(score);
    CHECK(score->title == "Scores[sat, mat]");
    CHECK(score->f64 == Catch::Approx(0.55).epsilon(1e-15));
    CHECK(score->formula == "Σ_a Q[sat, a] · K[mat, a]");
    CHECK(score->operands.size() == 4);
    CHECK(score->note ==
          "The tutorial “Attention: The Heart of Transformers” prints 0.65, which is a misprint; the exact "
          "value "
          "is 0.550000.");
    visit.perform(SetCell{{x, 0, 0}, 2});
    CHECK(explained(visit, RunCell{raw, 1, 2})->note == "");
    visit.perform(Generate{1});
    CHECK_FALSE(explained(visit, RunCell{raw, 3, 0}));
    CHECK_FALSE(explained(visit, RunCell{x, 0, 0}));

    visit.perform(OpenPreset{PresetId::causal_row});
    const auto hidden = explained(visit, RunCell{raw, 0, 3});
    REQUIRE(hidden);
    CHECK(hidden->masked);
    CHECK(hidden->provenance == "from example D");
    REQUIRE_FALSE(hidden->steps.empty());
    CHECK(hidden->steps.front().arithmetic == "given");
    CHECK(hidden->steps.back().arithmetic == "exactly 0: the mask forbids it");
}

TEST_CASE("a second sentence runs beside the first, and disappears without a trace") {
    FakePage page;
    Visit visit(page);
    load_tiny_model(visit);
    visit.perform(OpenSubject{sentence_subject});
    visit.text_typed(Box::first, "abc");
    visit.tokens({Box::first, "abc", {1, 2, 3}, {"a", "b", "c"}, 3});
    finish(visit);
    CHECK_FALSE(page.second);
    visit.perform(Compare{Comparison{.text = "abd"}});
    CHECK(page.second == "abd");
    visit.tokens({Box::second, "abd", {1, 2, 4}, {"a", "b", "d"}, 3});
    finish(visit);
    REQUIRE(sentence_in(visit).compared_run());
    CHECK(sentence_in(visit).compared_run()->pieces == std::vector<std::string>{"a", "b", "d"});
    CHECK(sentence_in(visit).run()->pieces == std::vector<std::string>{"a", "b", "c"});
    CHECK(parse_fragment(page.url).state == visit.state());

    // A cell of either sentence is explained from that sentence's run.
    const auto first = explained(visit, RunCell{weight, 2, 1}),
               second = explained(visit, RunCell{weight, 2, 1, true});
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->title == "Weights[\"c\", \"b\"]");
    CHECK(second->title == "Weights[\"d\", \"b\"]");
    CHECK(first->f32 != second->f32);

    visit.perform(Pin{RunCell{weight, 2, 1, true}});
    visit.perform(Select{{0, 0, 2, {}, 1}});
    visit.text_typed(Box::second, "ab");
    visit.tokens({Box::second, "ab", {1, 2}, {"a", "b"}, 2});
    finish(visit);
    CHECK_FALSE(visit.state().pin);  // the second sentence no longer has a third word
    CHECK(visit.state().selection.counterpart == 1);
    visit.perform(Compare{});
    CHECK_FALSE(page.second);
    CHECK_FALSE(sentence_in(visit).compared_run());
    CHECK_FALSE(visit.state().selection.counterpart);
    visit.undo();
    CHECK(page.second == "ab");
    visit.perform(OpenSubject{worked_subject});
    CHECK_FALSE(page.second);
}

TEST_CASE("a pair of sentences opens in one step, with its word chosen") {
    FakePage page;
    Visit visit(page);
    load_tiny_model(visit);
    visit.perform(OpenSubject{sentence_subject});
    const Pair& pair = pairs()[1];
    sentence_in(visit).compare(pair);
    CHECK(sentence_of(visit.state()).text == pair.first);
    CHECK(page.second == pair.second);
    visit.tokens({Box::first, pair.first, {1, 2, 3}, {"the", " bank", "."}, 3});
    finish(visit);
    CHECK(visit.state().selection.query == 1);
    visit.undo();
    CHECK(sentence_of(visit.state()).text.empty());
    CHECK_FALSE(page.second);
}

TEST_CASE("a visit surveys the heads of its run, the chosen one first, and shows them as a link says") {
    FakePage page;
    Visit visit(page);
    visit.start("lens=sentence&layer=1&head=2&heads=previous,entropy&model=tiny&text=abc");
    load_tiny_model(visit);
    visit.tokens({Box::first, "abc", {1, 2, 3}, {"a", "b", "c"}, 3});
    while (!sentence_in(visit).run() || !sentence_in(visit).run()->all_heads) visit.work(0);
    while (!sentence_in(visit).run()->all_heads->has_maps()) {
        CHECK(visit.progress()->name == "head maps");
        visit.work(0);
    }
    CHECK(sentence_in(visit).run()->all_heads->scores({1, 2}));
    if (visit.progress()) CHECK(visit.progress()->name == "head scores");
    finish(visit);
    CHECK(sentence_in(visit).run()->all_heads->done());

    const HeadsChoice linked{HeadScore::previous_token, HeadScore::entropy};
    CHECK(looks_of(visit.state(), sentence_subject).heads == linked);
    visit.perform(SetHeads{{HeadScore::induction, {}}});
    CHECK(page.url.find("&heads=induction") != std::string::npos);
    CHECK(visit.last_edit() == "heads by induction");
    visit.undo();
    CHECK(looks_of(visit.state(), sentence_subject).heads == linked);
    visit.open_fragment("lens=sentence&heads=brightness&text=abc");
    REQUIRE_FALSE(page.notices.empty());
    CHECK(page.notices.back() ==
          "The link's value 'brightness' for 'heads' is not entropy, first, previous, duplicate, "
          "induction, distance, itself or spread, or two of them; the default is used.");
}

TEST_CASE("a link that changes one thing is named after it") {
    FakePage page;
    Visit visit(page);
    visit.start("v=1");
    const auto undone = [&](const std::string& fragment) {
        visit.open_fragment(fragment);
        visit.undo();
        return visit.last_edit();
    };
    CHECK(undone("v=1&lens=masks") == "undone: lens Masks");
    CHECK(undone("v=1&subject=training") == "undone: opened Training");
    CHECK(undone("v=1&pin=weight.1.1") == "undone: choice of a cell");
    CHECK(undone("v=1&ex=causal-row") == "undone: opened a link");
}

TEST_CASE("every change that a user makes is a place for Back; a gesture is one") {
    FakePage page;
    Visit visit(page);
    visit.start("");
    int places = 0;
    const auto adds = [&](int count) {
        INFO(visit.last_edit());
        CHECK(page.pushed - std::exchange(places, page.pushed) == count);
        CHECK(page.url == to_fragment(visit.state()));
    };
    visit.perform(Select{{1, 2, {}, {}}}, 1);
    adds(1);
    visit.perform(Select{{1, 3, {}, {}}}, 2);
    adds(1);
    visit.perform(OpenSubject{sentence_subject});
    adds(1);
    visit.perform(OpenLens{"softmax"});
    adds(1);
    // A click pins a cell and chooses its words.
    visit.perform(OpenSubject{worked_subject});
    places = page.pushed;
    visit.perform(Pin{RunCell{weight, 1, 0}}, 3);
    visit.perform(Select{{0, 0, 1, 0}}, 3);
    adds(1);
    for (const double value : {0.6, 0.7, 0.8}) visit.perform(SetCell{{x, 0, 1}, value}, 4);
    adds(1);
    visit.perform(SetTemperature{2}, 5);
    visit.perform(SetTemperature{3}, 6);
    adds(2);
    // Turns of a wheel in quick succession are one step.
    for (Index end = 9; end > 3; --end)
        visit.perform(ShowWindow{MapExtent::of({0, end}, {0, end})}, static_cast<std::uint64_t>(20 - end));
    adds(1);
    visit.undo();
    adds(1);
    visit.redo();
    adds(1);
    visit.settle(Select{{0, 0, 2, 0}});
    adds(0);
    visit.perform(SetTemperature{1000});
    visit.perform(SetTemperature{3});
    adds(0);
}

TEST_CASE("each subject keeps its own selection and pin, in links, too") {
    FakePage page;
    Visit visit(page);
    open_golden(visit, "gpt2-f32");
    visit.perform(Select{{1, 2, 3, 1}});
    visit.perform(Pin{RunCell{weight, 3, 1}});
    const Selection chosen = visit.state().selection;
    visit.perform(OpenSubject{worked_subject});
    CHECK(visit.state().selection == Selection{});
    CHECK_FALSE(visit.state().pin);
    visit.perform(Pin{RunCell{weight, 1, 0}});
    visit.perform(Select{{0, 0, 1, 0}});
    const State example = visit.state();
    CHECK(parse_fragment(page.url).state == example);
    visit.perform(OpenSubject{sentence_subject});
    CHECK(visit.state().selection == chosen);
    CHECK(visit.state().pin == RunCell{weight, 3, 1});
    visit.perform(OpenSubject{worked_subject});
    CHECK(visit.state() == example);
    // Goes back, and from there to the tab.
    const std::string link = page.url;
    visit.open_fragment("v=1");
    visit.open_fragment(link);
    visit.perform(OpenSubject{sentence_subject});
    CHECK(visit.state().selection == chosen);
    // A selection that no longer exists is dropped: a shorter text, another model, a lens's number.
    visit.perform(OpenSubject{worked_subject});
    visit.perform(SetModel{"another"});
    CHECK(visit.state().pin == RunCell{weight, 1, 0});
    visit.perform(OpenSubject{sentence_subject});
    CHECK(visit.state().selection == Selection{});
    CHECK_FALSE(visit.state().pin);
    visit.perform(OpenLens{"softmax"});
    visit.perform(Pin{softmax::cells::query(0)});
    visit.perform(OpenSubject{worked_subject});
    visit.perform(OpenLens{"masks"});
    visit.perform(OpenSubject{sentence_subject});
    CHECK_FALSE(visit.state().pin);
}

TEST_CASE("other subjects' selections in a link are read as strictly as the rest") {
    for (const char* value : {"", "sentence", "worked,1.2...", "sentence,1.2", "sentence,.2...",
                              "sentence,0.0...", "sentence,-1.2...", "sentence,1.2.9999999..",
                              "sentence,1.2...,weight.0", "sentence,1.2...,weight.0.0,x", "elsewhere,1.2...",
                              "sentence,1.2...:sentence,1.3...", "sentence,1.2...,lens.0.0"}) {
        INFO(value);
        const ParsedFragment parsed = parse_fragment("chosen=" + std::string(value));
        CHECK(parsed.state == default_state());
        CHECK(parsed.note.find("'chosen'") != std::string::npos);
    }
    const State read = parse_fragment("chosen=sentence,1.2.3.,weight.3.1:tensors,0.1...").state;
    CHECK(read == default_state());
    CHECK(parse_fragment("chosen=sentence,1.2.3..,weight.3.1:tensors,0.1...")
              .state.of<OtherChoices>()
              .of.size() == 2);
}
