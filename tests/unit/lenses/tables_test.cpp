// Checks that the table is the matrix on screen, for the lens, the stage and the step.
#include <cmath>

#include "lenses/compare/compare.hpp"
#include "lenses/curves/curves.hpp"
#include "lenses/ladder/ladder.hpp"
#include "unit/frame/screen.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

std::vector<std::string> titles(Screen& screen) {
    std::vector<std::string> all;
    for (const Table& table : screen.frame.tables()) {
        CHECK(std::ssize(table.columns) == table.values.cols);
        CHECK(std::ssize(table.row_labels) == table.values.rows);
        all.push_back(table.title);
    }
    return all;
}
Table first(Screen& screen) {
    auto tables = screen.frame.tables();
    REQUIRE_FALSE(tables.empty());
    return tables.front();
}

}  // namespace

TEST_CASE("the overview's table is its map, or the vectors if one of them is pinned") {
    Screen screen;
    screen.open_sentence();
    screen.visit.perform(Select{{1, 2, {}, {}, {}}});
    const Record& record = sentence_in(screen.visit).run()->record_at(1);
    CHECK(titles(screen) ==
          std::vector<std::string>{
              "Weights of tiny, layer 1, head 2", "Q of tiny, layer 1, head 2", "K of tiny, layer 1, head 2",
              "V of tiny, layer 1, head 2", "Output of tiny, layer 1, head 2",
              "Scores of the heads of tiny, measured on this text", "Next token, at temperature 1",
              "Score of “word5” on “word2”", "Where “word5” looks"});
    screen.visit.perform(SetMap{{.stage = Stage::scaled}});
    const Table scores = first(screen);
    CHECK(scores.title == "Scaled of tiny, layer 1, head 2");
    CHECK(scores.row_labels[4] == "word4");
    CHECK(scores.values.at(4, 2) == static_cast<double>(record.cell(Stage::scaled, 2, 4, 2)));
    screen.visit.perform(SetMap{{.stage = Stage::weight, .sink = Sink::hidden}});
    CHECK(first(screen).title == "Weights of tiny, layer 1, head 2, without the first key");
    CHECK(first(screen).values.at(3, 0) == 0);
    screen.visit.perform(Pin{RunCell{Stage::v, 3, 1}});
    const Table values = first(screen);
    CHECK(values.title == "V of tiny, layer 1, head 2");
    CHECK(values.columns[1] == "1");
    CHECK(values.values.at(3, 1) == static_cast<double>(record.v().heads().head(2).row(3)[1]));
}

TEST_CASE("the ladder's tables are its matrices, the pinned one first, for the shown tokens") {
    Screen screen;
    screen.open_sentence(12);
    screen.visit.perform(OpenLens{"ladder"});
    screen.visit.perform(SetLadderTokens{{std::nullopt, 4}});
    screen.visit.perform(Select{{1, 2, 6, {}, {}}});
    const Record& record = sentence_in(screen.visit).run()->record_at(1);
    Table table = first(screen);
    CHECK(table.title == "Weights");
    CHECK(table.row_labels == std::vector<std::string>{"word3", "word4", "word5", "word6"});
    CHECK(table.values.at(3, 1) == static_cast<double>(record.cell(Stage::weight, 2, 6, 4)));
    screen.visit.perform(Pin{RunCell{Stage::k, 4, 0}});
    table = first(screen);
    CHECK(table.title == "K  keys");
    CHECK(table.values.at(1, 0) == static_cast<double>(record.k().heads().head(2).row(4)[0]));
    CHECK(titles(screen).size() == 8);
}

