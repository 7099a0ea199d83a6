#include "lenses/circuits/circuits.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/copied.hpp"
#include "app/link.hpp"
#include "support/small_families.hpp"
#include "support/translator.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/frame/pictures.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

CircuitsLens& circuits_in(const Visit& visit) { return static_cast<CircuitsLens&>(visit.lens()); }

void show_circuits(Screen& screen, const CircuitsState& shown = {}) {
    show_lens(screen, "circuits", SetCircuits{shown});
}

// Explains the cell and, to some depth, the lens's own cells that its operands lead to.
void check_circuits_cell(const Visit& visit, const CellRef& cell, int depth = 2) {
    CAPTURE(write_cell(cell));
    const auto found = why(visit, cell);
    REQUIRE(found);
    CHECK_FALSE(found->title.empty());
    // Sums of at most 24 products in f32.
    CHECK(found->f32 == Catch::Approx(found->f64).epsilon(3e-5).margin(3e-5));
    REQUIRE_FALSE(found->calculation.empty());
    check_calculated(*found);
    CHECK_FALSE(copied(*found, Dialect::numpy).empty());
    if (depth == 0 || found->operands.empty()) return;
    const Explained::Operand& operand = found->operands[found->operands.size() / 2];
    for (const auto& [at, value] :
         {std::pair{operand.left_at, operand.left}, std::pair{operand.right_at, operand.right}}) {
        if (!at) continue;
        const auto leads = lens_in(visit).explain(subject_in(visit), *at);
        CAPTURE(at->cell.row, at->cell.col, static_cast<int>(at->cell.stage));
        REQUIRE(leads);
        CHECK(leads->f32 == Catch::Approx(value).epsilon(1e-6).margin(1e-6));
        if (at->cell.stage == Stage::lens) check_circuits_cell(visit, at->cell, depth - 1);
    }
}

}  // namespace

TEST_CASE("Circuits works for a sentence and for a network in training, in all its parts") {
    Screen screen;
    screen.open_sentence();
    screen.train_some();
    for (const std::string_view subject : {sentence_subject, training_subject}) {
        INFO(subject);
        screen.visit.perform(OpenSubject{subject});
        show_circuits(screen);
        for (const char* part : {"circuits/map", "circuits/row/0", "circuits/column/0", "circuits/whole"}) {
            INFO(part);
            CHECK(screen.shows(part));
        }
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("From its weights alone, "));
        show_circuits(screen, {.part = CircuitsPart::ov});
        for (const char* part :
             {"circuits/map", "circuits/row/0", "circuits/copying/1/0", "chart/circuits-eigenvalues"}) {
            INFO(part);
            CHECK(screen.shows(part));
        }
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("Its copying score is "));
        show_circuits(screen, {.part = CircuitsPart::positions});
        CHECK_FALSE(spoken(screen.visit).empty());
        show_circuits(screen, {.part = CircuitsPart::wiring});
        for (const char* part : {"circuits/wiring", "circuits/node/0", "circuits/wire/0",
                                 "circuits/virtual/0", "chart/circuits-virtual"}) {
            INFO(part);
            CHECK(screen.shows(part));
        }
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("The strongest wire is the "));
        show_circuits(screen, {.part = CircuitsPart::plane});
        for (const char* part : {"circuits/plane", "circuits/point/0", "circuits/product/0"}) {
            INFO(part);
            CHECK(screen.shows(part));
        }
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("In this plane"));
    }
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    CHECK(screen.shows("missing/sentence"));
    CHECK(screen.page.notices.empty());
}

TEST_CASE("the lists have the highest and the lowest cells of the map, and a click follows a token") {
    for (const char* name : {"gpt2", "llama", "gemma2"})
        for (const CircuitsPart part : {CircuitsPart::qk, CircuitsPart::ov}) {
            CAPTURE(name, static_cast<int>(part));
            Screen screen;
            open_family(screen, name);
            show_circuits(screen, {.part = part, .query = 3, .key = 7, .output = 11, .distance = 2});
            CircuitsLens& lens = circuits_in(screen.visit);
            REQUIRE(lens.circuit());
            const bool of_ov = part == CircuitsPart::ov;
            const Index distance = !of_ov && name != std::string_view("gpt2") ? 2 : 0, row = of_ov ? 7 : 3,
                        column = of_ov ? 11 : 7;
            const MapPointer map = lens.circuit()->map(distance);
            for (const bool of_row : {true, false}) {
                const TokenDirections* found = lens.circuit()->list(of_row, of_row ? row : column, distance);
                REQUIRE(found);
                REQUIRE(found->done());
                std::vector<float> all;
                for (Index id = 0; id < 20; ++id)
                    all.push_back(of_row ? map->cell(row, id) : map->cell(id, column));
                const auto value = [&](const TokenAlong& each) {
                    return all[static_cast<std::size_t>(each.id)];
                };
                std::vector<float> sorted = all;
                std::ranges::sort(sorted);
                for (std::size_t i = 0; i < circuit_ends_listed; ++i) {
                    // The lists are added in another order.
                    CHECK(value(found->highest()[i]) == Catch::Approx(sorted[19 - i]).margin(1e-4));
                    CHECK(value(found->lowest()[i]) == Catch::Approx(sorted[i]).margin(1e-4));
                }
            }
            const std::int32_t second = lens.circuit()->list(true, row, distance)->highest()[1].id;
            screen.click("circuits/row/1");
            screen.settle();
            const CircuitsState& now = screen.visit.state().of<CircuitsState>();
            CHECK((of_ov ? now.output : now.key) == second);
            CHECK(screen.visit.state().pin == circuits_cells::map(of_ov, row, second));
            CHECK_FALSE(lens.tables(subject_in(screen.visit)).empty());
        }
}

