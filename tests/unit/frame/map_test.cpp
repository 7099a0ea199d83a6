// Tests what the mouse does on a map: its window, and how long a click lasts.
#include <catch_amalgamated.hpp>

#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

struct MapScreen : Screen {
    explicit MapScreen(Index words = 18, ImVec2 size = {1440, 846}) : Screen(size) {
        open_sentence(words);
        visit.perform(OpenLens{"overview"});
        settle();
    }
    std::optional<MapExtent> window() const { return looks_of(visit.state()).view; }
    ImVec2 on_map(float across, float down) const {
        const Rect map = rect("map");
        return {map.left + across * (map.right - map.left), map.top + down * (map.bottom - map.top)};
    }
    void turn(float notches) {
        hold(ImGuiMod_Ctrl, [&] {
            ImGui::GetIO().AddMouseWheelEvent(0, notches);
            draw(2);
        });
        settle();
    }
    void click_at(ImVec2 at, int times) {
        ImGuiIO& io = ImGui::GetIO();
        io.AddMousePosEvent(at.x, at.y);
        draw(2);
        for (; times > 0; --times) {
            io.AddMouseButtonEvent(0, true);
            draw();
            io.AddMouseButtonEvent(0, false);
            draw();
        }
        draw(30);  // longer than a double click takes
    }
};

}  // namespace

TEST_CASE("a link holds the visible part of the map") {
    MapScreen screen;
    CHECK_FALSE(screen.window());
    const ImVec2 at = screen.on_map(0.7f, 0.8f);
    ImGui::GetIO().AddMousePosEvent(at.x, at.y);
    screen.draw(2);
    screen.turn(4);
    REQUIRE(screen.window());
    const MapExtent zoomed = *screen.window();
    CHECK(zoomed.queries.size() < 18);
    CHECK(zoomed.keys.begin > 0);
    const std::string link = screen.page.url;
    CHECK(link.find("sentence.window=") != std::string::npos);
    const auto some = [&] {
        return rect("map/" + std::to_string(static_cast<Index>(zoomed.queries.begin) + 2) + "/" +
                    std::to_string(static_cast<Index>(zoomed.keys.begin) + 2));
    };
    const Rect cell = some();
    CHECK(write_view(zoomed).find(',') != std::string::npos);  // its edges cut cells

    screen.visit.perform(ShowWindow{});
    screen.settle();
    CHECK(rect("map/0/0").right - rect("map/0/0").left < cell.right - cell.left);
    CHECK(screen.page.url.find("sentence.window=") == std::string::npos);
    screen.visit.open_fragment(link);
    screen.settle();
    CHECK(screen.window() == zoomed);
    constexpr float hair = 0.05f;  // in points
    CHECK(std::abs(some().left - cell.left) < hair);
    CHECK(std::abs(some().top - cell.top) < hair);
    CHECK(std::abs(some().right - cell.right) < hair);

    // In a window of another size, the same part is in the middle, as large as possible; the link stays the
    // same.
    const ImVec2 window = ImGui::GetIO().DisplaySize;
    ImGui::GetIO().DisplaySize = {window.x - 300, window.y - 100};
    screen.settle();
    CHECK(screen.window() == zoomed);
    const auto middle = [](const MapExtent::Span& span) {
        return std::to_string(static_cast<Index>((span.begin + span.end) / 2));
    };
    CHECK(screen.shows("map/" + middle(zoomed.queries) + "/" + middle(zoomed.keys)));
    ImGui::GetIO().DisplaySize = window;
    screen.settle();
    CHECK(screen.window() == zoomed);

    MapScreen other(13);  // another text is shown whole
    CHECK_FALSE(other.window());
}

TEST_CASE("a link's window waits for its text") {
    MapScreen screen(8);
    screen.visit.perform(ShowWindow{MapExtent::of({11, 16}, {6, 11})});
    screen.settle();
    screen.open_sentence(18);
    CHECK(screen.window() == MapExtent::of({11, 16}, {6, 11}));
    CHECK(screen.shows("map/13/8"));
    CHECK_FALSE(screen.shows("map/2/2"));
}

TEST_CASE("a double click on a map shows all of it and keeps the pin") {
    MapScreen screen;
    screen.click_at(screen.on_map(0.3f, 0.6f), 1);
    const auto pin = screen.visit.state().pin;
    const Selection chosen = screen.visit.state().selection;
    REQUIRE(pin);
    screen.turn(4);
    REQUIRE(screen.window());
    screen.click_at(screen.on_map(0.8f, 0.5f), 2);
    screen.settle();
    CHECK_FALSE(screen.window());
    CHECK(screen.visit.state().pin == pin);
    CHECK(screen.visit.state().selection == chosen);
    screen.click_at(screen.on_map(0.2f, 0.9f), 1);
    CHECK(screen.visit.state().pin != pin);
}

