// Tests training by links and commands, and opening the networks as models in Sentence.
#include "app/link.hpp"
#include "app/link_text.hpp"
#include "app/visit.hpp"
#include "runs/training_files.hpp"
#include "unit/app/support.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

const std::string small_plan = "induction,heads:2,d:16,vocabulary:16,context:16,batch:2,steps:40";

// Trains to the step that the state names, or to the end.
const TrainingView& trained(Visit& visit) {
    while (visit.work(5)) {
    }
    const TrainingView* view = runs_in(visit).shown_view(training_of(visit.state()));
    REQUIRE(view);
    return *view;
}

void give_probe(Visit& visit) {
    const auto& data = runs_in(visit).shown()->data();
    visit.tokens({Box::first, probe_text(data), data.probe, data.probe_pieces, std::ssize(data.probe)});
    finish(visit);
}

std::vector<float> weights(const Record& record, Index head) {
    std::vector<float> cells(16 * 16);
    record.stage(Stage::weight, head, {0, 16}, {0, 16}, cells);
    return cells;
}

}  // namespace

TEST_CASE("a network of lens Training opens in lens Sentence, and undo goes back") {
    FakePage page;
    Visit visit(page);
    visit.start("lens=training&train=" + small_plan + "&step=7&text=abc");
    visit.perform(RunTraining{true});
    const State before = visit.state();
    const TrainingView view = trained(visit);
    training_in(visit).open_network(*runs_in(visit).shown(), view);
    CHECK(page.folder == "trained here: induction, step 4");  // trained from the previous checkpoint
    CHECK_FALSE(page.files_awaited);
    CHECK(visit.state() == before);  // until the page has read it
    load_given(visit, page);
    give_probe(visit);
    const State& s = visit.state();
    CHECK(s.subject == sentence_subject);
    CHECK(sentence_of(s).model == "trained here: induction, step 4");
    CHECK(sentence_of(s).text == probe_text(runs_in(visit).shown()->data()));
    CHECK(s.selection.query == 15);
    CHECK_FALSE(training_of(s).running);
    CHECK(page.url == "v=1&subject=sentence&text=" + percent_encode(sentence_of(s).text) + "&trained=4," +
                          small_plan + "&train=" + small_plan + "&step=4" +
                          "&layer=" + std::to_string(s.selection.layer) +
                          "&head=" + std::to_string(s.selection.head) + "&query=15");
    CHECK(page.box_tokenized);
    const auto& layers = sentence_in(visit).run()->run->layers();
    for (std::size_t layer = 0; layer < 2; ++layer)
        for (Index head = 0; head < 2; ++head)
            CHECK(weights(layers[layer].attention, head) ==
                  weights(view.probe->layers()[layer].attention, head));
    const std::string link = page.url;

    visit.undo();
    CHECK(visit.state() == before);
    CHECK(sentence_in(visit).awaited_model().empty());  // there was none before
    visit.redo();
    CHECK(sentence_of(visit.state()).trained == TrainedHere{training_of(visit.state()).plan, 4});
    CHECK(sentence_in(visit).awaited_model().empty());  // it is still open

    // After another model has been opened, undo trains the network again if necessary.
    load_tiny_model(visit);
    CHECK_FALSE(sentence_of(visit.state()).trained);
    CHECK(page.url.find("model=tiny") != std::string::npos);
    visit.undo();
    CHECK(sentence_in(visit).awaited_model() == "trained here: induction, step 4");
    CHECK_FALSE(page.box_enabled);
    while (visit.work(5)) {
    }
    CHECK(page.files_awaited);
    load_given(visit, page);
    CHECK(sentence_in(visit).awaited_model().empty());
    CHECK(page.box_enabled);
    CHECK(page.url == link);
    visit.redo();
    REQUIRE_FALSE(page.notices.empty());
    CHECK(page.notices.back() ==
          "The model 'tiny' is no longer open: drop its folder onto the page to see the same.");
    CHECK(page.url.find("&trained=4,") != std::string::npos);
}

TEST_CASE("a link to a network trained here trains it again") {
    FakePage page;
    Visit visit(page);
    const std::string plan = small_plan + ",at:5,rate:0.01,off:1.1";
    visit.start("lens=sentence&head=1&query=3&text=A%20B&trained=5," + plan + "&train=" + plan + "&step=9");
    CHECK(sentence_in(visit).awaited_model() == "trained here: induction, step 5");
    CHECK_FALSE(page.box_enabled);
    while (visit.work(5)) {
    }
    CHECK(page.files_awaited);
    CHECK_FALSE(runs_in(visit).shown());  // the run that Training asks for comes later
    load_given(visit, page);
    CHECK(page.notices.empty());
    CHECK_FALSE(page.can_undo);
    CHECK(visit.state().selection == Selection{0, 1, 3, {}});
    const TrainingView view = trained(visit);
    CHECK(view.step == 9);
    CHECK(runs_in(visit).shown()->state_at(5)->step == 4);

    // The network is the same as when it was opened, except that the head ablated from this step on writes
    // nothing.
    auto run = TrainingRun::start(training_of(visit.state()).plan);
    REQUIRE(run);
    while (run->advance(5, 1e9)) {
    }
    const auto then = run->state_at(5);
    for (std::size_t i = 0; i < then->model->weights().size(); ++i)
        CHECK(std::ranges::equal(then->model->weights()[i].bytes,
                                 sentence_in(visit).model()->weights()[i].bytes));
}

