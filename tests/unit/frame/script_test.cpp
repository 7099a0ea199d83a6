// Tests that letters which join, or run from right to left, are drawn together.
#include "widgets/script.hpp"

#include <catch_amalgamated.hpp>

#include "text/utf8.hpp"

using namespace attn;

TEST_CASE("a run of letters that join is one character, which stands for it") {
    for (const char* plain : {"", "cat", "Größe", "Привет", "·猫 → “x”", "…"})
        CHECK(ui::with_joined_runs(plain) == plain);
    const std::string joined = ui::with_joined_runs("“مرحبا” · नमस्ते!");
    CHECK(count_code_points(joined) == 8);
    const std::string first = joined.substr(std::string("“").size());
    CHECK(ui::text_of(first_code_point(first).value) == "مرحبا");
    CHECK(ui::with_joined_runs("“مرحبا” · नमस्ते!") == joined);
    CHECK(ui::with_joined_runs("شكرا") != ui::with_joined_runs("مرحبا"));
    CHECK(ui::text_of(U'猫') == "猫");
    CHECK(ui::has_joined_runs("سلام"));
    CHECK_FALSE(ui::has_joined_runs("Größe → Привет"));
}
