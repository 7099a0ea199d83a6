// Tests that a tooltip never covers what it explains, and lies entirely within the window.
#include <algorithm>
#include <catch_amalgamated.hpp>

#include "unit/frame/screen.hpp"
#include "widgets/controls.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

bool apart(const ui::Landmark& a, const ui::Landmark& b) {
    return a.max.x <= b.min.x || b.max.x <= a.min.x || a.max.y <= b.min.y || b.max.y <= a.min.y;
}

}  // namespace

TEST_CASE("a tooltip is in the window, beside what it explains") {
    Screen screen({800, 600});
    screen.draw();
    for (const float x : {0.0f, 300.0f, 740.0f})
        for (const float y : {0.0f, 200.0f, 560.0f}) {
            const ui::Landmark it{{x, y}, {x + 60, y + 30}};
            ImGui::NewFrame();
            ui::tooltip_at(it.min, it.max, "Some words that need more than one line, because they are many");
            ImGui::EndFrame();
            ImGui::Render();
            const ui::Landmark tip = ui::landmarks().at("tooltip");
            INFO("at " << x << ", " << y << ": " << tip.min.x << ", " << tip.min.y);
            CHECK(apart(tip, it));
            CHECK(tip.min.x >= 0);
            CHECK(tip.min.y >= 0);
            CHECK(tip.max.x <= 800);
            CHECK(tip.max.y <= 600);
        }
}

TEST_CASE("tooltips of controls and thumbnails leave them uncovered") {
    Screen screen;
    screen.open_sentence();
    screen.visit.perform(OpenLens{"overview"});
    screen.settle();
    for (const std::string name : {"map/brightest", "head/1/2"}) {
        INFO(name);
        if (!screen.shows(name)) continue;
        screen.hover(name);
        REQUIRE(screen.shows("tooltip"));
        CHECK(apart(ui::landmarks().at("tooltip"), ui::landmarks().at(name)));
    }
}

TEST_CASE("a lens's purpose is in the status line, where it covers nothing") {
    Screen screen({1440, 1200});  // the whole rail
    screen.open_sentence();
    for (const LensEntry& lens : lens_list()) {
        screen.hover("lens/" + std::string(lens.key));
        INFO(lens.key);
        CHECK_FALSE(screen.shows("tooltip"));
        // A lens that lacks something says so instead.
        const std::string told = std::string(lens.name) + ": ";
        CHECK(std::ranges::any_of(ui::semantics(),
                                  [&](const ui::Node& node) { return node.name.starts_with(told); }));
    }
}