TEST_CASE("compared runs have their two maps and the difference, the one on screen first") {
    Screen screen;
    screen.open_sentence();
    screen.visit.perform(Compare{Comparison{"two words"}});
    screen.visit.tokens({Box::second, "two words", {0, 1, 4}, {"word0", "word1", "end"}, 3});
    screen.settle();
    REQUIRE(screen.visit.state().lens == "compare");
    CHECK(titles(screen) ==
          std::vector<std::string>{
              "Weights of the first, layer 0, head 0", "Weights of the second, layer 0, head 0",
              "Weights of the first minus the second, layer 0, head 0", "Same attention pattern?",
              "What “word5” looks at, word by word", "Same word, different vector?"});
    screen.visit.perform(Set<compare::State>{{compare::View::difference}});
    const Table difference = first(screen);
    CHECK(difference.title == "Weights of the first minus the second, layer 0, head 0");
    const auto& subject = sentence_in(screen.visit);
    const auto weight = [](const TextRun& run, Index query, Index key) {
        return static_cast<double>(run.record_at(0).cell(Stage::weight, 0, query, key));
    };
    // f32: one rounding of a difference of numbers up to 1.
    CHECK(std::abs(difference.values.at(1, 0) -
                   (weight(*subject.run(), 1, 0) - weight(*subject.compared_run(), 1, 0))) < 1e-7);
    CHECK(difference.row_labels[1] == "word1");
    screen.visit.perform(Set<compare::State>{});
    screen.visit.perform(Pin{RunCell{Stage::weight, 2, 1, true}});
    CHECK(first(screen).title == "Weights of the second, layer 0, head 0");
    CHECK(first(screen).row_labels.back() == "end");
}

TEST_CASE("each curve of a head is a table of the measured steps, and a click pins its point") {
    Screen screen;
    screen.train_some(4);
    screen.visit.perform(OpenLens{"curves"});
    screen.visit.perform(Select{{1, 0, {}, {}, {}}});
    screen.settle();
    const TrainingRun& run = *runs_in(screen.visit).shown();
    const Table induction = table_of(screen, "Induction, by head"), loss = table_of(screen, "Loss");
    REQUIRE(induction.values.rows == std::ssize(run.points()));
    CHECK(induction.columns == std::vector<std::string>{"0.0", "0.1", "1.0", "1.1"});
    CHECK(induction.values.at(induction.values.rows - 1, 2) == run.points().back().heads[2].induction);
    REQUIRE(loss.values.rows == std::ssize(run.losses()));
    CHECK(loss.values.at(2, 0) == static_cast<double>(run.losses()[2]));
    table_of(screen, "Previous token, by head");
    table_of(screen, "Entropy, by head");
    const Rect chart = rect("chart/loss");
    const auto steps = static_cast<float>(screen.visit.state().of<TrainingState>().plan.steps);
    const float height = static_cast<float>(std::ceil(*std::ranges::max_element(run.losses())));
    ImGui::GetIO().AddMousePosEvent(chart.left + (chart.right - chart.left) * 4 / steps,
                                    chart.bottom - (chart.bottom - chart.top) * run.losses()[3] / height);
    screen.draw(2);
    ImGui::GetIO().AddMouseButtonEvent(0, true);
    screen.draw(2);
    ImGui::GetIO().AddMouseButtonEvent(0, false);
    screen.draw(2);
    const auto& pin = screen.visit.state().pin;
    REQUIRE(pin);
    CHECK(pin->is(curves::cells::loss));
    screen.visit.perform(ShowTrainingStep{4});
    screen.settle();

    const auto maps = screen.frame.tables();
    CHECK(maps[0].title == "Weights at step 4, layer 1, head 0");
    const auto* probe = static_cast<const TextRun*>(subject_in(screen.visit).attention());
    CHECK(maps[0].values.at(5, 3) == static_cast<double>(probe->record_at(1).cell(Stage::weight, 0, 5, 3)));
    CHECK(maps[0].row_labels == run.data().probe_pieces);
    screen.visit.perform(Set<curves::State>{TrainingMaps::gradient});
    CHECK(screen.frame.tables()[0].title == "Gradient of the loss by the weights at step 4, layer 1, head 0");
    CHECK(screen.frame.tables()[0].values.at(5, 3) != maps[0].values.at(5, 3));
}

TEST_CASE("there is no table while there is nothing to show") {
    Screen screen;
    screen.visit.perform(OpenSubject{tensors_subject});
    CHECK(screen.frame.tables().empty());
    screen.visit.perform(OpenLens{"compare"});
    CHECK(screen.frame.tables().empty());
    screen.visit.perform(OpenSubject{worked_subject});
    screen.visit.perform(OpenLens{"curves"});
    CHECK(screen.frame.tables().empty());
    screen.visit.perform(OpenLens{"overview"});
    CHECK(first(screen).title.starts_with("Weights of example"));
}
