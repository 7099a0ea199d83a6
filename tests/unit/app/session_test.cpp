// A visit without a browser: what the page is told, and what links do to a run that is there.
#include "app/session.hpp"

#include <algorithm>

#include "app/explained.hpp"
#include "app/link_text.hpp"
#include "app/training_files.hpp"
#include "app/twins.hpp"
#include "app/url.hpp"
#include "support/files.hpp"
#include "unit/app/support.hpp"

using namespace attn;
using namespace attn::app;
using enum MatrixId;

namespace {

struct FakePage : Page {
    std::vector<std::string> notices;
    std::vector<std::int32_t> appended;
    std::vector<std::string> bundled, opened;
    std::string url;
    int pushed = 0;
    bool can_undo = false, can_redo = false;

    void notice(const std::string& sentence, bool) override { notices.push_back(sentence); }
    void announce(const std::string&) override {}
    void set_url(const std::string& fragment, bool push) override {
        url = fragment;
        pushed += push;
    }
    std::optional<std::string> second;
    void set_second_sentence(const std::string* text) override {
        second = text ? std::optional(*text) : std::nullopt;
    }
    std::string box;
    bool box_enabled = false, box_tokenized = false;
    std::string folder, downloaded;
    Files files;
    bool files_awaited = false;

    void set_sentence(const std::string& text, bool enabled, bool tokenized, const std::string&) override {
        box = text;
        box_enabled = enabled;
        box_tokenized = tokenized;
    }
    void open_files(const std::string& name, const Files& given, bool awaited) override {
        folder = name;
        files = given;
        files_awaited = awaited;
    }
    void download(const std::string& name, std::span<const std::byte>) override { downloaded = name; }
    void set_title(const std::string&) override {}
    void set_history(bool undo, bool redo) override {
        can_undo = undo;
        can_redo = redo;
    }
    bool open_bundled(const std::string& name) override {
        if (std::ranges::find(bundled, name) == bundled.end()) return false;
        opened.push_back(name);
        return true;
    }
    void append_token(std::int32_t id) override { appended.push_back(id); }
    std::vector<std::string> ids_to_text(std::span<const std::int32_t> ids) override {
        return std::vector<std::string>(ids.size(), "token");
    }
};

void load_tiny_model(Session& session) {
    session.intake().name("tiny");
    for (const char* file : {"config.json", "model.safetensors"}) {
        const auto bytes = test::read_file(test::source_dir() / "tests/golden/model/gpt2-f32" / file);
        REQUIRE_FALSE(bytes.empty());
        auto buffer = session.intake().buffer(file, bytes.size());
        REQUIRE(buffer);
        std::ranges::copy(bytes, *buffer);
    }
    REQUIRE(session.load_model());
}

// What the page does with the files of open_files.
void load_given(Session& session, FakePage& page) {
    REQUIRE(page.files.contains("tokenizer.json"));
    session.intake().name(page.folder);
    for (const char* file : {"config.json", "model.safetensors"}) {
        auto buffer = session.intake().buffer(file, page.files[file].size());
        REQUIRE(buffer);
        std::ranges::copy(page.files[file], *buffer);
    }
    page.files.clear();
    REQUIRE(session.load_model());
}

void finish(Session& session) {
    for (int i = 0; session.progress() && i < 100'000; ++i) session.work(10);
    REQUIRE_FALSE(session.progress());
}

}  // namespace

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

namespace {

// Tokens of a text of n words, as the page gives them.
void give_words(Session& session, Index n) {
    std::vector<std::int32_t> ids;
    for (Index i = 0; i < n; ++i)
        ids.push_back(static_cast<std::int32_t>(i + std::ssize(session.state().sentence.text) % 5));
    session.tokens(session.state().sentence.text, ids, std::vector<std::string>(ids.size(), "word"), n);
    finish(session);
}

}  // namespace

TEST_CASE("the bare address opens with the model that comes with the page, its head and the last word") {
    FakePage page;
    page.bundled = {"tiny"};
    Session session(page);
    session.set_home("tiny", 1, 2);
    session.start("");
    CHECK(page.opened == std::vector<std::string>{"tiny"});
    CHECK(session.awaited_model() == "tiny");
    CHECK(session.state().lens == LensId::sentence);
    load_tiny_model(session);
    CHECK(session.awaited_model().empty());
    give_words(session, 6);
    CHECK(session.state().sentence.text == first_twin());
    CHECK(session.state().selection == Selection{1, 2, 5, {}});
    CHECK(page.url == "");
    CHECK(page.notices.empty());
    CHECK_FALSE(page.can_undo);

    // The twin is a step; a chosen last word stays the last, whatever the number of tokens.
    const auto twin = twin_of(session.state().sentence.text);
    REQUIRE(twin);
    CHECK(twin_of(twin->text)->text == first_twin());
    session.replace_text(twin->text);
    give_words(session, 8);
    CHECK(session.state().sentence.text == twin->text);
    CHECK(session.state().selection == Selection{1, 2, 7, {}});
    CHECK(page.url == to_fragment(session.state()));
    session.undo();
    give_words(session, 6);
    CHECK(session.state().selection == Selection{1, 2, 5, {}});
    CHECK(page.url == "");
    session.redo();
    give_words(session, 8);
    CHECK(session.state().selection == Selection{1, 2, 7, {}});

    // Another address and back, over a shorter text.
    session.open_fragment("lens=sentence&model=tiny&text=ab&layer=0&query=1");
    give_words(session, 2);
    session.open_fragment("");
    give_words(session, 6);
    CHECK(session.state().selection == Selection{1, 2, 5, {}});
    CHECK(page.url == "");
    CHECK(page.opened.size() == 1);

    // The first example, which an empty address says otherwise, is named.
    session.perform(OpenLens{LensId::worked});
    session.open_fragment("v=1&lens=worked");
    session.perform(SetTemperature{2});
    session.undo();
    CHECK(page.url.starts_with("v=1"));
}

TEST_CASE("a link goes before the model that comes with the page") {
    FakePage page;
    page.bundled = {"tiny"};
    Session session(page);
    session.set_home("tiny", 1, 2);
    SECTION("to an example") {
        session.start("v=1&lens=worked");
        CHECK(page.opened.empty());
        session.perform(SetTemperature{2});
        session.undo();
        CHECK(page.url == "v=1&lens=worked");
        // Opened by a person who has written nothing, the model shows what it opens with; the example stays.
        session.perform(SetTemperature{3});
        load_tiny_model(session);
        give_words(session, 6);
        CHECK(session.state().sentence.text == first_twin());
        CHECK(session.state().selection == Selection{1, 2, 5, {}});
        CHECK(session.state().worked.temperature == 3);
    }
    SECTION("to the example with that model: it stays the example") {
        session.start("v=1&lens=worked&model=tiny&text=abc");
        CHECK(page.opened.size() == 1);
        load_tiny_model(session);
        CHECK(session.state().lens == LensId::worked);
    }
    SECTION("to a text and a head") {
        session.start("lens=sentence&model=tiny&text=abc&layer=0&head=1&query=2");
        load_tiny_model(session);
        give_words(session, 3);
        CHECK(session.state().sentence.text == "abc");
        CHECK(session.state().selection == Selection{0, 1, 2, {}});
        // A person's own text stays when they choose the model again.
        load_tiny_model(session);
        CHECK(session.state().sentence.text == "abc");
    }
    SECTION("to another model") {
        session.start("lens=sentence&model=other&text=abc");
        CHECK(page.opened.empty());
        REQUIRE(page.notices.size() == 1);
        CHECK(page.notices[0].starts_with("This link was made with the model 'other'"));
    }
}

TEST_CASE("a model that does not come leaves the worked example") {
    FakePage page;
    page.bundled = {"tiny"};
    Session session(page);
    session.set_home("tiny", 1, 2);
    session.start("");
    session.model_failed();
    CHECK(session.awaited_model().empty());
    CHECK(session.state() == default_state());
    CHECK_FALSE(page.can_undo);
    session.perform(SetTemperature{2});
    session.undo();
    CHECK(page.url == "");
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

namespace {

const std::string small_plan = "induction,heads:2,d:16,vocabulary:16,context:16,batch:2,steps:40";

// Trained to the step that the state names, or as far as it goes.
const TrainingView& trained(Session& session) {
    while (session.work(5)) {
    }
    const TrainingView* view = session.training().shown_view(session.state().training);
    REQUIRE(view);
    return *view;
}

void give_probe(Session& session) {
    const auto& data = session.training().shown()->data();
    session.tokens(probe_text(data), data.probe, data.probe_pieces, std::ssize(data.probe));
    finish(session);
}

std::vector<float> weights(const Record& record, Index head) {
    std::vector<float> cells(16 * 16);
    record.stage(Stage::weight, head, {0, 16}, {0, 16}, cells);
    return cells;
}

}  // namespace

TEST_CASE("a network of lens Training opens in lens Sentence, and undo goes back") {
    FakePage page;
    Session session(page);
    session.start("lens=training&train=" + small_plan + "&step=7&text=abc");
    session.perform(RunTraining{true});
    const State before = session.state();
    const TrainingView view = trained(session);
    session.open_trained(*session.training().shown(), view);
    CHECK(page.folder == "trained here: induction, step 4");  // the checkpoint before
    CHECK_FALSE(page.files_awaited);
    CHECK(session.state() == before);  // until the page has read it
    load_given(session, page);
    give_probe(session);
    const State& s = session.state();
    CHECK(s.lens == LensId::sentence);
    CHECK(s.sentence.model == "trained here: induction, step 4");
    CHECK(s.sentence.text == probe_text(session.training().shown()->data()));
    CHECK(s.selection.query == 15);
    CHECK_FALSE(s.training.running);
    CHECK(page.url == "v=1&lens=sentence&layer=" + std::to_string(s.selection.layer) +
                          "&head=" + std::to_string(s.selection.head) +
                          "&query=15&text=" + percent_encode(s.sentence.text) + "&trained=4," + small_plan +
                          "&train=" + small_plan + "&step=4");
    CHECK(page.box_tokenized);
    const auto& layers = session.sentence()->trace->layers();
    for (std::size_t layer = 0; layer < 2; ++layer)
        for (Index head = 0; head < 2; ++head)
            CHECK(weights(layers[layer].attention, head) ==
                  weights(view.probe->layers()[layer].attention, head));
    const std::string link = page.url;

    session.undo();
    CHECK(session.state() == before);
    CHECK(session.awaited_model().empty());  // before, there was none
    session.redo();
    CHECK(session.state().sentence.trained == TrainedHere{session.state().training.plan, 4});
    CHECK(session.awaited_model().empty());  // it is still open

    // After another, a step back trains it again where it has to.
    load_tiny_model(session);
    CHECK_FALSE(session.state().sentence.trained);
    CHECK(page.url.find("model=tiny") != std::string::npos);
    session.undo();
    CHECK(session.awaited_model() == "trained here: induction, step 4");
    CHECK_FALSE(page.box_enabled);
    while (session.work(5)) {
    }
    CHECK(page.files_awaited);
    load_given(session, page);
    CHECK(session.awaited_model().empty());
    CHECK(page.box_enabled);
    CHECK(page.url == link);
    session.redo();
    REQUIRE_FALSE(page.notices.empty());
    CHECK(page.notices.back() ==
          "The model 'tiny' is no longer open: drop its folder onto the page to see the same.");
    CHECK(page.url.find("&trained=4,") != std::string::npos);
}

TEST_CASE("a link to a network that was trained here trains it again") {
    FakePage page;
    Session session(page);
    const std::string plan = small_plan + ",at:5,rate:0.01,off:1.1";
    session.start("lens=sentence&head=1&query=3&text=A%20B&trained=5," + plan + "&train=" + plan + "&step=9");
    CHECK(session.awaited_model() == "trained here: induction, step 5");
    CHECK_FALSE(page.box_enabled);
    while (session.work(5)) {
    }
    CHECK(page.files_awaited);
    CHECK_FALSE(session.training().shown());  // what lens Training asks for comes later
    load_given(session, page);
    CHECK(page.notices.empty());
    CHECK_FALSE(page.can_undo);
    CHECK(session.state().selection == Selection{0, 1, 3, {}});
    const TrainingView view = trained(session);
    CHECK(view.step == 9);
    CHECK(session.training().shown()->state_at(5)->step == 4);

    // Just as it was when it was opened: the head that is left out from this step on writes nothing.
    auto run = TrainingRun::start(session.state().training.plan);
    REQUIRE(run);
    while (run->advance(5, 1e9)) {
    }
    const auto then = run->state_at(5);
    for (std::size_t i = 0; i < then->model->weights().size(); ++i)
        CHECK(std::ranges::equal(then->model->weights()[i].bytes, session.model()->weights()[i].bytes));
}

TEST_CASE("a link to a network that cannot be trained again says so") {
    FakePage page;
    Session session(page);
    SECTION("its text was too long for the link") {
        session.start("lens=sentence&text=abc&trained=5,own-text");
        CHECK_FALSE(session.work(5));
        REQUIRE(page.notices.size() == 1);
        CHECK(page.notices[0] ==
              "trained here: own-text, step 5 cannot be trained again: its text was too long for the link; "
              "paste "
              "it in lens Training.");
    }
    SECTION("it breaks before that step") {
        session.start("lens=sentence&trained=30," + small_plan + ",rate:1e9");
        while (session.work(5)) {
        }
        REQUIRE(page.notices.size() == 1);
        CHECK(page.notices[0].find("no longer a finite number") != std::string::npos);
    }
    SECTION("there is no such step") {
        session.start("lens=sentence&trained=41," + small_plan);
        REQUIRE(page.notices.size() == 1);
        CHECK(page.notices[0].starts_with("The link's value '41,induction"));
    }
    CHECK(session.awaited_model().empty());
    CHECK(session.state().sentence.model.empty());
    CHECK_FALSE(session.state().sentence.trained);
    CHECK_FALSE(session.work(5));
}

TEST_CASE("back and forward keep a text that is too long for a link") {
    FakePage page;
    Session session(page);
    session.start("lens=training&train=own-text,layers:1,d:16,heads:2,context:16,batch:1,steps:2&step=2");
    std::string text;
    for (int i = 0; i < 200; ++i) text += "the cat sat on the mat and ";
    session.text_typed(text);
    session.perform(ShowTrainingStep{2});
    const std::string training = page.url;
    const TrainingView view = trained(session);
    session.open_trained(*session.training().shown(), view);
    load_given(session, page);
    give_probe(session);
    const std::string sentence = page.url;
    CHECK(sentence.size() < 2000);

    session.open_fragment(training);
    CHECK(session.state().training.plan.text == text);
    session.open_fragment(sentence);
    CHECK(session.awaited_model().empty());  // it is the one that is open
    load_tiny_model(session);
    session.open_fragment(sentence);
    while (session.work(5)) {
    }
    load_given(session, page);
    CHECK(session.state().sentence.trained->plan.text == text);
    CHECK(page.notices.empty());
}

TEST_CASE("a network of lens Training is saved as an archive") {
    FakePage page;
    Session session(page);
    session.start("lens=training&train=" + small_plan + "&step=8");
    const TrainingView view = trained(session);
    session.save_trained(*session.training().shown(), view);
    CHECK(page.downloaded == "induction-step-8.zip");
}

TEST_CASE("a text of one's own is for the training, not for the model that is open") {
    FakePage page;
    Session session(page);
    load_tiny_model(session);
    session.text_typed("abc");
    session.perform(OpenLens{LensId::training});
    CHECK(page.box_tokenized);
    session.perform(SetTrainingPlan{training_preset("own-text")->plan});
    CHECK(page.box_enabled);
    CHECK_FALSE(page.box_tokenized);
    session.text_typed("the cat");
    CHECK(session.state().sentence.text == "abc");
    session.perform(OpenLens{LensId::sentence});
    CHECK(page.box == "abc");
    CHECK(page.box_tokenized);
}
