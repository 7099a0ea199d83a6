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

circuits::Model& circuits_in(const Visit& visit) {
    return static_cast<ModelLens<circuits::Model>&>(visit.lens()).model();
}

void show_circuits(Screen& screen, const circuits::State& shown = {}) {
    show_lens(screen, "circuits", Set<circuits::State>{shown});
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
        CAPTURE(write_cell(at->cell));
        REQUIRE(leads);
        CHECK(leads->f32 == Catch::Approx(value).epsilon(1e-6).margin(1e-6));
        if (at->cell.own()) check_circuits_cell(visit, at->cell, depth - 1);
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
        show_circuits(screen, {.part = circuits::Part::ov});
        for (const char* part :
             {"circuits/map", "circuits/row/0", "circuits/copying/1/0", "chart/circuits-eigenvalues"}) {
            INFO(part);
            CHECK(screen.shows(part));
        }
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("Its copying score is "));
        show_circuits(screen, {.part = circuits::Part::positions});
        CHECK_FALSE(spoken(screen.visit).empty());
        show_circuits(screen, {.part = circuits::Part::wiring});
        for (const char* part : {"circuits/wiring", "circuits/node/0", "circuits/wire/0",
                                 "circuits/virtual/0", "chart/circuits-virtual"}) {
            INFO(part);
            CHECK(screen.shows(part));
        }
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("The strongest wire is the "));
        show_circuits(screen, {.part = circuits::Part::plane});
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
        for (const circuits::Part part : {circuits::Part::qk, circuits::Part::ov}) {
            CAPTURE(name, static_cast<int>(part));
            Screen screen;
            open_family(screen, name);
            show_circuits(screen, {.part = part, .query = 3, .key = 7, .output = 11, .distance = 2});
            circuits::Model& model = circuits_in(screen.visit);
            REQUIRE(model.circuit());
            const bool of_ov = part == circuits::Part::ov;
            const Index distance = !of_ov && name != std::string_view("gpt2") ? 2 : 0, row = of_ov ? 7 : 3,
                        column = of_ov ? 11 : 7;
            const MapPointer map = model.circuit()->map(distance);
            for (const bool of_row : {true, false}) {
                const TokenDirections* found = model.circuit()->list(of_row, of_row ? row : column, distance);
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
            const std::int32_t second = model.circuit()->list(true, row, distance)->highest()[1].id;
            screen.click("circuits/row/1");
            screen.settle();
            const circuits::State& now = screen.visit.state().of<circuits::State>();
            CHECK((of_ov ? now.output : now.key) == second);
            CHECK(screen.visit.state().pin == circuits::cells::map(of_ov, row, second));
            CHECK_FALSE(lens_in(screen.visit).tables(subject_in(screen.visit)).empty());
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
            check_circuits_cell(screen.visit, circuits::cells::map(Circuit::qk, 4, 9));
            const auto drawn = circuits_in(screen.visit).circuit();
            const Index distance = screen.visit.state().of<circuits::State>().distance;
            const bool turns = drawn->job().ends().model()->network().rotary_of(layer);
            CHECK(why(screen.visit, circuits::cells::map(Circuit::qk, 4, 9))->f32 ==
                  static_cast<double>(drawn->map(turns ? distance : 0)->cell(4, 9)));
            for (const CellRef& cell :
                 {circuits::cells::map(0, 20, 0), circuits::cells::map(0, 0, 20),
                  circuits::cells::map(1, 0, 0), circuits::cells::left_factor(0, 0, 90)})
                CHECK_FALSE(why(screen.visit, cell));
            show_circuits(screen, {.part = circuits::Part::ov});
            // In a text, a token's residual stream is more than its embedding.
            CHECK(spoken(screen.visit).starts_with("From its weights alone, seeing "));
            check_circuits_cell(screen.visit, circuits::cells::map(Circuit::ov, 4, 9));
            const Copying& own = circuits_in(screen.visit).copying()->of({layer, 1});
            for (Index i = 0; i < 3; ++i) {
                CHECK(why(screen.visit, circuits::cells::eigenvalue(0, 0, i))->f64 ==
                      own.eigenvalues[static_cast<std::size_t>(i)].real());
                check_circuits_cell(screen.visit, circuits::cells::eigenvalue(0, 1, i));
            }
            check_circuits_cell(screen.visit, circuits::cells::copying(layer, 1));
            CHECK(why(screen.visit, circuits::cells::copying(layer, 1))->f64 == Catch::Approx(own.score));
            show_circuits(screen, {.part = circuits::Part::positions});
            if (turns) {
                check_circuits_cell(screen.visit, circuits::cells::distance(2));
                CHECK_FALSE(why(screen.visit, circuits::cells::map(Circuit::positions, 0, 0)));
            } else if (circuits_in(screen.visit).circuit()) {
                check_circuits_cell(screen.visit, circuits::cells::map(Circuit::positions, 5, 2));
            }
            show_circuits(screen, {.part = circuits::Part::plane});
            for (Index which = 0; which < 4; ++which)
                check_circuits_cell(screen.visit, circuits::cells::plane(which / 2, which % 2, 5));
        }
        show_circuits(screen, {.part = circuits::Part::wiring});
        circuits::Model& model = circuits_in(screen.visit);
        const Index heads = model.composition->heads();
        for (Index kind = 0; kind < 3; ++kind) {
            const CellRef cell = circuits::cells::composition(kind, 1, heads);
            check_circuits_cell(screen.visit, cell);
            CHECK(why(screen.visit, cell)->f32 == static_cast<double>(model.composition->value(
                                                      static_cast<Composition>(kind), {0, 1}, {1, 0})));
        }
        CHECK_FALSE(why(screen.visit, circuits::cells::composition(0, 0, 0)));
        REQUIRE(model.virtual_head());
        check_circuits_cell(screen.visit, circuits::cells::virtual_copying());
        check_circuits_cell(screen.visit, circuits::cells::virtual_logit(3));
        const TokenAlong best = model.virtual_head()->outputs()->highest().front();
        CHECK(why(screen.visit, circuits::cells::virtual_logit(best.id))->f32 ==
              Catch::Approx(best.along).epsilon(1e-4).margin(1e-4));
    }
}

