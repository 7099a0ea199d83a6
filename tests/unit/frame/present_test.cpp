// Tests that a sheet is one object: drawn, read as a table, copied and saved.
#include <catch_amalgamated.hpp>

#include "lenses/softmax/softmax.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

void open_softmax(Screen& screen, Index tokens) {
    screen.open_sentence();
    screen.write_words(tokens);
    screen.visit.perform(OpenSubject{sentence_subject});
    screen.visit.perform(OpenLens{"softmax"});
    screen.settle();
}

// Returns what the card with this key saves.
std::string saved(Screen& screen, const std::string& key, const std::string& item) {
    screen.click(key + "/save");
    screen.click(key + "/save/" + item);
    if (item == "SVG") screen.visit.choose_figure(85, "What it is.", "https://example.org/#v=1&lens=softmax");
    screen.draw(3);
    const auto& bytes = screen.page.downloaded_bytes;
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("a sheet is copied and saved with the numbers that it shows") {
    Screen screen({1440, 2600});
    open_softmax(screen, 6);
    const Table table = lens_in(screen.visit).tables(subject_in(screen.visit)).front();
    REQUIRE(table.values.rows == 6);
    const std::string csv = saved(screen, "softmax/weight", "CSV");
    CHECK(screen.page.downloaded == "softmax-weight.csv");
    CHECK_THAT(csv, StartsWith(",\"softmax\",\"softmax + 1\",\"sparsemax\""));
    CHECK(std::ranges::count(csv, '\n') == 7);
    const std::string svg = saved(screen, "softmax/weight", "SVG");
    CHECK(screen.page.downloaded == "softmax-weight.svg");
    CHECK_THAT(svg, ContainsSubstring("<svg") && ContainsSubstring(">sparsemax</text>") &&
                        ContainsSubstring(">Weights</text>") && !ContainsSubstring(">Save</text>"));
    // It is a figure: 85 mm wide, with the caption and the link as text.
    CHECK_THAT(svg, StartsWith("<svg") && ContainsSubstring(" width=\"85mm\"") &&
                        ContainsSubstring(">What it is.</text>") &&
                        ContainsSubstring("<a href=\"https://example.org/#v=1&amp;lens=softmax\">"));
    CHECK(screen.page.figure_asked == "Weights");
    screen.click("softmax/weight/copy");
    CHECK(std::string(ImGui::GetClipboardText()) == table_cells(table));
}

TEST_CASE("a sheet without room for all columns shows the requested ones, and finds the pinned cell there") {
    Screen screen({900, 2600});
    open_softmax(screen, 16);
    const auto record = subject_in(screen.visit).attention()->record(0);
    const std::vector<float> row = record->weights(0, 15);
    const Index best = std::ranges::max_element(row) - row.begin();
    screen.visit.perform(Pin{softmax::cells::weight(ScoreMap::softmax, best)});
    screen.draw(3);
    int pinned = 0, shown = 0;
    for (Index c = 0; screen.shows("softmax/weight/0/" + std::to_string(c)); ++c) {
        ++shown;
        screen.click("softmax/weight/0/" + std::to_string(c));
        pinned += screen.visit.state().pin == softmax::cells::weight(ScoreMap::softmax, best);
    }
    CHECK(shown < 16);
    CHECK(pinned == 1);
    // The caption says where the others are.
    CHECK_THAT(saved(screen, "softmax/weight", "SVG"), ContainsSubstring("columns shown, "));
}

TEST_CASE("every chart on screen is a table, too") {
    Screen screen({1440, 2600});
    open_softmax(screen, 6);
    const std::vector<Table> all = screen.frame.tables();
    const auto energy = std::ranges::find_if(
        all, [](const Table& each) { return each.title.starts_with("Mean and free energy"); });
    REQUIRE(energy != all.end());
    CHECK(energy->columns == std::vector<std::string>{"⟨E⟩", "F"});
    CHECK_THAT(energy->row_labels.front(), StartsWith("temperature T "));
    // At its lowest temperature the mean energy is that of the best key.
    const Table gibbs = *std::ranges::find_if(
        all, [](const Table& each) { return each.title.starts_with("The row as a Gibbs distribution"); });
    CHECK(energy->values.at(0, 0) == Catch::Approx(gibbs.values.at(0, 0)).margin(1e-3));
    screen.visit.perform(OpenLens{"overview"});
    screen.settle();
    for (const Table& each : screen.frame.tables())
        CHECK_FALSE(each.title.starts_with("Mean and free energy"));
}

TEST_CASE("a chart is read as a table, copied and saved as drawn") {
    Screen screen({1440, 2600});
    open_softmax(screen, 6);
    screen.click("softmax-entropy/table");
    CHECK_THAT(screen.page.table_shown, StartsWith("Entropy ("));
    const std::vector<Table> all = screen.frame.tables();
    const auto entropy = std::ranges::find(all, screen.page.table_shown, &Table::title);
    REQUIRE(entropy != all.end());
    screen.click("softmax-entropy/copy");
    CHECK(std::string(ImGui::GetClipboardText()) == table_cells(*entropy));
    const std::string svg = saved(screen, "softmax-entropy", "SVG");
    CHECK(screen.page.downloaded == "softmax-entropy.svg");
    CHECK_THAT(svg, ContainsSubstring(">Entropy</text>") && ContainsSubstring("clip-path"));
    // A curve consists of pieces, each a polygon with four corners.
    CHECK(std::ranges::count(svg, 'Z') > 40);
    saved(screen, "softmax-entropy", "PNG 2×");
    CHECK(screen.page.picture == "softmax-entropy.png of card/softmax-entropy at 2");
    // The picture's own controls are not in it.
    CHECK_FALSE(screen.shows("softmax-entropy/save"));
    screen.visit.picture_taken();
    screen.draw(2);
    CHECK(screen.shows("softmax-entropy/save"));
}

TEST_CASE("an operand's target is named") {
    Screen screen({1440, 2600});
    open_softmax(screen, 6);
    screen.visit.perform(Pin{softmax::cells::output(ScoreMap::sparsemax, 0)});
    screen.settle();
    const auto operand = std::ranges::find_if(ui::semantics(), [](const ui::Node& node) {
        return node.name.starts_with("weight, map sparsemax, key ");
    });
    CHECK(operand != ui::semantics().end());
}
