// Follows operands in the inspector to their numbers and back, copies, and types into computed cells.
#include <catch_amalgamated.hpp>

#include "lenses/compare/compare.hpp"
#include "lenses/curves/curves.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

const std::optional<CellRef>& pin(const Screen& screen) { return screen.visit.state().pin; }

}  // namespace

TEST_CASE("an operand leads to its cell, lens by lens, and Back returns") {
    Screen screen({1440, 2400});
    screen.open_sentence();
    screen.visit.perform(OpenLens{"ladder"});
    screen.visit.perform(Pin{RunCell{Stage::output, 4, 1}});
    screen.settle();
    CHECK_FALSE(screen.shows("inspector/back"));
    screen.click("inspector/operand/0/left");
    REQUIRE(pin(screen));
    CHECK(pin(screen)->is(Stage::weight));
    CHECK(pin(screen)->run()->row == 4);
    const RunCell weight = *pin(screen)->run();
    CHECK(screen.visit.state().selection.query == 4);
    screen.click("inspector/operand/1/right");
    CHECK(pin(screen)->is(Stage::k));
    const RunCell key = *pin(screen)->run();
    CHECK(key.row == weight.col);
    screen.click("inspector/operand/0/left");
    CHECK(pin(screen)->is(Stage::attention_input));
    CHECK(screen.visit.state().lens == "ladder");
    screen.click("inspector/back");
    CHECK(pin(screen) == key);
    screen.click("inspector/back");
    CHECK(pin(screen) == weight);
    screen.click("inspector/back");
    CHECK(pin(screen) == RunCell{Stage::output, 4, 1});
    screen.draw(2);
    CHECK_FALSE(screen.shows("inspector/back"));

    // The contribution is on the map, so its lens opens there, as one undo step.
    screen.click("inspector/operand/0/product");
    CHECK(pin(screen)->is(Stage::contribution));
    CHECK(screen.visit.state().lens == "overview");
    CHECK(looks_of(screen.visit.state()).map.stage == Stage::contribution);
    screen.settle();
    screen.click("inspector/back");
    CHECK(screen.visit.state().lens == "ladder");
    CHECK(pin(screen) == RunCell{Stage::output, 4, 1});

    // Another pin ends the trail.
    screen.click("inspector/operand/0/left");
    screen.visit.perform(Pin{RunCell{Stage::weight, 2, 1}});
    screen.draw(2);
    CHECK_FALSE(screen.shows("inspector/back"));
}

TEST_CASE("operands lead back to the layer before and to the embedding") {
    Screen screen({1440, 2400});
    screen.open_sentence();
    screen.visit.perform(Select{{1, 1, {}, {}, {}}});
    screen.visit.perform(Pin{RunCell{Stage::resid_pre, 2, 3}});
    screen.settle();
    screen.click("inspector/operand/0/left");
    CHECK(pin(screen)->is(Stage::resid_mid));
    CHECK(screen.visit.state().selection.layer == 0);
    screen.click("inspector/operand/0/left");
    CHECK(pin(screen)->is(Stage::resid_pre));
    screen.click("inspector/operand/0/left");
    CHECK(pin(screen) == RunCell{Stage::embedding, 2, 3});
    for (int i = 0; i < 3; ++i) screen.click("inspector/back");
    CHECK(pin(screen) == RunCell{Stage::resid_pre, 2, 3});
    CHECK(screen.visit.state().selection.layer == 1);
}

TEST_CASE("Enter follows an operand reached with the keyboard") {
    Screen screen({1440, 2400});
    screen.draw(3);
    screen.visit.perform(Pin{RunCell{Stage::raw, 0, 1}});
    screen.draw(2);
    screen.click("inspector/operand/0/left");
    CHECK(pin(screen) == RunCell{Stage::q, 0, 0});
    screen.click("inspector/back");
    REQUIRE(pin(screen) == RunCell{Stage::raw, 0, 1});
    // Back was clicked, so the keyboard starts there.
    for (int i = 0; i < 40 && pin(screen) == RunCell{Stage::raw, 0, 1}; ++i) {
        screen.press(ImGuiKey_Tab);
        screen.press(ImGuiKey_Enter);
    }
    CHECK(pin(screen) != RunCell{Stage::raw, 0, 1});
}

TEST_CASE("an explanation is copied from a menu") {
    Screen screen({1440, 2000});
    screen.draw(3);
    screen.visit.perform(Pin{RunCell{Stage::raw, 0, 1}});
    screen.draw(2);
    for (const auto& [item, words] : {std::pair("LaTeX", "\\sum_i q_i k_i"),
                                      std::pair("NumPy", "np.dot(q, k)"), std::pair("C++", "std::printf")}) {
        screen.click("inspector/copy");
        screen.click(std::string("inspector/copy/") + item);
        CHECK(std::string(ImGui::GetClipboardText()).find(words) != std::string::npos);
    }
}

