// Tests what the bare address opens if the page comes with a model.
#include "app/link.hpp"
#include "app/visit.hpp"
#include "subjects/sentence/twins.hpp"
#include "unit/app/support.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// Gives the tokens of a text of n words, as the page does.
void give_words(Visit& visit, Index n) {
    std::vector<std::int32_t> ids;
    for (Index i = 0; i < n; ++i)
        ids.push_back(static_cast<std::int32_t>(i + std::ssize(sentence_of(visit.state()).text) % 5));
    visit.tokens(
        {Box::first, sentence_of(visit.state()).text, ids, std::vector<std::string>(ids.size(), "word"), n});
    finish(visit);
}

// Starts at the bare address with a model that comes with the page.
struct Home {
    FakePage page;
    Visit visit{page};
    Home() {
        page.bundled = {"tiny"};
        visit.set_home({"tiny", 1, 2});
    }
};

}  // namespace

TEST_CASE("the bare address opens with the bundled model, its head and the last word") {
    Home home;
    auto& [page, visit] = home;
    visit.start("");
    CHECK(page.opened == std::vector<std::string>{"tiny"});
    CHECK(sentence_in(visit).awaited_model() == "tiny");
    CHECK(visit.state().subject == sentence_subject);
    load_tiny_model(visit);
    CHECK(sentence_in(visit).awaited_model().empty());
    give_words(visit, 6);
    CHECK(sentence_of(visit.state()).text == first_twin());
    CHECK(visit.state().selection == Selection{1, 2, 5, {}});
    CHECK(page.url == "");
    CHECK(page.notices.empty());
    CHECK_FALSE(page.can_undo);

    // Choosing the other sentence is one undo step; if the last word was chosen, the last word stays chosen,
    // whatever the number of tokens.
    const auto twin = twin_of(sentence_of(visit.state()).text);
    REQUIRE(twin);
    CHECK(twin_of(twin->text)->text == first_twin());
    sentence_in(visit).replace_text(twin->text);
    give_words(visit, 8);
    CHECK(sentence_of(visit.state()).text == twin->text);
    CHECK(visit.state().selection == Selection{1, 2, 7, {}});
    CHECK(page.url == to_fragment(visit.state()));
    visit.undo();
    give_words(visit, 6);
    CHECK(visit.state().selection == Selection{1, 2, 5, {}});
    CHECK(page.url == "");
    visit.redo();
    give_words(visit, 8);
    CHECK(visit.state().selection == Selection{1, 2, 7, {}});

    // The visit goes to another address and back, to a shorter text.
    visit.open_fragment("lens=sentence&model=tiny&text=ab&layer=0&query=1");
    give_words(visit, 2);
    visit.open_fragment("");
    give_words(visit, 6);
    CHECK(visit.state().selection == Selection{1, 2, 5, {}});
    CHECK(page.url == "");
    CHECK(page.opened.size() == 1);

    // A link to the first example names it, because an empty address now means something else.
    visit.perform(OpenSubject{worked_subject});
    visit.open_fragment("v=1&lens=worked");
    visit.perform(SetTemperature{2});
    visit.undo();
    CHECK(page.url.starts_with("v=1"));
}

TEST_CASE("a link has priority over the bundled model") {
    Home home;
    auto& [page, visit] = home;
    SECTION("to an example") {
        visit.start("v=1&lens=worked");
        CHECK(page.opened.empty());
        visit.perform(SetTemperature{2});
        visit.undo();
        CHECK(page.url == "v=1&subject=worked");
        // If the user opens the model and has written nothing, it shows its opening sentence; the example
        // stays as it was.
        visit.perform(SetTemperature{3});
        load_tiny_model(visit);
        give_words(visit, 6);
        CHECK(sentence_of(visit.state()).text == first_twin());
        CHECK(visit.state().selection == Selection{1, 2, 5, {}});
        CHECK(worked_of(visit.state()).temperature == 3);
    }
    SECTION("to the example with that model: the example stays") {
        visit.start("v=1&lens=worked&model=tiny&text=abc");
        CHECK(page.opened.size() == 1);
        load_tiny_model(visit);
        CHECK(visit.state().subject == worked_subject);
    }
    SECTION("to a text and a head") {
        visit.start("lens=sentence&model=tiny&text=abc&layer=0&head=1&query=2");
        load_tiny_model(visit);
        give_words(visit, 3);
        CHECK(sentence_of(visit.state()).text == "abc");
        CHECK(visit.state().selection == Selection{0, 1, 2, {}});
        // Users keep their own text when they choose the model again.
        load_tiny_model(visit);
        CHECK(sentence_of(visit.state()).text == "abc");
    }
    SECTION("to another model") {
        visit.start("lens=sentence&model=other&text=abc");
        CHECK(page.opened.empty());
        REQUIRE(page.notices.size() == 1);
        CHECK(page.notices[0].starts_with("This link was made with the model 'other'"));
    }
}

TEST_CASE("if the model does not arrive, the worked example stays") {
    Home home;
    auto& [page, visit] = home;
    visit.start("");
    sentence_in(visit).model_failed();
    CHECK(sentence_in(visit).awaited_model().empty());
    CHECK(visit.state() == default_state());
    CHECK_FALSE(page.can_undo);
    visit.perform(SetTemperature{2});
    visit.undo();
    CHECK(page.url == "");
}

