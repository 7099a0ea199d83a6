// Tests that the numbers of a matrix and of its explanation say something and stand apart.
#include <algorithm>
#include <array>
#include <catch_amalgamated.hpp>

#include "app/explained.hpp"
#include "app/sheet.hpp"
#include "present/present.hpp"
#include "unit/frame/screen.hpp"
#include "widgets/inspector.hpp"
#include "widgets/matrix_grid.hpp"
#include "widgets/vector_picture.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Draws something alone in a window, for two frames, and returns its picture.
std::string drawn(auto&& draw) {
    std::string svg;
    for (int frame = 0; frame < 2; ++frame) {
        ImGui::NewFrame();
        ui::clear_landmarks();
        ui::clear_semantics();
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({900, 800});
        ImGui::Begin("alone", nullptr, ImGuiWindowFlags_NoDecoration);
        ui::VectorPicture picture(ImGui::GetWindowDrawList());
        draw();
        svg = picture.finish({0, 0}, {900, 800}, "alone");
        ImGui::End();
        ImGui::Render();
        for (ImTextureData* texture : ImGui::GetPlatformIO().Textures) texture->SetStatus(ImTextureStatus_OK);
    }
    return svg;
}

std::string grid_drawn(std::vector<double> numbers, int decimals, float width, bool is_tight = false) {
    const Matrix values(1, std::ssize(numbers), std::move(numbers));
    ui::MatrixGrid grid;
    grid.name = "slopes";
    grid.values = &values;
    grid.row_axis = "query";
    grid.column_axis = "key";
    grid.decimals = decimals;
    grid.is_signed = true;
    grid.is_tight = is_tight;
    return drawn([&] { ui::draw_matrix_grid(grid, ui::grid_metrics(grid, width), {20, 20}); });
}

Explained product_of(std::vector<Explained::Operand> operands) {
    Explained why;
    why.title = "Bytes kept";
    why.operands_title = "KV heads × bytes of one";
    why.operands = std::move(operands);
    return why;
}

std::vector<std::string> lines_of(const Explained& why, float width) {
    drawn([&] {
        ImGui::BeginChild("inspector", {width, 700});
        ui::inspector(why, ui::operands_shown(why), false, false, [](const CellPlace&) { return ""; }, [] {});
        ImGui::EndChild();
    });
    std::vector<std::string> lines;
    for (const ui::Node& node : ui::semantics())
        if (node.role == ui::Role::paragraph) lines.push_back(node.name);
    return lines;
}

bool holds(const std::vector<std::string>& lines, const std::string& line) {
    return std::ranges::find(lines, line) != lines.end();
}

}  // namespace

TEST_CASE("small numbers are written with the digits that they have, in cells and on the colour bar") {
    Screen screen;
    const std::string small = grid_drawn({0.0103, -0.0021, 0.0004, 0, 0}, 2, 800);
    CHECK_THAT(small, ContainsSubstring(">0.0103<") && ContainsSubstring(">-0.0021<") &&
                          ContainsSubstring(">-0.0103<") && !ContainsSubstring(">0.01<"));
    const std::string tiny = grid_drawn({1.53e-6, -2e-7, 0, 0, 0}, 3, 800);
    CHECK_THAT(tiny, ContainsSubstring(">1.53e-06<") && ContainsSubstring(">-2.00e-07<") &&
                         ContainsSubstring(">-1.53e-06<") && !ContainsSubstring(">0.000<"));
    const std::string narrow = grid_drawn({0.010, -0.021, 0.004, 0, 0}, 3, 800, true);
    CHECK_THAT(narrow,
               ContainsSubstring(">0.01<") && ContainsSubstring(">-0.02<") && !ContainsSubstring(">0.0<"));
    const std::string usual = grid_drawn({0.98, -0.02, 0, 0, 0}, 2, 800);
    CHECK_THAT(usual, ContainsSubstring(">0.98<") && ContainsSubstring(">-0.02<"));
    const std::string counts = grid_drawn({3, -1, 0, 0, 0}, 0, 800);
    CHECK_THAT(counts, ContainsSubstring(">3<") && ContainsSubstring(">-1<"));
}

