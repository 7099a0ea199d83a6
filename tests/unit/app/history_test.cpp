#include "app/history.hpp"

#include "unit/app/support.hpp"

using namespace attn;
using namespace attn::app;
using enum Stage;

namespace {
SetCell cell(double value) { return {{x, 0, 1}, value}; }
double value(const History& h) { return worked_of(h.present()).x.at(0, 1); }
}  // namespace

TEST_CASE("undo and redo follow the same path both ways") {
    History h(default_state());
    CHECK_FALSE(h.undo());
    CHECK_FALSE(h.redo());
    REQUIRE(h.perform(cell(0.6), 0));
    REQUIRE(h.perform(cell(0.7), 0));
    CHECK(h.undo());
    CHECK(value(h) == 0.6);
    CHECK(worked_of(h.before_last_step()).x.at(0, 1) == 0.7);
    CHECK(h.undo());
    CHECK(h.present() == default_state());
    CHECK_FALSE(h.can_undo());
    CHECK(h.redo());
    CHECK(h.redo());
    CHECK(value(h) == 0.7);
    CHECK(worked_of(h.before_last_step()).x.at(0, 1) == 0.6);
    CHECK_FALSE(h.redo());
}

TEST_CASE("a drag is one step, the next drag another") {
    History h(default_state());
    for (const double v : {0.51, 0.52, 0.53}) REQUIRE(h.perform(cell(v), 1));
    for (const double v : {0.6, 0.7}) REQUIRE(h.perform(cell(v), 2));
    CHECK(worked_of(h.before_last_step()).x.at(0, 1) == 0.53);
    CHECK(h.undo());
    CHECK(value(h) == 0.53);
    CHECK(h.undo());
    CHECK(value(h) == 0.5);
    CHECK_FALSE(h.can_undo());
}

TEST_CASE("a step back or forward says what it changes") {
    History h(default_state());
    REQUIRE(h.perform(cell(0.6), 1));
    REQUIRE(h.perform(cell(0.7), 1));
    REQUIRE(h.perform(SetTemperature{2}, 0));
    CHECK(h.last_edit() == "temperature 2");
    CHECK(h.undo());
    CHECK(h.last_edit() == "temperature 2");
    CHECK(h.undo());
    CHECK(h.last_edit() == "X[cat, 1] 0.5 → 0.7");
    CHECK(h.redo());
    CHECK(h.last_edit() == "X[cat, 1] 0.5 → 0.7");
    CHECK(h.redo());
    CHECK(h.last_edit() == "temperature 2");
}

TEST_CASE("commands of another kind in the same gesture are another step") {
    History h(default_state());
    REQUIRE(h.perform(cell(0.6), 1));
    REQUIRE(h.perform(SetTemperature{2}, 1));
    CHECK(h.undo());
    CHECK(value(h) == 0.6);
    CHECK(worked_of(h.present()).temperature == 1);
}

TEST_CASE("a drag that returns to its start is not a step") {
    History h(default_state());
    REQUIRE(h.perform(SetTemperature{2}, 0));
    REQUIRE(h.perform(cell(0.6), 1));
    REQUIRE(h.perform(cell(0.5), 1));
    CHECK(h.undo());
    CHECK(h.present() == default_state());
}

TEST_CASE("a new step drops the undone ones") {
    History h(default_state());
    REQUIRE(h.perform(cell(0.6), 0));
    CHECK(h.undo());
    REQUIRE(h.perform(cell(0.7), 0));
    CHECK_FALSE(h.can_redo());
    // The gesture from before the undo has ended.
    History g(default_state());
    REQUIRE(g.perform(cell(0.6), 1));
    CHECK(g.undo());
    REQUIRE(g.perform(cell(0.7), 1));
    CHECK(g.undo());
    CHECK(g.present() == default_state());
}

TEST_CASE("choosing a head, a word or a cell is a step; consecutive ones of one kind are one") {
    History h(default_state());
    REQUIRE(h.perform(Select{{1, 0, {}, {}}}, 1));
    REQUIRE(h.perform(Select{{1, 3, {}, {}}}, 2));
    REQUIRE(h.perform(Select{{1, 3, 1, {}}}, 3));
    REQUIRE(h.perform(Select{{1, 3, 2, {}}}, 4));
    REQUIRE(h.perform(Pin{RunCell{weight, 1, 2}}, 5));
    REQUIRE(h.perform(Pin{RunCell{weight, 1, 1}}, 6));
    CHECK(h.undo());
    CHECK(h.last_edit() == "choice of a cell");
    CHECK_FALSE(h.present().pin);
    CHECK(h.present().selection == Selection{1, 3, 2, {}});
    CHECK(h.undo());
    CHECK(h.last_edit() == "choice of a word");
    CHECK(h.present().selection == Selection{1, 3, {}, {}});
    CHECK(h.undo());
    CHECK(h.last_edit() == "choice of a head");
    CHECK(h.present() == default_state());
    CHECK_FALSE(h.can_undo());
    CHECK(h.redo());
    CHECK(h.redo());
    CHECK(h.redo());
    CHECK(h.present().pin == RunCell{weight, 1, 1});
    // A choice after an undo is a step of its own.
    CHECK(h.undo());
    REQUIRE(h.perform(Select{{1, 3, 0, {}}}, 7));
    CHECK(h.undo());
    CHECK(h.present().selection == Selection{1, 3, 2, {}});
}

