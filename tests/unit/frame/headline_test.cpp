// Checks what a lens says in its headline, and what stands beside it when another lens is opened.
#include <algorithm>
#include <catch_amalgamated.hpp>

#include "subjects/worked/commands.hpp"
#include "text/utf8.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// The headline's characters; names in quotation marks, which may be long, count as one.
std::ptrdiff_t length_of_headline(std::string_view told) {
    std::string text(told.substr(0, told.find('\n')));
    for (std::size_t open = 0; (open = text.find("“", open)) != text.npos; ++open)
        text.replace(open, text.find("”", open) + 3 - open, "x");
    return count_code_points(text);
}

bool says(std::string_view text) {
    return std::ranges::any_of(
        ui::semantics(), [&](const ui::Node& node) { return node.name.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a headline has at most 90 characters, and what it leaves out stands below it") {
    Screen screen({1440, 900});
    screen.open_sentence(9);
    int below = 0;
    for (const std::string_view subject : {sentence_subject, worked_subject})
        for (const LensEntry& lens : lens_list()) {
            INFO(subject << " through " << lens.key);
            screen.visit.perform(OpenSubject{subject});
            screen.visit.perform(OpenLens{lens.key});
            screen.settle();
            const std::string told = lens_in(screen.visit).spoken(subject_in(screen.visit));
            INFO(told);
            CHECK(length_of_headline(told) <= 90);
            CHECK(screen.frame.spoken() == on_one_line(told));
            if (const auto end = told.find('\n'); end != told.npos) {
                ++below;
                CHECK(says(told.substr(end + 1)));
            }
        }
    CHECK(below > 5);
}

TEST_CASE("a pin from the lens before does not hide what the new lens is about") {
    Screen screen({1440, 900});
    screen.visit.perform(Together{{OpenSubject{worked_subject}, OpenLens{"ladder"}}});
    screen.settle();
    screen.click("x/1/1");
    REQUIRE(screen.visit.state().pin);
    CHECK_FALSE(says("Why √d_k"));
    ImGui::GetIO().AddMousePosEvent(-1, -1);
    screen.visit.perform(OpenLens{"scale"});
    screen.settle();
    CHECK(says("Why √d_k"));
    CHECK(says("X[sat, 1]"));
    screen.visit.perform(Pin{RunCell{Stage::raw, 1, 1}});
    screen.draw(2);
    CHECK_FALSE(says("Why √d_k"));
}
