// Checks where the words of a text are: in the list for screen readers, and in view with what the chosen one
// attends to.
#include <algorithm>
#include <catch_amalgamated.hpp>

#include "app/looks.hpp"
#include "subjects/reading.hpp"
#include "subjects/sentence/commands.hpp"
#include "unit/frame/screen.hpp"
#include "widgets/token_line.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// Returns the keys of the nodes that belong to this one.
std::vector<std::string> told_in(const std::string& list) {
    const auto& nodes = ui::semantics();
    auto node = std::ranges::find(nodes, list, &ui::Node::key);
    INFO(list);
    REQUIRE(node != nodes.end());
    std::vector<std::string> keys;
    const int depth = node->depth;
    for (++node; node != nodes.end() && node->depth > depth; ++node) keys.push_back(node->key);
    return keys;
}

std::vector<std::string> numbered(const std::string& prefix, Index count) {
    std::vector<std::string> keys;
    for (Index i = 0; i < count; ++i) keys.push_back(prefix + std::to_string(i));
    return keys;
}

void show_flow(Screen& screen, FlowForm form) {
    screen.visit.perform(OpenLens{"overview"});
    FlowChoice flow = looks_of(screen.visit.state()).flow;
    flow.form = form;
    screen.visit.perform(SetFlow{flow});
    screen.settle();
}

void choose(Screen& screen, HeadIndex head, Index query) {
    Selection selection = screen.visit.state().selection;
    selection.layer = head.layer;
    selection.head = head.head;
    selection.query = query;
    selection.key.reset();
    screen.visit.perform(Select{selection});
    screen.settle();
}

// Writes a text of this many long words into a box.
void write(Screen& screen, Box box, Index words, const std::string& name = "remarkable") {
    const std::string text = name + std::to_string(words);
    TokenizedText split{box, text, {}, {}, words};
    for (Index i = 0; i < words; ++i) {
        split.ids.push_back(static_cast<std::int32_t>((i * i + words) % 5));
        split.pieces.push_back("·" + name + std::to_string(i));
    }
    if (box == Box::first)
        screen.visit.perform(SetText{text});
    else
        screen.visit.perform(Compare{Comparison{.text = text}});
    screen.visit.tokens(split);
    screen.settle();
}

// Says whether a word is in view as far as it fits.
bool in_view(const Screen& screen, const std::string& word, const Rect& view) {
    if (!screen.shows(word)) return false;
    const Rect at = rect(word);
    const float slack = 2;
    return at.left >= view.left - slack && at.right <= view.right + slack && at.top >= view.top - slack &&
           at.bottom <= view.bottom + slack;
}

Rect joined(const std::string& first, const std::string& second) {
    const Rect a = rect(first), b = rect(second);
    return {std::min(a.left, b.left), std::min(a.top, b.top), std::max(a.right, b.right),
            std::max(a.bottom, b.bottom)};
}

// Checks that the chosen query is in view, with what the lens says of it, or with its name where it would be.
void check_view(Screen& screen, const std::string& view, const std::string& words, const std::string& keys,
                const Attention& attention) {
    const Selection& s = screen.visit.state().selection;
    CAPTURE(view, s.layer, s.head, *s.query);
    const Rect room = rect(view);
    CHECK(in_view(screen, words + std::to_string(*s.query), room));
    const auto reading = read_row(attention, s.layer, s.head, s.query);
    REQUIRE(reading);
    const Reading::Look* look = reading->strongest();
    REQUIRE(look);
    const std::string first = keys + std::to_string(look->keys.begin),
                      last = keys + std::to_string(look->keys.end - 1);
    const std::string beyond = view + "/beyond";
    CAPTURE(first, last);
    if (screen.shows(beyond)) {
        CHECK(in_view(screen, beyond, room));
        const Rect at = rect(beyond);
        const bool before = look->keys.begin < *s.query;
        const bool across = at.bottom - at.top > 30;  // a line of words, no column
        if (across) CHECK((at.left + at.right < room.left + room.right) == before);
        if (!across) CHECK((at.top + at.bottom < room.top + room.bottom) == before);
        return;
    }
    CHECK(in_view(screen, first, room));
    CHECK(in_view(screen, last, room));
    const Rect both = joined(words + std::to_string(*s.query), first);
    CHECK(both.right - both.left <= room.right - room.left + 2);
}

constexpr ImVec2 sizes[]{{1440, 846}, {390, 760}};

}  // namespace

