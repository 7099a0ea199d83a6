// Opens lenses, and finds their own cells and what they say about them.
#pragma once

#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/copied.hpp"
#include "lenses/lens.hpp"
#include "support/small_families.hpp"
#include "unit/app/calculated.hpp"
#include "unit/frame/screen.hpp"

namespace attn::test {

// Returns what the lens says about a cell of the chosen head.
inline std::optional<app::Explained> why(const app::Visit& visit, const app::CellRef& cell) {
    app::Subject& subject = app::subject_in(visit);
    return app::lens_in(visit).explain(subject, {subject.chosen_head(), cell});
}
inline std::string spoken(const app::Visit& visit) {
    return app::lens_in(visit).spoken(app::subject_in(visit));
}

// Explains a cell and checks what every explanation promises.
inline app::Explained check_told(const Screen& screen, const app::CellRef& cell, double relative = 1e-4,
                                 double absolute = 3e-5) {
    CAPTURE(write_cell(cell));
    const auto found = why(screen.visit, cell);
    REQUIRE(found);
    CHECK_FALSE(found->title.empty());
    CHECK_FALSE(found->formula.empty());
    CHECK(found->f32 == Catch::Approx(found->f64).epsilon(relative).margin(absolute));
    REQUIRE_FALSE(found->calculation.empty());
    check_calculated(*found);
    CHECK_FALSE(copied(*found, app::Dialect::numpy).empty());
    return *found;
}

inline void show_lens(Screen& screen, std::string_view lens, const app::Command& set) {
    screen.page.piece = [](std::int32_t id) { return "·w" + std::to_string(id); };
    screen.visit.perform(app::OpenLens{lens});
    screen.visit.perform(set);
    screen.settle();
}

inline void open_model(Screen& screen, const SmallFamily& family, Index words = 6) {
    load_files(screen.visit, "tiny", as_opened(files_of(family)));
    screen.write_words(words);
}
inline void open_family(Screen& screen, std::string_view name, Index words = 6) {
    open_model(screen, *std::ranges::find(small_families, name, &SmallFamily::name), words);
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
    for (int i = 0; i < 60; ++i) {
        const Rect lens = rect("panel/lens"), there = rect(name);
        const float notch = there.top < lens.top ? 1.0f : there.bottom > lens.bottom ? -1.0f : 0.0f;
        if (notch == 0) return;
        ImGui::GetIO().AddMousePosEvent(lens.right - 4, (lens.top + lens.bottom) / 2);
        screen.draw(2);
        ImGui::GetIO().AddMouseWheelEvent(0, notch);
        screen.draw(30);
    }
}

}  // namespace attn::test