TEST_CASE("the drawn wires are the strongest, in order, above the threshold and of the chosen kinds") {
    Screen screen;
    open_family(screen, "gpt2");
    show_circuits(screen, {.part = circuits::Part::wiring, .kinds = {false, true, true}, .threshold = 0});
    circuits::Model& model = circuits_in(screen.visit);
    const auto wires = [&] { return model.wires.kept()->listed; };
    CHECK(wires().size() == 8);  // two heads by two, keys and values
    for (std::size_t i = 0; i < wires().size(); ++i) {
        const auto [wire, value] = wires()[i];
        CHECK(wire.kind != Composition::q);
        CHECK(value == static_cast<double>(model.composition->value(wire.kind, wire.from, wire.to)));
        if (i > 0) CHECK(value <= wires()[i - 1].value);
    }
    const double third = wires()[2].value;
    show_circuits(screen, {.part = circuits::Part::wiring, .kinds = {false, true, true}, .threshold = third});
    CHECK(wires().size() == 3);
    screen.click("circuits/wire/1");
    screen.settle();
    CHECK(screen.visit.state().of<circuits::State>().wire == wires()[1].wire);
    CHECK(model.virtual_head()->from() == wires()[1].wire.from);
    CHECK(model.virtual_head()->to() == wires()[1].wire.to);
    screen.click("circuits/node/3");
    CHECK(screen.visit.state().selection.layer == 1);
    CHECK(screen.visit.state().selection.head == 1);
    screen.settle();
    show_circuits(screen, {.part = circuits::Part::wiring, .threshold = 1});
    CHECK(wires().empty());
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("lower the threshold"));
}