TEST_CASE("a screen reader hears the digits that the cells show") {
    Screen screen;
    grid_drawn({1.53e-6, -2e-7}, 3, 800);
    const auto grid = std::ranges::find(ui::semantics(), ui::Role::grid, &ui::Node::role);
    REQUIRE(grid != ui::semantics().end());
    CHECK(grid->grid->digits == Digits{2, true});
}

TEST_CASE("a sheet written in words writes the ends of its colour bar in them, too") {
    Screen screen;
    const std::string svg = drawn([] {
        const Matrix values(2, 3, {287, 12, 6, 100, 50, 25});
        ui::MatrixGrid grid;
        grid.name = "bytes";
        grid.values = &values;
        grid.texts = {"287 KB", "12 KB", "6 KB", "100 KB", "50 KB", "25 KB"};
        grid.coloured_texts = true;
        grid.row_axis = "a";
        grid.column_axis = "b";
        grid.in_words = [](double value) { return fixed(value, 0) + " KB"; };
        ui::draw_matrix_grid(grid, ui::grid_metrics(grid, 800), {20, 20});
    });
    CHECK_THAT(svg, ContainsSubstring(">0 KB<") && !ContainsSubstring(">287.00<"));
}

TEST_CASE("operands have the room that their numbers need, and whole ones no decimals") {
    Screen screen;
    const std::vector<Explained> all{
        product_of({{"layer 0", 2, 3280, 6560}, {"layer 1", 2, 3280, 6560}}),
        product_of({{"layer 0", 4, 123456, 493824}, {"layer 1", 4, 123456.5, 493826}}),
        product_of({{"“extraordinarily”", -0.125, 98765.4321, -12345.679}, {"a", 1e-9, 2e7, 0.02}}),
        product_of({{"", 999999.5, -999999.5, -999999e6}, {"", -HUGE_VAL, 0, NAN}})};
    for (const Explained& why : all)
        for (const float width : {440.0f, 320.0f, 280.0f, 230.0f}) {
            INFO(why.operands.front().product << " in " << width);
            lines_of(why, width);
            for (std::size_t i = 0; i < why.operands.size(); ++i) {
                const std::string row = "inspector/operand/" + std::to_string(i);
                CHECK(rect(row + "/numbers").right <= rect(row + "/result").left);
            }
        }
    Explained counts = all[0];
    counts.f32 = 13120;
    counts.f64 = 13120;
    counts.unit = "bytes";
    counts.f64_is = "this step";
    const std::vector<std::string> counted = lines_of(counts, 320);
    CHECK(holds(counted, "f64  13,120 bytes, this step"));
    CHECK(holds(counted, "layer 0 2 × 3280 = 6560"));
    CHECK(holds(counted, "sum 13120"));
    CHECK(holds(lines_of(product_of({{"a", 0.5, 2, 1}, {"b", 0.25, 3, 0.75}}), 320), "b 0.250 × 3 = 0.7500"));
}

TEST_CASE("the steps of an explanation are whole, however long their names and their arithmetic are") {
    Screen screen;
    Explained why;
    why.title = "A step";
    const std::string name = "share of the whole of what is opened here",
                      arithmetic = "exp(0.123456 − 1.234567) ÷ (1.234567 + 2.345678 + 3.456789)";
    why.steps = {{"max", "1 × 2", "2"}, {name, arithmetic, "0.0573"}};
    const std::string svg = drawn([&] {
        ImGui::Columns(2, "narrow", false);
        ImGui::SetColumnWidth(0, 290);
        ui::inspector(why, ui::operands_shown(why), false, false, {}, [] {});
        ImGui::Columns();
    });
    CHECK_THAT(svg, !ContainsSubstring("…"));
    for (const char* part : {"share of the", "here<", "exp(0.123456", "3.456789)", "0.0573"})
        CHECK_THAT(svg, ContainsSubstring(part));
}
