// Tests that texts name actions according to the kind of pointer.
#include "widgets/wording.hpp"

#include <catch_amalgamated.hpp>

#include "lenses/lens.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("fingers tap and open; quoted words and other words stay unchanged") {
    CHECK(ui::for_fingers("Hover over a cell to see its value. Click to keep it here.") ==
          "Tap a cell to see its value. It stays here.");
    CHECK(ui::for_fingers("Drop its folder onto the page, or point at “click”.") ==
          "Open its folder, or tap “click”.");
    CHECK(ui::for_fingers("The loss drops by 2, a drop of half; the dropout stays.") ==
          "The loss drops by 2, a drop of half; the dropout stays.");
    CHECK(ui::for_fingers("A double click shows all of it (or Ctrl + scroll).") ==
          "A double tap shows all of it (or two fingers).");
}

namespace {
bool speaks_of_a_mouse(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const char* word :
         {"click", "hover", "point at ", "ctrl", "mouse", "onto the page", "onto this page"})
        if (text.find(word) != std::string::npos) return true;
    return false;
}
}  // namespace

TEST_CASE("on a phone no lens mentions a mouse, on any subject") {
    for (const bool sentence : {false, true}) {
        Screen screen({390, 740});
        ui::use_touch();
        ui::use_theme(false);
        if (sentence) screen.open_sentence();
        for (const app::LensEntry& lens : app::lens_list()) {
            screen.visit.perform(app::OpenLens{lens.key});
            screen.settle();
            screen.click("guide");
            screen.draw(3);
            for (const ui::Node& node : ui::semantics()) {
                CAPTURE(lens.key, node.key, node.name, node.description);
                CHECK_FALSE(speaks_of_a_mouse(node.name));
                CHECK_FALSE(speaks_of_a_mouse(node.description));
            }
            screen.click("sheet/close");
        }
    }
}