TEST_CASE("numbers beside the maps explain themselves and can be pinned") {
    Screen screen({1440, 1600});
    screen.open_sentence();
    screen.hover("next/0");
    REQUIRE(screen.frame.explained_cell());
    CHECK(screen.frame.explained_cell()->is(Stage::probability));
    screen.visit.perform(SetHeads{{HeadScore::entropy, std::nullopt}});
    screen.settle();
    screen.click("head/1/2");
    REQUIRE(pin(screen));
    CHECK(pin(screen)->is(Stage::head_score));
    CHECK(explained(screen.visit, *pin(screen))->title == "entropy on this text, layer 1, head 2");
    screen.visit.perform(SetHeads{{HeadScore::first_token, HeadScore::entropy}});
    screen.settle();
    screen.hover("head/0/1");
    CHECK(screen.frame.explained_cell()->is(Stage::head_score));
}

TEST_CASE("curves and gradients of a network in training explain themselves") {
    Screen screen({1440, 1600});
    screen.train_some(4);
    const GuardedLens lens = lens_in(screen.visit);
    Subject& subject = subject_in(screen.visit);
    const TrainingRun& run = *runs_in(screen.visit).shown();
    const auto loss = lens.explain(subject, {{}, curves::cells::loss(2)});
    REQUIRE(loss);
    CHECK(loss->f32 == static_cast<double>(run.losses()[1]));
    CHECK_FALSE(loss->recomputed);
    CHECK_FALSE(lens.explain(subject, {{}, curves::cells::loss(0)}));
    CHECK_FALSE(lens.explain(subject, {{}, curves::cells::loss(100'000)}));

    const TrainingPoint& point = run.points().back();
    REQUIRE(point.step == 4);
    int recomputed = 0;
    for (Index column = 0; column < 12; ++column) {
        INFO(column);
        const auto mark = lens.explain(subject, {{}, curves::cells::score(column / 4, column % 4, 4)});
        REQUIRE(mark);
        const HeadPoint& head = point.heads[static_cast<std::size_t>(column % 4)];
        CHECK(mark->f32 == (column < 4 ? head.induction : column < 8 ? head.previous_token : head.entropy));
        recomputed += mark->recomputed;
        if (mark->recomputed) CHECK(mark->f64 == Catch::Approx(mark->f32).epsilon(1e-4));
    }
    CHECK(recomputed == 12);
    CHECK_FALSE(lens.explain(subject, {{}, curves::cells::score(2, 4, 4)}));

    screen.click("training/stage/gradient");
    screen.settle();
    const auto gradient = lens.explain(subject, {{1, 0}, RunCell{Stage::gradient, 9, 3}});
    REQUIRE(gradient);
    CHECK(gradient->f64 == Catch::Approx(gradient->f32).epsilon(1e-4).margin(1e-9));
    CHECK(gradient->operands.size() == 8);
    screen.hover("training/map/1.0");
    REQUIRE(screen.frame.explained_cell());
    CHECK(screen.frame.explained_cell()->is(Stage::gradient));
}

TEST_CASE("cosines and differences of two sentences explain themselves") {
    Screen screen({1440, 1600});
    screen.open_sentence();
    screen.visit.perform(Compare{Comparison{"other words"}});
    screen.visit.tokens({Box::second, "other words", {0, 1, 4, 3, 4, 2}, {"a", "b", "c", "d", "e", "f"}, 6});
    screen.settle();
    screen.visit.perform(OpenLens{"compare"});
    screen.settle();
    const GuardedLens lens = lens_in(screen.visit);
    Subject& subject = subject_in(screen.visit);
    screen.hover("compare/vector/1");
    CHECK(screen.frame.explained_cell()->is(compare::cells::cosine));
    for (Index layer = 0; layer <= 2; ++layer) {
        const auto why = lens.explain(subject, {{}, compare::cells::cosine(layer)});
        REQUIRE(why);
        CHECK(why->f64 == Catch::Approx(why->f32).epsilon(1e-6));
        CHECK(why->operands.size() == 18);
        const auto residual = subject.explain_at(*why->operands[3].left_at);
        REQUIRE(residual);
        CHECK(residual->f32 == why->operands[3].left);
    }
    screen.click("compare/head/1/1");
    CHECK(pin(screen)->is(compare::cells::row_cosine));
    const auto row = lens.explain(subject, {{}, *pin(screen)});
    REQUIRE(row);
    CHECK(row->f64 == Catch::Approx(row->f32).epsilon(1e-5));
    const auto difference = lens.explain(subject, {{1, 1}, compare::cells::difference(3, 0)});
    REQUIRE(difference);
    CHECK(difference->f64 == difference->operands[0].left - difference->operands[1].left);
}

TEST_CASE("typing into a cell of a model's ladder offers a copy that can be edited") {
    Screen screen;
    screen.open_sentence(5);
    screen.visit.perform(OpenLens{"ladder"});
    screen.settle();
    screen.click("q/2/1");
    screen.type("7");
    REQUIRE(screen.shows("instead"));
    CHECK(screen.visit.state().subject == sentence_subject);
    screen.click("instead");
    CHECK(screen.visit.state().subject == worked_subject);
    CHECK(pin(screen) == RunCell{Stage::q, 2, 1});
}
