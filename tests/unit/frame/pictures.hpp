// Reads the pictures on screen as a person does.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "unit/frame/screen.hpp"

namespace attn::test {

// The keys of all cards that have a table; flows and maps have menus of their own.
inline std::vector<std::string> pictures() {
    constexpr std::string_view card = "card/";
    std::vector<std::string> keys;
    for (const auto& [name, place] : ui::landmarks())
        if (name.starts_with(card) && name != "card/flow" && name != "card/map" &&
            ui::landmarks().contains(name.substr(card.size()) + "/save"))
            keys.push_back(name.substr(card.size()));
    return keys;
}

// Returns the contents of this picture's “Table”.
inline app::Table table_shown(Screen& screen, const std::string& key) {
    INFO(key);
    if (screen.shows(key + "/table")) {
        screen.click(key + "/table");
    } else {
        screen.click(key + "/save");
        screen.click(key + "/save/Table");
    }
    const std::vector<app::Table> all = screen.frame.tables();
    const auto found = std::ranges::find(all, screen.page.table_shown, &app::Table::title);
    REQUIRE(found != all.end());
    return *found;
}

// Every picture is a table with numbers.
inline void check_pictures(Screen& screen) {
    for (const std::string& key : pictures()) {
        CAPTURE(key);
        const app::Table table = table_shown(screen, key);
        CHECK(std::ssize(table.columns) == table.values.cols);
        CHECK(std::ssize(table.row_labels) == table.values.rows);
        CHECK(std::ranges::any_of(table.values.values, [](double each) { return std::isfinite(each); }));
    }
}

}  // namespace attn::test