TEST_CASE("every number of Circuits explains itself, operand by operand, in families of each kind") {
    for (const char* name :
         {"gpt2", "llama", "qwen3", "gemma2", "olmo2", "gptj", "opt_350m", "bert", "roberta"}) {
        CAPTURE(name);
        Screen screen;
        open_family(screen, name);
        for (const Index layer : {0, 1}) {
            screen.visit.perform(Select{{layer, 1, 5, {}, {}}});
            CAPTURE(layer);
            show_circuits(screen, {.distance = 3});
            check_circuits_cell(screen.visit, circuits_cells::map(Circuit::qk, 4, 9));
            const auto drawn = circuits_in(screen.visit).circuit();
            const Index distance = screen.visit.state().of<CircuitsState>().distance;
            const bool turns = drawn->job().ends().model()->network().rotary_of(layer);
            CHECK(why(screen.visit, circuits_cells::map(Circuit::qk, 4, 9))->f32 ==
                  static_cast<double>(drawn->map(turns ? distance : 0)->cell(4, 9)));
            for (const CellRef& cell : {circuits_cells::map(0, 20, 0), circuits_cells::map(0, 0, 20),
                                        circuits_cells::map(1, 0, 0), circuits_cells::left_factor(0, 0, 90)})
                CHECK_FALSE(why(screen.visit, cell));
            show_circuits(screen, {.part = CircuitsPart::ov});
            // In a text, a token's residual stream is more than its embedding.
            CHECK(spoken(screen.visit).starts_with("From its weights alone, seeing "));
            check_circuits_cell(screen.visit, circuits_cells::map(Circuit::ov, 4, 9));
            const Copying& own = circuits_in(screen.visit).copying()->of({layer, 1});
            for (Index i = 0; i < 3; ++i) {
                CHECK(why(screen.visit, circuits_cells::eigenvalue(0, 0, i))->f64 ==
                      own.eigenvalues[static_cast<std::size_t>(i)].real());
                check_circuits_cell(screen.visit, circuits_cells::eigenvalue(0, 1, i));
            }
            check_circuits_cell(screen.visit, circuits_cells::copying(layer, 1));
            CHECK(why(screen.visit, circuits_cells::copying(layer, 1))->f64 == Catch::Approx(own.score));
            show_circuits(screen, {.part = CircuitsPart::positions});
            if (turns) {
                check_circuits_cell(screen.visit, circuits_cells::distance(2));
                CHECK_FALSE(why(screen.visit, circuits_cells::map(Circuit::positions, 0, 0)));
            } else if (circuits_in(screen.visit).circuit()) {
                check_circuits_cell(screen.visit, circuits_cells::map(Circuit::positions, 5, 2));
            }
            show_circuits(screen, {.part = CircuitsPart::plane});
            for (Index which = 0; which < 4; ++which)
                check_circuits_cell(screen.visit, circuits_cells::plane(which / 2, which % 2, 5));
        }
        show_circuits(screen, {.part = CircuitsPart::wiring});
        CircuitsLens& lens = circuits_in(screen.visit);
        const Index heads = lens.composition()->heads();
        for (Index kind = 0; kind < 3; ++kind) {
            const CellRef cell = circuits_cells::composition(kind, 1, heads);
            check_circuits_cell(screen.visit, cell);
            CHECK(why(screen.visit, cell)->f32 == static_cast<double>(lens.composition()->value(
                                                      static_cast<Composition>(kind), {0, 1}, {1, 0})));
        }
        CHECK_FALSE(why(screen.visit, circuits_cells::composition(0, 0, 0)));
        REQUIRE(lens.virtual_head());
        check_circuits_cell(screen.visit, circuits_cells::virtual_copying());
        check_circuits_cell(screen.visit, circuits_cells::virtual_logit(3));
        const TokenAlong best = lens.virtual_head()->outputs->highest().front();
        CHECK(why(screen.visit, circuits_cells::virtual_logit(best.id))->f32 ==
              Catch::Approx(best.along).epsilon(1e-4).margin(1e-4));
    }
}