TEST_CASE("the words of a flow are told in their order, whichever is chosen or has the focus") {
    for (const ImVec2 size : sizes)
        for (const FlowForm form : {FlowForm::arcs, FlowForm::columns}) {
            Screen screen(size);
            screen.open_sentence();
            write(screen, Box::first, 14);
            show_flow(screen, form);
            const auto check = [&] {
                CHECK(told_in("flow/words") == numbered("token/", 14));
                if (form == FlowForm::columns) CHECK(told_in("flow/keys") == numbered("flow/key/", 14));
            };
            check();
            choose(screen, {1, 0}, 9);
            check();
            for (const Index i : {13, 0, 5, 4}) {
                const std::string word = "token/" + std::to_string(i);
                ui::focus_node(word, -1, -1);
                screen.draw(5);
                check();
                CHECK(in_view(screen, word, rect("flow")));
            }
            ui::focus_node("", -1, -1);
        }
}

TEST_CASE("the words of a long text are told in order around the one that has the focus") {
    const auto told = ui::told_words(3000, {700, 701, 705}, 40);
    CHECK(std::ranges::is_sorted(told));
    CHECK(told.front() == 0);
    CHECK(told.back() == 2999);
    for (const Index i : {20, 39, 40, 41, 60, 700, 701, 705}) CHECK(std::ranges::count(told, i) == 1);
    CHECK(told.size() < 100);
}

TEST_CASE("the words of two sentences are told in their order") {
    for (const ImVec2 size : sizes) {
        Screen screen(size);
        screen.open_sentence();
        write(screen, Box::first, 14);
        write(screen, Box::second, 12);
        screen.visit.perform(OpenLens{"compare"});
        screen.settle();
        for (const Index query : {2, 11, 0}) {
            choose(screen, {1, 2}, query);
            CHECK(told_in("compare/first") == numbered("compare/first/", 14));
            CHECK(told_in("compare/second") == numbered("compare/second/", 12));
            ui::focus_node("compare/first/13", -1, -1);
            screen.draw(5);
            CHECK(screen.shows("compare/first/13"));
            ui::focus_node("", -1, -1);
        }
    }
}

TEST_CASE("a flow shows the chosen word and the word that it attends to most") {
    for (const ImVec2 size : sizes)
        for (const FlowForm form : {FlowForm::arcs, FlowForm::columns})
            for (const Index words : {9, 18}) {
                CAPTURE(size.x, static_cast<int>(form), words);
                Screen screen(size);
                screen.open_sentence();
                write(screen, Box::first, words);
                show_flow(screen, form);
                const std::string keys = form == FlowForm::arcs ? "token/" : "flow/key/";
                const auto check = [&] {
                    check_view(screen, "flow", "token/", keys, *subject_in(screen.visit).attention());
                };
                for (const Index query : {words - 1, Index{3}, words / 2, Index{0}, words - 2})
                    for (const HeadIndex head : {HeadIndex{0, 0}, HeadIndex{1, 2}, HeadIndex{1, 3}}) {
                        choose(screen, head, query);
                        check();
                    }
                // A new text is shown in the same way, and so is one that is a word longer.
                for (const Index now : {words - 4, words - 3}) {
                    write(screen, Box::first, now);
                    check();
                    write(screen, Box::first, now, "another");
                    check();
                }
            }
}

TEST_CASE("words that do not fit become smaller as long as they can be read") {
    Screen screen({390, 760});
    screen.open_sentence();
    write(screen, Box::first, 18);
    show_flow(screen, FlowForm::arcs);
    const float full = rect("token/1").right - rect("token/1").left;
    float least = full;
    for (Index query = 0; query < 18; query += 2)
        for (Index head = 0; head < 4; ++head) {
            choose(screen, {1, head}, query);
            const Rect at = rect("token/" + std::to_string(query));
            least = std::min(least, at.right - at.left);
        }
    CHECK(least >= 0.69f * full);
    if (screen.shows("flow/beyond")) {
        screen.click("flow/beyond");
        screen.settle();
        CHECK_FALSE(screen.shows("flow/beyond"));
    }
}

TEST_CASE("two sentences are scrolled to the compared word and to what it attends to most") {
    for (const ImVec2 size : sizes) {
        Screen screen(size);
        screen.open_sentence();
        write(screen, Box::first, 18);
        write(screen, Box::second, 17, "memorable");
        screen.visit.perform(OpenLens{"compare"});
        screen.settle();
        for (const Index query : {17, 3, 9})
            for (const HeadIndex head : {HeadIndex{0, 0}, HeadIndex{1, 2}, HeadIndex{1, 3}}) {
                choose(screen, head, query);
                check_view(screen, "compare/first", "compare/first/", "compare/first/",
                           *subject_in(screen.visit).attention());
            }
    }
}
