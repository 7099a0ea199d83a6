// Checks that every number of a lens can be pinned, then explains itself, and can be restored from its link.
#include <algorithm>
#include <catch_amalgamated.hpp>
#include <map>
#include <set>

#include "app/link.hpp"
#include "support/this_build.hpp"
#include "unit/app/calculated.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// Landmarks that differ only in their numbers are of one kind; the first and the last of each kind are
// visited.
std::vector<std::string> landmarks_to_visit() {
    const Rect lens = rect("panel/lens");
    std::map<std::string, std::vector<std::string>> kinds;
    for (const auto& [name, place] : ui::landmarks()) {
        if (place.min.x < lens.left || place.max.x > lens.right || name.starts_with("panel/")) continue;
        std::string kind = name;
        std::erase_if(kind, [](unsigned char c) { return std::isdigit(c) != 0; });
        kinds[kind].push_back(name);
    }
    std::vector<std::string> names;
    for (const auto& [kind, all] : kinds) {
        names.push_back(all.front());
        if (all.size() > 1) names.push_back(all.back());
    }
    return names;
}

// Collects the cells under the cursor on each of these landmarks, at three places of a chart, and in the
// corners of every grid.
std::vector<CellRef> cells_handed_out(Screen& screen) {
    std::vector<CellRef> cells;
    const auto note = [&] {
        if (const auto cell = screen.frame.explained_cell();
            cell && std::ranges::find(cells, *cell) == cells.end())
            cells.push_back(*cell);
    };
    screen.visit.perform(Pin{});
    for (const std::string& name : landmarks_to_visit()) {
        if (!screen.shows(name)) continue;
        const Rect at = rect(name);
        const bool chart = name.starts_with("chart/");
        for (const float share : chart ? std::vector{0.25f, 0.5f, 0.75f} : std::vector{0.5f}) {
            ImGui::GetIO().AddMousePosEvent(at.left + share * (at.right - at.left), (at.top + at.bottom) / 2);
            screen.draw(2);
            note();
        }
    }
    ImGui::GetIO().AddMousePosEvent(-1, -1);
    std::vector<std::pair<std::string, std::pair<Index, Index>>> corners;
    for (const ui::Node& node : ui::semantics()) {
        if (!node.grid) continue;
        const ui::CellGrid& grid = *node.grid;
        const Index cols = std::ssize(grid.column_names), rows = cols == 0 ? 0 : std::ssize(grid.row_names);
        for (const Index r : {Index{0}, rows - 1})
            for (const Index c : {Index{0}, cols - 1})
                if (rows > 0) corners.push_back({node.key, {grid.first_row + r, grid.first_col + c}});
    }
    for (const auto& [key, cell] : corners) {
        ui::focus_node(key, cell.first, cell.second);
        screen.draw(2);
        note();
    }
    ui::focus_node("", -1, -1);
    screen.draw(2);
    return cells;
}

void check_pins(Screen& screen) {
    for (const CellRef& cell : cells_handed_out(screen)) {
        CAPTURE(write_cell(cell));
        screen.page.notices.clear();
        screen.visit.perform(Pin{cell});
        for (const std::string& notice : screen.page.notices) UNSCOPED_INFO(notice);
        CHECK(screen.visit.state().pin == cell);
        screen.draw(2);
        CHECK(screen.frame.explained_cell() == cell);
        if (cell.own()) CHECK(lens_in(screen.visit).shows(subject_in(screen.visit), cell));
        // Its calculation, which the inspector copies, gives the number that the lens shows.
        const auto why =
            lens_in(screen.visit)
                .explain(subject_in(screen.visit), {subject_in(screen.visit).chosen_head(), cell});
        if (why) check_calculated(*why);
        CHECK(parse_fragment(to_fragment(screen.visit.state())).state.pin == cell);
    }
    screen.visit.perform(Pin{});
}

// Checks what the lens shows, also after pressing each of its first choices, such as its parts.
void check_choices(Screen& screen, int most) {
    std::set<std::string> pressed;
    check_pins(screen);
    for (int pages = 1; pages < most; ++pages) {
        std::string next;
        bool inside = false;
        for (const ui::Node& node : ui::semantics()) {
            if (node.key.starts_with("panel/")) inside = node.key == "panel/lens";
            if (next.empty() && inside && node.role == ui::Role::radio && !node.disabled &&
                node.on == false && !pressed.contains(node.key))
                next = node.key;
        }
        if (next.empty()) return;
        INFO("after " << next);
        pressed.insert(next);
        ui::ask({.key = next});
        screen.draw(4);
        screen.settle();
        if (screen.shows("missing")) continue;
        check_pins(screen);
    }
}

}  // namespace

TEST_CASE("every number of a lens can be pinned and restored from its link") {
    Screen screen({1440, 2400});
    screen.open_sentence(9);
    for (const std::string_view subject : {sentence_subject, worked_subject})
        for (const LensEntry& lens : lens_list()) {
            INFO(subject << " through " << lens.key);
            screen.visit.perform(OpenSubject{subject});
            screen.visit.perform(OpenLens{lens.key});
            screen.settle();
            if (screen.shows("missing")) continue;
            check_choices(screen, subject == worked_subject || test::sanitized ? 1 : 3);
        }
}