TEST_CASE("the drawn wires are the strongest, in order, above the threshold and of the chosen kinds") {
    Screen screen;
    open_family(screen, "gpt2");
    show_circuits(screen, {.part = CircuitsPart::wiring, .kinds = {false, true, true}, .threshold = 0});
    CircuitsLens& lens = circuits_in(screen.visit);
    CHECK(lens.wires().size() == 8);  // two heads by two, keys and values
    for (std::size_t i = 0; i < lens.wires().size(); ++i) {
        const auto& [wire, value] = lens.wires()[i];
        CHECK(wire.kind != Composition::q);
        CHECK(value == static_cast<double>(lens.composition()->value(wire.kind, wire.from, wire.to)));
        if (i > 0) CHECK(value <= lens.wires()[i - 1].value);
    }
    const double third = lens.wires()[2].value;
    show_circuits(screen, {.part = CircuitsPart::wiring, .kinds = {false, true, true}, .threshold = third});
    CHECK(lens.wires().size() == 3);
    screen.click("circuits/wire/1");
    screen.settle();
    CHECK(screen.visit.state().of<CircuitsState>().wire == lens.wires()[1].wire);
    CHECK(lens.virtual_head()->of == lens.wires()[1].wire);
    screen.click("circuits/node/3");
    CHECK(screen.visit.state().selection.layer == 1);
    CHECK(screen.visit.state().selection.head == 1);
    screen.settle();
    show_circuits(screen, {.part = CircuitsPart::wiring, .threshold = 1});
    CHECK(lens.wires().empty());
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("lower the threshold"));
}

TEST_CASE("Circuits' settings are in the link and in undo, and impossible ones are refused") {
    Screen screen;
    screen.open_sentence();
    show_circuits(screen);
    screen.click("circuits/part/OV");
    screen.settle();
    CHECK(screen.visit.state().of<CircuitsState>().part == CircuitsPart::ov);
    screen.visit.undo();
    CHECK(screen.visit.state().of<CircuitsState>().part == CircuitsPart::qk);
    const CircuitsState wanted{.part = CircuitsPart::wiring,
                               .query = 3,
                               .key = 5,
                               .output = 7,
                               .distance = 4,
                               .kinds = {true, false, true},
                               .threshold = 0.25,
                               .wire = Wire{Composition::v, {0, 1}, {1, 2}}};
    show_circuits(screen, wanted);
    const std::string link = to_fragment(screen.visit.state());
    CHECK_THAT(link, ContainsSubstring(
                         "circuits.part=wiring&circuits.distance=4&circuits.kinds=qv&circuits.threshold=0.25&"
                         "circuits.wire=v.0.1-1.2&circuits.query=3&circuits.key=5&circuits.output=7"));
    CHECK(parse_fragment(link).state == screen.visit.state());
    for (const CircuitsState& bad :
         {CircuitsState{.query = -1}, CircuitsState{.key = -1}, CircuitsState{.distance = -1},
          CircuitsState{.distance = circuits_distance_limit}, CircuitsState{.kinds = {false, false, false}},
          CircuitsState{.threshold = 1.5}, CircuitsState{.threshold = NAN},
          CircuitsState{.wire = Wire{Composition::q, {1, 0}, {1, 1}}},
          CircuitsState{.wire = Wire{Composition::q, {-1, 0}, {1, 1}}}})
        CHECK_FALSE(apply(default_state(), SetCircuits{bad}));
    for (const char* bad :
         {"v=1&circuits.part=all", "v=1&circuits.query=x", "v=1&circuits.distance=-1",
          "v=1&circuits.kinds=", "v=1&circuits.kinds=qq", "v=1&circuits.kinds=x", "v=1&circuits.threshold=2",
          "v=1&circuits.wire=q.0.1", "v=1&circuits.wire=o.0.1-1.1", "v=1&circuits.wire=q.1.1-0.1"})
        CHECK_FALSE(parse_fragment(bad).note.empty());
    // A link may name tokens and wires that this model lacks.
    show_circuits(
        screen, {.part = CircuitsPart::wiring, .query = 5000, .wire = Wire{Composition::q, {5, 0}, {9, 1}}});
    CHECK(circuits_in(screen.visit).wire() == circuits_in(screen.visit).wires().front().wire);
    CHECK(circuits_in(screen.visit).query() < 1000);
}

