// Networks of lens Training as models of lens Sentence.
#include "app/link_text.hpp"
#include "app/session.hpp"
#include "app/training_files.hpp"
#include "app/url.hpp"
#include "unit/app/support.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

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