TEST_CASE("Circuits' settings are in the link and in undo, and impossible ones are refused") {
    Screen screen;
    screen.open_sentence();
    show_circuits(screen);
    screen.click("circuits/part/OV");
    screen.settle();
    CHECK(screen.visit.state().of<circuits::State>().part == circuits::Part::ov);
    screen.visit.undo();
    CHECK(screen.visit.state().of<circuits::State>().part == circuits::Part::qk);
    const circuits::State wanted{.part = circuits::Part::wiring,
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
    for (const circuits::State& bad :
         {circuits::State{.query = -1}, circuits::State{.key = -1}, circuits::State{.distance = -1},
          circuits::State{.distance = circuits::distance_limit},
          circuits::State{.kinds = {false, false, false}}, circuits::State{.threshold = 1.5},
          circuits::State{.threshold = NAN}, circuits::State{.wire = Wire{Composition::q, {1, 0}, {1, 1}}},
          circuits::State{.wire = Wire{Composition::q, {-1, 0}, {1, 1}}}})
        CHECK_FALSE(apply(default_state(), Set<circuits::State>{bad}));
    for (const char* bad :
         {"v=1&circuits.part=all", "v=1&circuits.query=x", "v=1&circuits.distance=-1",
          "v=1&circuits.kinds=", "v=1&circuits.kinds=qq", "v=1&circuits.kinds=x", "v=1&circuits.threshold=2",
          "v=1&circuits.wire=q.0.1", "v=1&circuits.wire=o.0.1-1.1", "v=1&circuits.wire=q.1.1-0.1"})
        CHECK_FALSE(parse_fragment(bad).note.empty());
    // A link may name tokens and wires that this model lacks.
    show_circuits(
        screen,
        {.part = circuits::Part::wiring, .query = 5000, .wire = Wire{Composition::q, {5, 0}, {9, 1}}});
    CHECK(circuits_in(screen.visit).wire() == circuits_in(screen.visit).wires.kept()->listed.front().wire);
    CHECK(circuits_in(screen.visit).tokens.query < 1000);
}

TEST_CASE("a token can be typed, and the text's tokens can be restored") {
    Screen screen;
    screen.open_sentence();
    show_circuits(screen);
    const std::int32_t before = circuits_in(screen.visit).tokens.query;
    screen.click("circuits/query");
    screen.type("w17");
    screen.settle();
    CHECK(screen.visit.state().of<circuits::State>().query == 17);
    CHECK(circuits_in(screen.visit).tokens.query == 17);
    screen.type("9999");
    screen.settle();
    CHECK(screen.shows("circuits/fault"));
    CHECK(circuits_in(screen.visit).tokens.query == 17);
    screen.click("circuits/text");
    screen.settle();
    CHECK(circuits_in(screen.visit).tokens.query == before);
}

TEST_CASE("presets go to the head that copies most, to positions and to the wiring") {
    Screen screen;
    screen.open_sentence();
    show_circuits(screen);
    screen.click("circuits/preset/copying");
    screen.settle();
    CHECK(screen.visit.state().of<circuits::State>().part == circuits::Part::ov);
    circuits::Model& model = circuits_in(screen.visit);
    REQUIRE(model.copying());
    const Selection chosen = screen.visit.state().selection;
    for (const Copying& each : model.copying()->heads())
        CHECK(model.copying()->of({chosen.layer, chosen.head}).score >= each.score);
    screen.click("circuits/preset/positions");
    screen.settle();
    CHECK(screen.visit.state().of<circuits::State>().part == circuits::Part::positions);
    screen.click("circuits/preset/wire");
    screen.settle();
    CHECK(screen.visit.state().of<circuits::State>().part == circuits::Part::wiring);
}

TEST_CASE("tokens beyond the 300,000th have a circuit, cells and links like all others") {
    const SmallFamily large{"gpt2", R"({"model_type": "gpt2", "vocab_size": 300100, "n_positions": 8,
        "n_embd": 4, "n_layer": 1, "n_head": 1})"};
    Screen screen;
    open_model(screen, large, 3);
    const std::int32_t token = 300'050;
    Visit& visit = screen.visit;
    visit.perform(OpenLens{"circuits"});
    visit.perform(Set<circuits::State>{{.query = token, .key = 9}});
    Subject& subject = subject_in(visit);
    CHECK_FALSE(lens_in(visit).missing(subject));
    (void)spoken(visit);
    const auto finish = [&] {
        while (circuits_in(visit).step(visit, subject)) continue;
    };
    finish();
    CHECK(circuits_in(visit).tokens.query == token);
    CHECK_THAT(spoken(visit), ContainsSubstring("Searching the whole vocabulary"));
    finish();
    CHECK_THAT(spoken(visit), ContainsSubstring("out of 300,100 tokens"));
    const CellRef cell = circuits::cells::map(Circuit::qk, token, 9);
    check_circuits_cell(visit, cell);
    visit.perform(Pin{cell});
    CHECK(parse_fragment(to_fragment(visit.state())).state == visit.state());
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
    CHECK(pin()->is(circuits::cells::map));
    screen.settle();

    show_circuits(screen, {.part = circuits::Part::ov});
    check_pictures(screen);
    const circuits::Model& model = circuits_in(screen.visit);
    CHECK(table_shown(screen, "circuits/copying").values.at(1, 0) == model.copying()->of({1, 0}).score);
    screen.click("circuits/copying/1/0");
    CHECK(pin() == circuits::cells::copying(1, 0));
    screen.settle();

    show_circuits(screen, {.part = circuits::Part::wiring});
    check_pictures(screen);
    CHECK(table_shown(screen, "circuits/wiring").values.at(0, 0) == model.wires.kept()->listed.front().value);
    screen.click("circuits/wire/1");
    CHECK(pin()->is(circuits::cells::composition));

    show_circuits(screen, {.part = circuits::Part::plane});
    check_pictures(screen);
    CHECK(table_shown(screen, "circuits/plane").values.at(2, 0) == model.plane()->queries[2][0]);
    screen.click("circuits/product/0");
    CHECK(pin()->is(Stage::scaled));
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
    show_circuits(screen, {.part = circuits::Part::ov});
    CHECK(screen.shows("circuits/row/0"));
    show_circuits(screen, {.part = circuits::Part::plane});
    CHECK(rect("circuits/product/0").top > rect("circuits/plane").bottom);
    show_circuits(screen, {.part = circuits::Part::plane, .corpus = true});
    CHECK(screen.shows("circuits/corpus_product/0"));
    CHECK(rect("circuits/corpus").right <= 390);
}