TEST_CASE("a token can be typed, and the text's tokens can be restored") {
    Screen screen;
    screen.open_sentence();
    show_circuits(screen);
    const std::int32_t before = circuits_in(screen.visit).query();
    screen.click("circuits/query");
    screen.type("w17");
    screen.settle();
    CHECK(screen.visit.state().of<CircuitsState>().query == 17);
    CHECK(circuits_in(screen.visit).query() == 17);
    screen.type("9999");
    screen.settle();
    CHECK(screen.shows("circuits/fault"));
    CHECK(circuits_in(screen.visit).query() == 17);
    screen.click("circuits/text");
    screen.settle();
    CHECK(circuits_in(screen.visit).query() == before);
}

TEST_CASE("presets go to the head that copies most, to positions and to the wiring") {
    Screen screen;
    screen.open_sentence();
    show_circuits(screen);
    screen.click("circuits/preset/copying");
    screen.settle();
    CHECK(screen.visit.state().of<CircuitsState>().part == CircuitsPart::ov);
    CircuitsLens& lens = circuits_in(screen.visit);
    REQUIRE(lens.copying());
    const Selection chosen = screen.visit.state().selection;
    for (const Copying& each : lens.copying()->heads())
        CHECK(lens.copying()->of({chosen.layer, chosen.head}).score >= each.score);
    screen.click("circuits/preset/positions");
    screen.settle();
    CHECK(screen.visit.state().of<CircuitsState>().part == CircuitsPart::positions);
    screen.click("circuits/preset/wire");
    screen.settle();
    CHECK(screen.visit.state().of<CircuitsState>().part == CircuitsPart::wiring);
}

TEST_CASE("Circuits says in one sentence what an encoder–decoder lacks") {
    {
        Screen screen;
        open_encoder_decoder(screen.visit, small_encoder_decoders.front(), {5, 9, 13, 7, 1}, {4, 11, 6, 8});
        screen.visit.perform(OpenLens{"circuits"});
        screen.settle();
        const auto lacks = lens_in(screen.visit).missing(subject_in(screen.visit));
        REQUIRE(lacks);
        CHECK_THAT(lacks->sentence, ContainsSubstring("encoder–decoder"));
    }
}

TEST_CASE("Circuits' tables match what it shows, and a click on a picture pins the number it names") {
    Screen screen({1440, 2600});
    screen.open_sentence();
    const auto pin = [&] { return screen.visit.state().pin; };
    show_circuits(screen);
    check_pictures(screen);
    CHECK(table_shown(screen, "circuits/row").row_labels.size() > 1);
    screen.click("circuits/row/1");
    CHECK(pin()->is(circuits_cells::map));
    screen.settle();

    show_circuits(screen, {.part = CircuitsPart::ov});
    check_pictures(screen);
    const CircuitsLens& lens = static_cast<CircuitsLens&>(screen.visit.lens());
    CHECK(table_shown(screen, "circuits/copying").values.at(1, 0) == lens.copying()->of({1, 0}).score);
    screen.click("circuits/copying/1/0");
    CHECK(pin() == circuits_cells::copying(1, 0));
    screen.settle();

    show_circuits(screen, {.part = CircuitsPart::wiring});
    check_pictures(screen);
    CHECK(table_shown(screen, "circuits/wiring").values.at(0, 0) == lens.wires().front().value);
    screen.click("circuits/wire/1");
    CHECK(pin()->is(circuits_cells::composition));

    show_circuits(screen, {.part = CircuitsPart::plane});
    check_pictures(screen);
    CHECK(table_shown(screen, "circuits/plane").values.at(2, 0) == lens.plane()->queries[2][0]);
    screen.click("circuits/product/0");
    CHECK(pin()->stage == Stage::scaled);
}

TEST_CASE("on a phone every part of Circuits is available, one below the other") {
    Screen screen({390, 760});
    screen.open_sentence();
    show_circuits(screen, {});
    CHECK(screen.shows("circuits/row/0"));
    CHECK_FALSE(screen.shows("circuits/part/wiring"));
    screen.click("settings");
    CHECK(screen.shows("circuits/part/wiring"));
    screen.click("settings");
    show_circuits(screen, {.part = CircuitsPart::ov});
    CHECK(screen.shows("circuits/row/0"));
    show_circuits(screen, {.part = CircuitsPart::plane});
    CHECK(rect("circuits/product/0").top > rect("circuits/plane").bottom);
    show_circuits(screen, {.part = CircuitsPart::plane, .corpus = true});
    CHECK(screen.shows("circuits/corpus_product/0"));
    CHECK(rect("circuits/corpus").right <= 390);
}
