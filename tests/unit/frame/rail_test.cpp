// Checks that the rail says which lenses have what they need here, and that a lens that lacks only one step
// takes it.
#include <algorithm>
#include <catch_amalgamated.hpp>

#include "subjects/sentence/twins.hpp"
#include "support/translator.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

std::string reason_at(const std::string& key) {
    const auto& nodes = ui::semantics();
    const auto node = std::ranges::find(nodes, key, &ui::Node::key);
    INFO("the node " << key);
    REQUIRE(node != nodes.end());
    return node->description;
}

// Says whether a lens's name is grey in the rail, where no other text has that colour.
bool greyed(const std::string& landmark) {
    const Rect at = rect(landmark);
    for (const ImDrawList* list : ImGui::GetDrawData()->CmdLists)
        for (const ImDrawVert& each : list->VtxBuffer)
            if (each.pos.x > at.left + 12 && each.pos.x < at.right && each.pos.y > at.top + 4 &&
                each.pos.y < at.bottom - 4 && each.col == ui::theme().dim)
                return true;
    return false;
}

constexpr const char* need_vectors[] = {"ladder", "softmax", "gradient", "inverse",
                                        "order",  "tiles",   "geometry", "memory"};

}  // namespace

TEST_CASE("lenses that finished weights cannot serve are grey in the rail and say why") {
    Screen screen;
    screen.visit.perform(OpenSubject{tensors_subject});
    put(screen.visit, {{"weights.npy", weights_npy({2, 3, 4, 4})}});
    screen.settle();
    for (const char* lens : need_vectors) {
        const std::string landmark = std::string("lens/") + lens;
        INFO(landmark);
        const auto missing = lens_in(screen.visit, lens).missing(subject_in(screen.visit));
        REQUIRE(missing);
        CHECK(greyed(landmark));
        CHECK(reason_at(landmark).ends_with(missing->sentence));
    }
    for (const char* lens : {"overview", "scale", "masks"}) {
        INFO(lens);
        CHECK_FALSE(greyed(std::string("lens/") + lens));
    }
    // The same appears in a phone's menu.
    ImGui::GetIO().DisplaySize = {390, 844};
    screen.settle();
    screen.click("lens-menu");
    CHECK(greyed("lens/ladder"));
    CHECK(reason_at("lens/ladder").ends_with("."));
    CHECK_FALSE(greyed("lens/masks"));
}

TEST_CASE("a lens without anything to show in a subject says which subjects have something") {
    Screen screen;
    screen.visit.perform(OpenSubject{tensors_subject});
    screen.settle();
    CHECK(greyed("lens/compare"));
    CHECK(reason_at("lens/compare")
              .ends_with("There is nothing for this lens here; there is in Example, Sentence and Training."));
    CHECK(reason_at("lens/curves").ends_with("There is nothing for this lens here; there is in Training."));
}

TEST_CASE("with queries and keys, the same lenses are not grey") {
    Screen screen;
    screen.visit.perform(OpenSubject{tensors_subject});
    put(screen.visit, {{"q.npy", normal_npy({2, 5, 4}, 1)},
                       {"k.npy", normal_npy({2, 5, 4}, 2)},
                       {"v.npy", normal_npy({2, 5, 4}, 3)}});
    screen.settle();
    for (const char* lens : need_vectors) {
        INFO(lens);
        CHECK_FALSE(greyed(std::string("lens/") + lens));
    }
}

TEST_CASE("Compare opens with a second sentence, Translation with the translator") {
    Screen screen;
    screen.page.bundled = {"translator"};
    screen.open_sentence();
    CHECK_FALSE(greyed("lens/compare"));
    CHECK_FALSE(greyed("lens/translation"));
    screen.click("lens/compare");
    CHECK(screen.visit.state().lens == "compare");
    CHECK(screen.page.second == "some words");
    screen.visit.tokens({Box::second, "some words", {1, 2, 3}, {"a", "b", "c"}, 3});
    screen.settle();
    CHECK_FALSE(screen.shows("missing"));
    screen.click("lens/translation");
    CHECK(screen.visit.state().lens == "translation");
    open_awaited_translator(screen.visit, screen.page);
    screen.settle();
    CHECK_FALSE(screen.shows("missing"));
}

TEST_CASE("if nothing is open, a button leads to what is needed") {
    Screen screen;
    screen.page.bundled = {"tiny"};
    screen.visit.set_home({"tiny", 0, 1});
    screen.visit.start("v=1&subject=worked");
    screen.visit.perform(OpenSubject{sentence_subject});
    screen.settle();
    screen.click("sentence/open");
    CHECK(screen.page.opened == std::vector<std::string>{"tiny"});
    CHECK(sentence_of(screen.visit.state()).text == first_twin());

    Screen typed;
    load_tiny_model(typed.visit);
    typed.settle();
    typed.click("sentence/example");
    CHECK(sentence_of(typed.visit.state()).text == first_twin());
}
