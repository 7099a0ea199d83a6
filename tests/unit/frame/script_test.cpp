// Tests that letters which join, or run from right to left, are drawn together.
#include "widgets/script.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <string>

#include "tensor/random.hpp"
#include "text/utf8.hpp"
#include "unit/frame/screen.hpp"
#include "widgets/controls.hpp"
#include "widgets/theme.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("a run of letters that join is drawn as one character") {
    for (const char* plain : {"", "cat", "Größe", "Привет", "·猫 → “x”", "…"})
        CHECK(ui::with_joined_runs(plain) == plain);
    const std::string joined = ui::with_joined_runs("“مرحبا” · नमस्ते!");
    CHECK(count_code_points(joined) == 8);
    const std::string first = joined.substr(std::string("“").size());
    CHECK(ui::text_of(first_code_point(first).value) == "مرحبا");
    CHECK(ui::with_joined_runs("“مرحبا” · नमस्ते!") == joined);
    CHECK(ui::with_joined_runs("شكرا") != ui::with_joined_runs("مرحبا"));
    CHECK(ui::with_joined_runs("“שלום  עולם”, नमस्ते दुनिया") ==
          "“" + ui::with_joined_runs("עולם") + "  " + ui::with_joined_runs("שלום") + "”, " +
              ui::with_joined_runs("नमस्ते") + " " + ui::with_joined_runs("दुनिया"));
    CHECK(ui::text_of(U'猫') == "猫");
    CHECK(ui::has_joined_runs("سلام"));
    CHECK_FALSE(ui::has_joined_runs("Größe → Привет"));
    ui::join_letters(false);  // the browser cannot draw them
    CHECK_FALSE(ui::has_joined_runs("سلام"));
    ui::join_letters(true);
}

TEST_CASE("a character and what belongs to it are drawn as one") {
    const auto drawn = [](const char* text) {
        CHECK(ui::has_joined_runs(text));
        return count_code_points(ui::with_joined_runs(text));
    };
    CHECK(drawn("👍🏽") == 1);                                      // a skin tone
    CHECK(drawn("👩🏽‍🚀👩‍👩‍👧‍👦") == 2);  // parts joined without width
    CHECK(drawn("❤️ ☎︎") == 3);                                       // variation selectors
    CHECK(drawn("1️⃣2") == 2);                                        // a keycap
    CHECK(drawn("🇫🇷🇩🇪🇪") == 3);                                     // flags, and half of one
    CHECK(drawn("🏴󠁧󠁢󠁳󠁣󠁴󠁿!") == 2);             // a flag of tags
    CHECK(drawn("e\u0301te\u0301") == 3);                           // marks
    CHECK(drawn("\u1112\u1161\u11ab\u1100\u1173\u11af") == 1);      // jamo of one run
    CHECK(drawn("ꦲꦏ꧀ꦱꦫ") == 1);
    CHECK(drawn("⟨\u0301 1/2⟩") == 7);  // a mark alone
    CHECK(drawn("⟨🏽 1/4⟩") == 7);
    for (const char* plain : {"猫が座った", "고양이", "👍👍", "1 × 2", "naïve"})
        CHECK(ui::with_joined_runs(plain) == plain);
    const std::string astronaut = ui::with_joined_runs("👩🏽‍🚀");
    CHECK(ui::text_of(first_code_point(astronaut).value) == "👩🏽‍🚀");
}

TEST_CASE("words of the headline, of buttons, tooltips and the inspector are joined, too") {
    Screen screen;
    screen.draw();
    ImGui::NewFrame();
    ImGui::Begin("page");
    const std::string word = "مرحبا", joined = ui::with_joined_runs(word);
    REQUIRE(ui::text_size(word).x < 2 * ui::text_size("م").x);
    const auto width = [] { return ImGui::GetItemRectSize().x; };
    ui::wrapped_text(word);
    CHECK(width() == ui::text_size(word).x);
    ui::section(word.c_str());
    {
        const ui::Type type(ui::Face::semibold, ui::size_title);
        CHECK(width() == ui::text_size(word).x);
    }
    ui::button("a button", word.c_str());
    CHECK(width() == ui::text_size(word).x + 2 * ImGui::GetStyle().FramePadding.x);
    ui::tooltip_at({100, 100}, {110, 110}, word.c_str());
    const auto& [min, max] = ui::landmarks().at("tooltip");
    CHECK(max.x - min.x == ui::text_size(word).x + 20);
    ImGui::End();
    ImGui::EndFrame();
}

TEST_CASE("wrapped text has as many words on each line as fit") {
    Screen screen;
    screen.draw();
    ImGui::NewFrame();
    Random random(7);
    const auto below = [&](int count) { return static_cast<int>(random.uniform() * count); };
    const std::string_view words[] = {"a",  "weight",   "is", "softmax",     "مرحبا",
                                      "猫", "iiiiiiii", "",   "W_QW_KW_VW_O"};
    for (int round = 0; round < 300; ++round) {
        std::string text;
        for (int i = below(40); i >= 0; --i) (text += words[below(9)]) += below(8) == 0 ? '\n' : ' ';
        const float width = 20 + 300 * static_cast<float>(random.uniform());
        const std::string lines = ui::wrapped(text, width);
        CAPTURE(text, width, lines);
        REQUIRE(lines.size() == text.size());
        for (std::size_t begin = 0; begin <= lines.size();) {
            const std::size_t end = std::min(lines.find('\n', begin), lines.size());
            const std::string line = lines.substr(begin, end - begin);
            CHECK((ui::text_size(line).x <= width || line.find(' ', 1) == std::string::npos));
            // A broken line has no room for the next word, up to the next blank.
            if (end < text.size() && text[end] == ' ')
                CHECK(ui::text_size(text.substr(begin, text.find_first_of(" \n", end + 1) - begin)).x >
                      width);
            begin = end + 1;
        }
    }
    ImGui::EndFrame();
}
