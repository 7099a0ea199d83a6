// Tests the frame around a lens, and that everything stays in place at every window size.

#include <catch_amalgamated.hpp>

#include "support/this_build.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

TEST_CASE("a wide window: tabs of subjects, a rail of lenses, the lens, the inspector and the status line") {
    Screen screen;
    screen.draw(3);
    for (const SubjectEntry& subject : subject_list())
        CHECK(screen.shows("subject/" + std::string(subject.key)));
    for (const LensEntry& lens : lens_list()) CHECK(screen.shows("lens/" + std::string(lens.key)));
    const Rect rail = rect("panel/rail"), lens = rect("panel/lens"), inspector = rect("panel/inspector"),
               status = rect("panel/status"), tabs = rect("panel/tabs");
    CHECK(rail.right <= lens.left);
    CHECK(tabs.bottom <= lens.top);
    CHECK(lens.right <= inspector.left);
    CHECK(lens.bottom <= status.top);
    CHECK(status.right == 1440);
    CHECK(screen.shows("weight/0/1"));
}

TEST_CASE("memory that jitters around a rounding boundary leaves the picture unchanged") {
    Screen screen;
    const auto drawn = [&](std::size_t heap_bytes) {
        screen.heap_bytes = heap_bytes;
        screen.draw(2);
        std::string bytes;
        for (const ImDrawList* list : ImGui::GetDrawData()->CmdLists)
            bytes.append(reinterpret_cast<const char*>(list->VtxBuffer.Data),
                         static_cast<std::size_t>(list->VtxBuffer.size_in_bytes()));
        return bytes;
    };
    screen.heap_bytes = 6'949'000;
    screen.settle();
    const std::string before = drawn(6'949'000);
    CHECK((drawn(6'951'000) == before));
    CHECK((drawn(6'949'000) == before));
    CHECK((drawn(7'060'000) != before));
}

TEST_CASE("a phone: subjects as tabs, lenses behind one button, a sheet for the pinned cell") {
    Screen screen({390, 740});
    screen.draw(3);
    CHECK_FALSE(screen.shows("panel/rail"));
    for (const SubjectEntry& subject : subject_list()) {
        const Rect tab = rect("subject/" + std::string(subject.key));
        CHECK(tab.left >= 0);
        CHECK(tab.right <= 390);
    }
    const std::string last(lens_list().back().key);
    CHECK_FALSE(screen.shows("lens/" + last));
    screen.click("lens-menu");
    REQUIRE(screen.shows("lens/" + last));
    CHECK(rect("lens/" + last).bottom <= rect("panel/status").top);
    screen.click("lens/" + last);
    CHECK(screen.visit.state().lens == last);
    CHECK_FALSE(screen.shows("lens/" + last));
    screen.visit.perform(OpenLens{"ladder"});
    screen.visit.perform(Pin{RunCell{Stage::weight, 0, 1}});
    screen.draw(3);
    CHECK(rect("panel/inspector").bottom <= rect("panel/status").top + 1);
    CHECK(rect("panel/lens").bottom <= rect("panel/inspector").top + 1);
}

TEST_CASE("tabs and rail are two choices, and undo takes them back") {
    Screen screen;
    screen.draw(3);
    CHECK(screen.visit.state().lens == "ladder");
    screen.click("lens/overview");
    CHECK(screen.visit.state().lens == "overview");
    CHECK(screen.visit.state().subject == worked_subject);
    screen.click("subject/training");
    CHECK(screen.visit.state().subject == training_subject);
    CHECK(screen.visit.state().lens == "curves");
    screen.visit.undo();
    CHECK(screen.visit.state().subject == worked_subject);
    CHECK(screen.visit.state().lens == "overview");
}

TEST_CASE("a cell is explained under the cursor, pinned by a click and released by Escape") {
    Screen screen;
    screen.draw(3);
    screen.hover("weight/1/2");
    CHECK(screen.frame.explained_cell() == RunCell{Stage::weight, 1, 2});
    screen.click("weight/1/2");
    CHECK(screen.visit.state().pin == RunCell{Stage::weight, 1, 2});
    screen.hover("subject/worked");
    CHECK(screen.frame.explained_cell() == RunCell{Stage::weight, 1, 2});
    screen.press(ImGuiKey_Escape);
    CHECK_FALSE(screen.visit.state().pin);
}

TEST_CASE("the wheel scrolls the page over a map and a flow, until they were clicked or Ctrl is held") {
    Screen screen({900, 600});
    screen.open_sentence(60);
    const auto turn = [&](float notches) {
        ImGui::GetIO().AddMouseWheelEvent(0, notches);
        screen.draw(2);
    };
    for (const std::string part : {"flow", "map"}) {
        INFO(part);
        const auto width = [&] {
            return part == "map" ? rect("map/0/0").right - rect("map/0/0").left
                                 : rect("token/2").left - rect("token/0").left;
        };
        const Rect lens = rect("panel/lens");
        ImGui::GetIO().AddMousePosEvent(lens.right - 4, (lens.top + lens.bottom) / 2);
        screen.draw(60);
        for (int i = 0; i < 40 && rect(part).bottom > lens.bottom; ++i) turn(-0.5f);
        screen.draw(60);
        const float before = width(), top = rect(part).top;
        const ImVec2 at{rect(part).left + 3, std::max(rect(part).top, lens.top) + 10};
        ImGui::GetIO().AddMousePosEvent(at.x, at.y);
        screen.draw(60);
        turn(-0.2f);
        CHECK(width() == before);
        CHECK(rect(part).top < top);
        turn(0.2f);
        screen.hold(ImGuiMod_Ctrl, [&] { turn(part == "map" ? 1.0f : -1.0f); });
        CHECK(width() != before);
    }
}

TEST_CASE("a frame that changes nothing moves nothing, at any width") {
    const std::vector<float> few = {390, 1440}, all = {320, 390, 700, 819, 820, 1024, 1440, 2560};
    for (const float width : test::sanitized ? few : all) {
        Screen screen({width, 800});
        screen.open_sentence();
        for (const LensEntry& lens : lens_list()) {
            screen.visit.perform(OpenLens{lens.key});
            screen.settle();
            const auto before = ui::landmarks();
            screen.draw();
            INFO("width " << width << ", lens " << lens.key);
            CHECK_FALSE(screen.visit.frame_computes());
            CHECK_FALSE(screen.visit.busy());
            CHECK(before.size() == ui::landmarks().size());
            for (const auto& [name, place] : before) {
                INFO(name);
                REQUIRE(ui::landmarks().contains(name));
                CHECK(ui::landmarks().at(name).min.x == place.min.x);
                CHECK(ui::landmarks().at(name).min.y == place.min.y);
            }
        }
    }
}