TEST_CASE("a dragged slider sets the number that it shows") {
    Screen screen;
    screen.draw(3);
    screen.bring("temperature");
    const Rect slider = rect("temperature");
    ImGuiIO& io = ImGui::GetIO();
    io.AddMousePosEvent(slider.left + 0.4f * (slider.right - slider.left), (slider.top + slider.bottom) / 2);
    screen.draw(2);
    io.AddMouseButtonEvent(0, true);
    screen.draw(2);
    io.AddMouseButtonEvent(0, false);
    screen.draw(2);
    const double set = worked_of(screen.visit.state()).temperature;
    CHECK(set != 1);
    CHECK(set == std::round(set * 100) / 100);
}

TEST_CASE("numbers beside a map explain themselves under the cursor, without it, and on a click") {
    MapScreen screen(6, {1440, 1600});
    const MapSum row{MapTotal::row_entropy, 3}, column{MapTotal::column_total, 1};
    const auto over = [&](const std::string& strip, const std::string& cell, bool across) {
        const Rect at = rect(cell), to = rect(strip);
        ImGui::GetIO().AddMousePosEvent(across ? (at.left + at.right) / 2 : (to.left + to.right) / 2,
                                        across ? (to.top + to.bottom) / 2 : (at.top + at.bottom) / 2);
        screen.draw(2);
    };
    over("map/rows", "map/3/0", false);
    CHECK(screen.frame.explained_cell() == row);
    over("map/columns", "map/5/1", true);
    CHECK(screen.frame.explained_cell() == column);
    ImGui::GetIO().AddMouseButtonEvent(0, true);
    screen.draw();
    ImGui::GetIO().AddMouseButtonEvent(0, false);
    screen.draw(2);
    CHECK(screen.visit.state().pin == column);
    CHECK(screen.shows("inspector/f64"));

    screen.hover("subject/worked");
    const auto grid = [](const std::string& key) {
        const auto found = std::ranges::find(ui::semantics(), key, &ui::Node::key);
        REQUIRE(found != ui::semantics().end());
        CHECK(found->role == ui::Role::grid);
        return *found->grid;
    };
    CHECK(grid("map/rows").rows == 6);
    CHECK(grid("map/rows").column_names == std::vector<std::string>{"entropy"});
    CHECK(grid("map/rows").row_names[3] == "word3");
    CHECK(grid("map/columns").chosen == std::pair(Index{0}, Index{1}));
    ui::focus_node("map/rows", 3, 0);
    screen.draw(2);
    CHECK(screen.frame.explained_cell() == row);
    ui::ask({ui::Ask::Kind::press, "map/rows", 3, 0});
    screen.draw(2);
    CHECK(screen.visit.state().pin == row);
    ui::focus_node("", -1, -1);
}

TEST_CASE("a marked part stays: in the link, and its sums are numbers") {
    MapScreen screen(18, {1440, 1600});
    const auto marked = [&] { return looks_of(screen.visit.state()).marked; };
    const auto drag = [&](const std::string& from, const std::string& to) {
        screen.hold(ImGuiMod_Shift, [&] {
            screen.hover(from);
            ImGui::GetIO().AddMouseButtonEvent(0, true);
            screen.draw();
            screen.hover(to);
            CHECK_FALSE(marked());  // not before the button is released
            ImGui::GetIO().AddMouseButtonEvent(0, false);
            screen.draw(2);
        });
        screen.settle();
    };
    drag("map/9/3", "map/12/5");
    CHECK(marked() == Window{{9, 13}, {3, 6}});
    CHECK(screen.page.url.find("sentence.marked=9-12.3-5") != std::string::npos);
    screen.click("map/marked");
    REQUIRE(screen.visit.state().pin);
    CHECK(*screen.visit.state().pin == MapSum{MapTotal::marked_total});
    const std::string link = screen.page.url;
    screen.click("map/forget");
    CHECK_FALSE(marked());
    CHECK_FALSE(screen.shows("map/marked"));
    screen.visit.open_fragment(link);
    screen.settle();
    CHECK(marked() == Window{{9, 13}, {3, 6}});
    CHECK(screen.shows("map/marked"));
    CHECK(screen.visit.state().pin->sum());
}