TEST_CASE("a click that pins a cell and chooses its words is one step, and the next click joins it") {
    History h(default_state());
    REQUIRE(h.perform(cell(0.6), 1));
    const State before = h.present();
    for (const Index row : {0, 1, 2}) {
        const auto gesture = static_cast<std::uint64_t>(row + 2);
        REQUIRE(h.perform(Pin{RunCell{weight, row, 0}}, gesture));
        REQUIRE(h.perform(Select{{0, 0, row, 0}}, gesture));
    }
    // The marks of the edit stay.
    CHECK(worked_of(h.before_last_step()).x.at(0, 1) == 0.5);
    CHECK(h.undo());
    CHECK(h.present() == before);
    // Choosing something and releasing it leaves nothing to undo.
    REQUIRE(h.perform(Pin{RunCell{weight, 1, 0}}, 9));
    REQUIRE(h.perform(Pin{}, 10));
    CHECK(h.undo());
    CHECK(h.present() == default_state());
}

TEST_CASE("consequences of what is shown belong to the step before") {
    History h(default_state());
    REQUIRE(h.perform(cell(0.6), 0));
    REQUIRE(h.settle(Select{{0, 0, 1, {}}}));
    CHECK(h.present().selection.query == 1);
    CHECK(h.undo());
    CHECK_FALSE(h.can_undo());
    REQUIRE(h.settle(Select{{0, 0, 2, {}}}));
    CHECK(h.can_redo());
    CHECK_FALSE(h.settle(Select{{0, 0, 200, {}}}));
}

TEST_CASE("refused and empty changes are not steps") {
    History h(default_state());
    REQUIRE(h.perform(cell(0.5), 0));
    CHECK_FALSE(h.perform(SetTemperature{1000}, 0));
    CHECK_FALSE(h.can_undo());
    CHECK(h.present() == default_state());
}

TEST_CASE("a link is a step, and the number of steps is limited") {
    History h(default_state());
    h.replace(*app::apply(default_state(), OpenPreset{PresetId::causal_row}), "opened a link");
    CHECK(h.undo());
    CHECK(h.present() == default_state());
    CHECK(h.last_edit() == "opened a link");
    h.replace(default_state(), "");
    CHECK(h.can_redo());
    for (int i = 0; i < 500; ++i) REQUIRE(h.perform(SetTemperature{1 + 0.01 * i}, 0));
    int steps = 0;
    while (h.undo()) ++steps;
    CHECK(steps == 200);
}

TEST_CASE("Back and Forward are named after the steps that they repeat") {
    History h(default_state());
    REQUIRE(h.perform(cell(0.6), 0));
    const State between = h.present();
    REQUIRE(h.perform(SetTemperature{2}, 0));
    const State last = h.present();
    for (const auto& [to, edit] :
         std::vector<std::pair<State, std::string>>{{between, "temperature 2"},
                                                    {default_state(), "X[cat, 1] 0.5 → 0.6"},
                                                    {between, "X[cat, 1] 0.5 → 0.6"},
                                                    {last, "temperature 2"},
                                                    {default_state(), "opened a link"}}) {
        h.replace(to, "opened a link");
        CHECK(h.last_edit() == edit);
    }
}

TEST_CASE("steps share the parts of the State that they do not change") {
    History h(default_state());
    REQUIRE(h.perform(cell(0.6), 0));
    const State before = h.present();
    REQUIRE(h.perform(SetText{"The cat"}, 0));
    CHECK(h.present().shares<WorkedState>(before));
    CHECK_FALSE(h.present().shares<SentenceState>(before));
    REQUIRE(h.perform(cell(0.7), 0));
    CHECK_FALSE(h.present().shares<WorkedState>(before));
    CHECK(worked_of(before).x.at(0, 1) == 0.6);
    CHECK(h.undo());
    CHECK(h.undo());
    CHECK(h.present() == before);
    CHECK(h.present().shares<WorkedState>(before));
    // All States share a part that nobody has changed.
    CHECK(h.present().shares<TensorsState>(default_state()));
}