TEST_CASE("a link to a network that cannot be trained again says so") {
    FakePage page;
    Visit visit(page);
    SECTION("its text was too long for the link") {
        visit.start("lens=sentence&text=abc&trained=5,own-text");
        CHECK_FALSE(visit.work(5));
        REQUIRE(page.notices.size() == 1);
        CHECK(page.notices[0] ==
              "trained here: own-text, step 5 cannot be trained again: its text was too long for the link; "
              "paste it in Training.");
    }
    SECTION("it breaks before that step") {
        visit.start("lens=sentence&trained=30," + small_plan + ",rate:1e9");
        while (visit.work(5)) {
        }
        REQUIRE(page.notices.size() == 1);
        CHECK(page.notices[0].find("no longer a finite number") != std::string::npos);
    }
    SECTION("the step does not exist") {
        visit.start("lens=sentence&trained=41," + small_plan);
        REQUIRE(page.notices.size() == 1);
        CHECK(page.notices[0].starts_with("The link's value '41,induction"));
    }
    CHECK(sentence_in(visit).awaited_model().empty());
    CHECK(sentence_of(visit.state()).model.empty());
    CHECK_FALSE(sentence_of(visit.state()).trained);
    CHECK_FALSE(visit.work(5));
}

TEST_CASE("back and forward keep a text that is too long for a link") {
    FakePage page;
    Visit visit(page);
    visit.start("lens=training&train=own-text,layers:1,d:16,heads:2,context:16,batch:1,steps:2&step=2");
    std::string text;
    for (int i = 0; i < 200; ++i) text += "the cat sat on the mat and ";
    visit.text_typed(Box::first, text);
    visit.perform(ShowTrainingStep{2});
    const std::string training = page.url;
    const TrainingView view = trained(visit);
    training_in(visit).open_network(*runs_in(visit).shown(), view);
    load_given(visit, page);
    give_probe(visit);
    const std::string sentence = page.url;
    CHECK(sentence.size() < 2000);

    visit.open_fragment(training);
    CHECK(training_of(visit.state()).plan.text == text);
    visit.open_fragment(sentence);
    CHECK(sentence_in(visit).awaited_model().empty());  // it is already open
    load_tiny_model(visit);
    visit.open_fragment(sentence);
    while (visit.work(5)) {
    }
    load_given(visit, page);
    CHECK(sentence_of(visit.state()).trained->plan.text == text);
    CHECK(page.notices.empty());
}

TEST_CASE("a network of lens Training is saved as an archive") {
    FakePage page;
    Visit visit(page);
    visit.start("lens=training&train=" + small_plan + "&step=8");
    const TrainingView view = trained(visit);
    training_in(visit).save_network(*runs_in(visit).shown(), view);
    CHECK(page.downloaded == "induction-step-8.zip");
    const std::string bytes(reinterpret_cast<const char*>(page.downloaded_bytes.data()),
                            page.downloaded_bytes.size());
    CHECK_THAT(bytes, Catch::Matchers::ContainsSubstring("    #v=1&subject=training&train=" + small_plan +
                                                         "&step=8\n"));
}

TEST_CASE("a user's own text is for the training, not for the open model") {
    FakePage page;
    Visit visit(page);
    load_tiny_model(visit);
    visit.text_typed(Box::first, "abc");
    visit.perform(OpenSubject{training_subject});
    CHECK(page.box_tokenized);
    visit.perform(SetTrainingPlan{training_preset("own-text")->plan});
    CHECK(page.box_enabled);
    CHECK_FALSE(page.box_tokenized);
    visit.text_typed(Box::first, "the cat");
    CHECK(sentence_of(visit.state()).text == "abc");
    visit.perform(OpenSubject{sentence_subject});
    CHECK(page.box == "abc");
    CHECK(page.box_tokenized);
}

TEST_CASE("a link trains up to its step, and a command to the end") {
    FakePage page;
    Visit visit(page);
    visit.start("train=induction,d:16,heads:2,vocabulary:16,context:16,batch:2,steps:9&step=4");
    while (visit.work(5)) {
    }
    REQUIRE(runs_in(visit).shown());
    CHECK(runs_in(visit).shown_view(training_of(visit.state()))->step == 4);
    visit.perform(RunTraining{true});
    CHECK(page.url.ends_with("&step=4&training=on"));
    CHECK_FALSE(page.can_undo);
    while (visit.work(5)) {
    }
    CHECK(runs_in(visit).shown()->finished());
    CHECK(runs_in(visit).shown_view(training_of(visit.state()))->step == 4);
    CHECK(page.notices.empty());

    visit.perform(SetTrainingPlan{training_preset("own-text")->plan});
    CHECK(page.can_undo);
    CHECK_FALSE(visit.work(5));
    CHECK_FALSE(training_of(visit.state()).wants_a_run());
    visit.perform(RunTraining{true});
    CHECK_FALSE(visit.work(5));
    CHECK_FALSE(visit.work(5));
    REQUIRE(page.notices.size() == 1);
    CHECK(page.notices[0] == "There is no text to train on yet: paste some.");
}

TEST_CASE("a user's own text in lens Training is learned") {
    FakePage page;
    Visit visit(page);
    visit.start("lens=training&train=own-text,layers:1,d:16,heads:2,context:8,batch:1,steps:2");
    std::string text;
    for (int i = 0; i < 30; ++i) text += "the cat sat on the mat and ";
    visit.text_typed(Box::first, text);
    CHECK(training_of(visit.state()).plan.text == text);
    CHECK(sentence_of(visit.state()).text.empty());
    CHECK(visit.state().subject == training_subject);
    visit.perform(RunTraining{true});
    while (visit.work(5)) {
    }
    REQUIRE(runs_in(visit).shown());
    CHECK(runs_in(visit).shown()->finished());
    CHECK(page.notices.empty());
}
