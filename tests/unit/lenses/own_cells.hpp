// Finds a lens's own cells, and what it says about them.
#pragma once

#include <catch_amalgamated.hpp>
#include <cmath>

#include "lenses/lens.hpp"
#include "unit/frame/screen.hpp"

namespace attn::test {

constexpr app::CellRef own(Index row, Index col) { return {.stage = Stage::lens, .row = row, .col = col}; }

// Returns what the lens says about a cell of the chosen head.
inline std::optional<app::Explained> why(const app::Visit& visit, const app::CellRef& cell) {
    const app::Selection& s = visit.state().selection;
    return app::lens_in(visit).explain(app::subject_in(visit), {{s.layer, s.head}, cell});
}
inline std::string spoken(const app::Visit& visit) {
    return app::lens_in(visit).spoken(app::subject_in(visit));
}

// Returns the table on screen whose title begins with this text; its numbers are finite.
inline app::Table table_of(Screen& screen, std::string_view title) {
    INFO(title);
    const std::vector<app::Table> all = screen.frame.tables();
    const auto found =
        std::ranges::find_if(all, [&](const app::Table& each) { return each.title.starts_with(title); });
    REQUIRE(found != all.end());
    CHECK(found->values.rows > 0);
    CHECK(std::ranges::all_of(found->values.values, [](double value) { return std::isfinite(value); }));
    return *found;
}

// Turns the wheel until the landmark is in view.
inline void reveal(Screen& screen, const std::string& name) {
    for (int i = 0; i < 60 && rect(name).bottom > rect("panel/lens").bottom; ++i) {
        const Rect lens = rect("panel/lens");
        ImGui::GetIO().AddMousePosEvent(lens.right - 4, (lens.top + lens.bottom) / 2);
        screen.draw(2);
        ImGui::GetIO().AddMouseWheelEvent(0, -1);
        screen.draw(30);
    }
}

}  // namespace attn::test
