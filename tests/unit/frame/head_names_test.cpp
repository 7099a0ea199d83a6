// Checks that measured scores of heads can be seen and found: over the picture, in the palette, and in the
// chooser.
#include "analysis/heads/head_roles.hpp"
#include "frame/palette.hpp"
#include "unit/frame/screen.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

HeadIndex chosen(const Screen& screen) {
    return {screen.visit.state().selection.layer, screen.visit.state().selection.head};
}

}  // namespace

TEST_CASE("the palette and the chooser find the best head, and then the next best") {
    Screen screen;
    screen.open_sentence();
    const NamedHeads* named = subject_in(screen.visit).named_heads();
    REQUIRE(named);
    const auto order = strongest_first(named->table, HeadRole::previous_token);
    screen.visit.perform(Select{{order.back().layer, order.back().head, {}, {}, {}}});
    const auto find = [&] {
        auto found = found_in(palette_entries(screen.visit), "find a head that looks at the previous", 10);
        REQUIRE(found.size() == 1);
        CHECK(found[0].kind == "head");
        found[0].act(screen.visit);
    };
    find();
    CHECK(chosen(screen) == order[0]);
    find();
    CHECK(chosen(screen) == order[1]);
    screen.draw(2);
    screen.click("heads/find");
    screen.click("heads/find/looks at the previous token");
    CHECK(chosen(screen) == order[2]);
    // No score was measured for pronouns.
    CHECK(found_in(palette_entries(screen.visit), "find pronouns", 10).empty());
    CHECK(screen.shows("head-name"));
}

TEST_CASE("the scatter starts with the two scores that spread most; a link keeps its own") {
    Screen screen;
    screen.open_sentence();
    screen.click("heads/view/scatter");
    const auto widest = widest_scores(*subject_in(screen.visit).attention()->overview());
    REQUIRE(widest);
    const HeadsChoice heads = looks_of(screen.visit.state()).heads;
    CHECK(heads.by == (*widest)[0]);
    CHECK(heads.against == (*widest)[1]);
    screen.visit.open_fragment("v=1&lens=sentence&heads=first,distance");
    CHECK(looks_of(screen.visit.state()).heads == HeadsChoice{HeadScore::first_token, HeadScore::distance});
}

TEST_CASE("choosing a head from the menu leaves the others in place, also far down") {
    Screen screen({1440, 900});
    open_model(screen, {"gpt2", R"({"model_type": "gpt2", "vocab_size": 20, "n_positions": 16, "n_embd": 16,
        "n_layer": 24, "n_head": 2})"});
    screen.settle();
    screen.hover("head-choice/3/1");  // opens the menu
    for (int notches = 0; notches < 30; ++notches) {
        ImGui::GetIO().AddMouseWheelEvent(0, -1);
        screen.draw();
    }
    screen.settle();
    const std::array heads{"head-choice/20/1", "head-choice/21/0", "head-choice/22/1"};
    REQUIRE(screen.shows(heads.back()));
    const auto places = [&] {
        std::vector<float> all;
        for (const char* head : heads) all.push_back(rect(head).top);
        return all;
    };
    const std::vector<float> before = places();
    for (const char* head : heads) {
        screen.click(head);
        screen.settle();
        CHECK(screen.visit.state().selection.layer >= 20);
        CHECK(places() == before);
    }
}
