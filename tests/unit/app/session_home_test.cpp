// How the bare address opens where a model comes with the page.
#include "app/session.hpp"
#include "app/twins.hpp"
#include "app/url.hpp"
#include "unit/app/support.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// Tokens of a text of n words, as the page gives them.
void give_words(Session& session, Index n) {
    std::vector<std::int32_t> ids;
    for (Index i = 0; i < n; ++i)
        ids.push_back(static_cast<std::int32_t>(i + std::ssize(session.state().sentence.text) % 5));
    session.tokens(session.state().sentence.text, ids, std::vector<std::string>(ids.size(), "word"), n);
    finish(session);
}

// Where the bare address opens with a model that comes with the page.
struct Home {
    FakePage page;
    Session session{page};
    Home() {
        page.bundled = {"tiny"};
        session.set_home("tiny", 1, 2);
    }
};

}  // namespace

TEST_CASE("the bare address opens with the model that comes with the page, its head and the last word") {
    Home home;
    auto& [page, session] = home;
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
    Home home;
    auto& [page, session] = home;
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
    Home home;
    auto& [page, session] = home;
    session.start("");
    session.model_failed();
    CHECK(session.awaited_model().empty());
    CHECK(session.state() == default_state());
    CHECK_FALSE(page.can_undo);
    session.perform(SetTemperature{2});
    session.undo();
    CHECK(page.url == "");
}