TEST_CASE("while the model is long in coming, the worked example is shown") {
    Home home;
    auto& [page, visit] = home;
    visit.start("");
    visit.settle(OpenLesson{{.name = "first-steps", .text = {}}});
    visit.show_meanwhile();
    CHECK(visit.state().subject == worked_subject);
    CHECK(visit.state().lens == default_state().lens);
    CHECK(lesson_of(visit.state()).is_open());
    CHECK(page.url == "");
    CHECK_FALSE(page.can_undo);
    CHECK(sentence_in(visit).awaited_model() == "tiny");

    SECTION("and then the model's head") {
        load_tiny_model(visit);
        give_words(visit, 6);
        CHECK(visit.state().subject == sentence_subject);
        CHECK(visit.state().selection == Selection{1, 2, 5, {}});
        CHECK(lesson_of(visit.state()).is_open());
        CHECK(page.url == "");
        CHECK(page.notices.empty());
        CHECK_FALSE(page.can_undo);
    }
    SECTION("and stays once something has been changed") {
        visit.perform(SetTemperature{2});
        load_tiny_model(visit);
        CHECK(visit.state().subject == worked_subject);
        CHECK(worked_of(visit.state()).temperature == 2);
        REQUIRE(page.notices.size() == 1);
        CHECK(page.notices[0].starts_with("The model is open"));
        visit.perform(OpenSubject{sentence_subject});
        give_words(visit, 6);
        CHECK(sentence_of(visit.state()).text == first_twin());
        CHECK(sentence_of(visit.state()).model == "tiny");
    }
    SECTION("until the sentence is chosen, which waits as before") {
        visit.perform(OpenSubject{sentence_subject});
        CHECK(sentence_in(visit).awaited_model() == "tiny");
        load_tiny_model(visit);
        give_words(visit, 6);
        CHECK(visit.state().subject == sentence_subject);
        CHECK(page.notices.empty());
    }
    SECTION("and stays if it does not arrive") {
        sentence_in(visit).model_failed();
        CHECK(visit.state().subject == worked_subject);
        CHECK(page.url == "");  // which names no model that is not there
        CHECK(sentence_of(visit.state()).model.empty());
        CHECK(lesson_of(visit.state()).is_open());
        CHECK_FALSE(page.can_undo);
        visit.perform(SetTemperature{2});
        visit.undo();
        CHECK(visit.state().subject == worked_subject);
    }
}

TEST_CASE("the address of the home carries every lesson but the first") {
    Home home;
    auto& [page, visit] = home;
    visit.start("");
    visit.perform(OpenLesson{{.name = "first-steps", .text = {}}});
    CHECK(page.url == "");
    visit.perform(OpenLesson{{.name = "one-token-back", .text = {}}});
    CHECK(page.url.find("lesson=one-token-back") != std::string::npos);
    visit.perform(OpenLesson{{.name = {}, .text = "---\ntitle: Mine\n---\n"}});
    CHECK(page.url.find("lesson.text=") != std::string::npos);
    visit.perform(CloseLesson{});
    CHECK(page.url == "");
}

TEST_CASE("a link is shown at once, whatever its model does") {
    Home home;
    auto& [page, visit] = home;
    visit.start("lens=sentence&model=tiny&text=abc");
    visit.show_meanwhile();
    CHECK(visit.state().subject == sentence_subject);
}

TEST_CASE("a link to a model of the hub requests it by the link's name, and users read a shorter one") {
    const std::string commit = "607a30d783dfa663caf39e06633721c8d4cfcd7e",
                      name = "hub:openai-community/gpt2@" + commit;
    CHECK(shown_name(name) == "openai-community/gpt2");
    CHECK(shown_name(name + "/q4/gpt2.gguf") == "openai-community/gpt2/q4/gpt2.gguf");
    CHECK(shown_name("hub:EleutherAI/pythia-70m@step1000") == "EleutherAI/pythia-70m@step1000");
    CHECK(shown_name("hub:org/name@refs%2Fpr%2F1/q4/x.gguf") == "org/name@refs/pr/1/q4/x.gguf");
    CHECK(shown_name("hub:openai-community/gpt2") == "openai-community/gpt2");
    CHECK(shown_name("tiny@" + commit) == "tiny@" + commit);

    FakePage page;
    page.bundled = {name};
    Visit visit{page};
    const std::string link = "v=1&subject=sentence&text=ab&model=hub%3Aopenai-community%2Fgpt2%40" + commit;
    visit.start(link);
    CHECK(page.opened == std::vector<std::string>{name});
    CHECK(sentence_in(visit).awaited_model() == name);
    CHECK(page.placeholder == "Waiting for openai-community/gpt2");
    visit.intake(FileKind::model)->failed();
    CHECK(sentence_in(visit).awaited_model().empty());
    CHECK(sentence_of(visit.state()).model == name);
    load_files(visit, name, golden_model("gpt2-f32"));
    CHECK(sentence_in(visit).model_name() == name);
    CHECK(to_fragment(visit.state()).find("model=hub:openai-community%2Fgpt2%40" + commit) !=
          std::string::npos);
}

TEST_CASE("a link to the subject alone opens the bundled model") {
    Home home;
    auto& [page, visit] = home;
    visit.start("v=1&subject=sentence&lens=layers");
    CHECK(page.opened == std::vector<std::string>{"tiny"});
    CHECK(visit.state().lens == "layers");
    CHECK(sentence_of(visit.state()).text == first_twin());
    load_tiny_model(visit);
    give_words(visit, 6);
    CHECK(visit.state().selection.layer == 1);
    CHECK(visit.state().selection.head == 2);
    // The user's own text stays, and with a model open, nothing else is fetched.
    Home other;
    other.visit.start("v=1&subject=sentence&text=my%20own");
    CHECK(other.page.opened == std::vector<std::string>{"tiny"});
    CHECK(sentence_of(other.visit.state()).text == "my own");
    load_tiny_model(other.visit);
    other.visit.open_fragment("v=1&subject=sentence");
    CHECK(other.page.opened.size() == 1);
    CHECK(sentence_of(other.visit.state()).text == first_twin());
}
