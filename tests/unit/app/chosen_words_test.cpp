// Checks which words stay chosen when the text changes.
#include <catch_amalgamated.hpp>
#include <numeric>

#include "subjects/sentence/commands.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// A sentence in a small model, in which a text can be written as one does in the box.
struct Written {
    FakePage page;
    Visit visit{page};

    Written() {
        load_tiny_model(visit);
        visit.perform(OpenSubject{sentence_subject});
    }
    void write(const std::vector<std::string>& pieces, Box box = Box::first) {
        std::string text;
        std::vector<std::int32_t> ids;
        for (const std::string& piece : pieces) {
            text += piece;
            ids.push_back(std::accumulate(piece.begin(), piece.end(), 0) & 7);
        }
        visit.text_typed(box, text);
        visit.tokens({box, text, ids, pieces, std::ssize(pieces)});
        finish(visit);
    }
    void choose(std::optional<Index> query, std::optional<Index> key) {
        visit.perform(Select{{1, 2, query, key, {}}});
    }
    const Selection& chosen() const { return visit.state().selection; }
};

}  // namespace

TEST_CASE("a chosen word stays chosen while only what follows it changes") {
    Written w;
    w.write({"The", "·cat", "·sat", "·on", "·it"});
    w.choose(2, 1);
    w.write({"The", "·cat", "·sat", "·down"});
    CHECK(w.chosen().query == 2);
    CHECK(w.chosen().key == 1);
    w.write({"The", "·cat", "·sat", "·down", "·and", "·slept"});
    CHECK(w.chosen().query == 2);
    CHECK(w.chosen().key == 1);
    CHECK(w.chosen().layer == 1);
    CHECK(w.chosen().head == 2);
}

TEST_CASE("of a new text the last word is chosen, as when a text is opened") {
    Written w;
    w.write({"The", "·cat", "·sat", "·on", "·it"});
    SECTION("all of it is new") { w.write({"A", "·dog", "·ran", "·to", "·her", "·and", "·me"}); }
    SECTION("all of it is new, and a word is chosen") {
        w.choose(2, 1);
        w.write({"A", "·dog", "·ran", "·to", "·her", "·and", "·me"});
        CHECK(w.chosen().query == 6);
        CHECK_FALSE(w.chosen().key);
        CHECK(w.chosen().layer == 1);
        CHECK(w.chosen().head == 2);
        w.visit.undo();
        finish(w.visit);
        w.write({"The", "·cat", "·sat", "·on", "·it"});
    }
    SECTION("a word before the chosen one changes") {
        w.choose(3, 0);
        w.write({"The", "·dog", "·sat", "·on", "·it"});
        CHECK(w.chosen().query == 4);
        CHECK(w.chosen().key == 0);
    }
    SECTION("the chosen word itself changes") {
        w.choose(3, 3);
        w.write({"The", "·cat", "·sat", "·beside", "·it"});
        CHECK(w.chosen().query == 4);
        CHECK_FALSE(w.chosen().key);
    }
    SECTION("the chosen word is deleted") {
        w.choose(3, {});
        w.write({"The", "·cat"});
        CHECK(w.chosen().query == 1);
    }
    SECTION("it is typed over a text letter by letter") {
        w.choose(1, {});
        w.write({"A"});
        CHECK(w.chosen().query == 0);
        w.write({"A", "·dog"});
        w.write({"A", "·dog", "·ran"});
        CHECK(w.chosen().query == 2);
    }
    SECTION("the box is emptied first") {
        w.choose(1, {});
        w.write({});
        w.write({"A", "·dog", "·ran"});
        CHECK(w.chosen().query == 2);
    }
}

TEST_CASE("where no word is chosen none is chosen in a new text") {
    Written w;
    w.write({"The", "·cat", "·sat"});
    w.choose({}, {});
    w.write({"A", "·dog", "·ran", "·off"});
    CHECK_FALSE(w.chosen().query);
}

TEST_CASE("undo brings back the text and the word that was chosen in it") {
    Written w;
    const std::vector<std::string> cat{"The", "·cat", "·sat", "·on", "·it"};
    w.write(cat);
    w.choose(2, {});
    w.write({"A", "·dog", "·ran"});
    REQUIRE(w.chosen().query == 2);
    w.write({"No", "·dog", "·ran", "·to", "·me", "·or", "·you"});
    REQUIRE(w.chosen().query == 6);
}

TEST_CASE("the counterpart in a second sentence is dropped when its word changes") {
    Written w;
    w.write({"The", "·cat", "·sat"});
    w.visit.perform(Compare{Comparison{.text = "x"}});
    w.write({"The", "·dog", "·sat", "·too"}, Box::second);
    w.visit.perform(Select{{1, 2, 1, {}, 3}});
    w.write({"The", "·dog", "·sat", "·too", "·often"}, Box::second);
    CHECK(w.chosen().counterpart == 3);
    w.write({"Some", "·dog", "·sat", "·too", "·often"}, Box::second);
    CHECK_FALSE(w.chosen().counterpart);
}
