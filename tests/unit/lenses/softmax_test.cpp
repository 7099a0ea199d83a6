#include "lenses/softmax/softmax.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/copied.hpp"
#include "app/link.hpp"
#include "subjects/tensors/commands.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

double number(const Visit& visit, softmax::GibbsNumber which,
              softmax::GibbsPlace place = softmax::GibbsPlace::dial) {
    const auto found = why(visit, softmax::cells::gibbs(which, place));
    REQUIRE(found);
    return found->f64;
}

void open_softmax(Screen& screen) {
    screen.visit.perform(OpenLens{"softmax"});
    screen.settle();
}

}  // namespace

TEST_CASE("Softmax works for every subject that has scores, and describes the row") {
    Screen screen;
    screen.open_sentence();
    screen.train_some();
    for (const std::string_view subject : {worked_subject, sentence_subject, training_subject}) {
        INFO(subject);
        screen.visit.perform(OpenSubject{subject});
        open_softmax(screen);
        for (const char* part :
             {"softmax/number/0/0", "softmax/weight/0/0", "softmax/measure/0/0", "chart/softmax-energy",
              "chart/softmax-entropy", "chart/softmax-capacity", "chart/softmax-queries"})
            CHECK(screen.shows(part));
        CHECK(screen.shows("softmax/head/1/1") == (subject != worked_subject));
        CHECK(spoken(screen.visit).starts_with("At T = 1, "));
        CHECK(spoken(screen.visit).find(" keys that it may see.") != std::string::npos);
    }
}

TEST_CASE("the numbers of a row follow from its scores, at the dial, at the peak and in the limits") {
    Screen screen;
    open_softmax(screen);
    // cat, sat, mat: the scaled scores of the last query are 0.54, 0.275, 0.49.
    constexpr std::array scores{0.54, 0.275, 0.49};
    const auto expect = [&](double t) {
        double z = 0, energy = 0, entropy = 0, squares = 0;
        for (const double s : scores) z += std::exp(s / t);
        for (const double s : scores) energy -= s * std::exp(s / t) / z;
        for (const double s : scores) {
            const double p = std::exp(s / t) / z;
            entropy -= p * std::log(p);
            squares += p * (s + energy) * (s + energy);
        }
        CHECK(number(screen.visit, softmax::GibbsNumber::energy) == Catch::Approx(energy).epsilon(1e-12));
        CHECK(number(screen.visit, softmax::GibbsNumber::entropy) == Catch::Approx(entropy).epsilon(1e-12));
        CHECK(number(screen.visit, softmax::GibbsNumber::keys) ==
              Catch::Approx(std::exp(entropy)).epsilon(1e-12));
        CHECK(number(screen.visit, softmax::GibbsNumber::free_energy) ==
              Catch::Approx(-t * std::log(z)).epsilon(1e-12));
        CHECK(number(screen.visit, softmax::GibbsNumber::heat_capacity) ==
              Catch::Approx(squares / (t * t)).epsilon(1e-9));
    };
    expect(1);
    screen.visit.perform(Set<softmax::State>{{.temperature = 0.05}});
    screen.settle();
    expect(0.05);
    CHECK(number(screen.visit, softmax::GibbsNumber::keys, softmax::GibbsPlace::zero) == 1);
    CHECK(number(screen.visit, softmax::GibbsNumber::energy, softmax::GibbsPlace::zero) ==
          Catch::Approx(-0.54).epsilon(1e-12));
    CHECK(number(screen.visit, softmax::GibbsNumber::keys, softmax::GibbsPlace::infinity) ==
          Catch::Approx(3).epsilon(1e-12));
    const double peak = number(screen.visit, softmax::GibbsNumber::heat_capacity, softmax::GibbsPlace::peak);
    screen.click("softmax/peak");
    screen.settle();
    CHECK(number(screen.visit, softmax::GibbsNumber::heat_capacity) == Catch::Approx(peak).epsilon(1e-12));
    const double at = screen.visit.state().of<softmax::State>().temperature;
    for (const double t : {at * 0.9, at * 1.1}) {
        screen.visit.perform(Set<softmax::State>{{.temperature = t}});
        CHECK(number(screen.visit, softmax::GibbsNumber::heat_capacity) < peak);
    }
}

TEST_CASE("its temperature, what it shows and its pin are in the link and in undo") {
    Screen screen;
    open_softmax(screen);
    screen.click("softmax/zero");
    CHECK(to_fragment(screen.visit.state()) == "v=1&lens=softmax&softmax.t=0");
    screen.click("softmax/infinity");
    reveal(screen, "softmax/measure/6/2");
    screen.click("softmax/shown/outputs");
    screen.settle();
    CHECK(to_fragment(screen.visit.state()) == "v=1&lens=softmax&softmax.t=inf&softmax.shown=outputs");
    CHECK(parse_fragment("v=1&lens=softmax&softmax.t=inf&softmax.shown=outputs").state ==
          screen.visit.state());
    CHECK(screen.shows("softmax/output/6/3"));
    screen.click("softmax/output/2/1");
    CHECK(screen.visit.state().pin == softmax::cells::output(2, 1));
    CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());
    for (int step = 0; step < 3; ++step) screen.visit.undo();  // undoes the cell, the outputs, infinity
    CHECK(screen.visit.state().of<softmax::State>() == softmax::State{.temperature = 0});
    screen.visit.undo();
    CHECK(screen.visit.state().of<softmax::State>() == softmax::State{});
    CHECK_FALSE(apply(default_state(), Set<softmax::State>{{.temperature = -1}}));
    CHECK_FALSE(apply(default_state(), Set<softmax::State>{{.temperature = std::nan("")}}));
    for (const char* bad :
         {"v=1&softmax.t=-1", "v=1&softmax.t=nan", "v=1&softmax.t=", "v=1&softmax.shown=all"})
        CHECK_FALSE(parse_fragment(bad).note.empty());
}

TEST_CASE("every number of Softmax explains itself, and its calculation ends in its f64") {
    Screen screen;
    screen.open_sentence();
    for (const std::string_view subject : {worked_subject, sentence_subject})
        for (const double t : {0.0, 0.3, 1.0, 25.0, HUGE_VAL}) {
            screen.visit.perform(OpenSubject{subject});
            open_softmax(screen);
            screen.visit.perform(Set<softmax::State>{{.temperature = t}});
            screen.settle();
            std::vector<CellRef> cells;
            for (Index i = 0; i < softmax::gibbs_number_count; ++i) {
                for (Index place = 0; place < softmax::gibbs_place_count; ++place)
                    cells.push_back(softmax::cells::gibbs(i, place));
                cells.push_back(softmax::cells::curve(i, temperature_origin - 7));
            }
            for (Index map = 0; map < static_cast<Index>(score_map_count); ++map) {
                for (const Index col : {0, 1, 2}) {
                    cells.push_back(softmax::cells::weight(map, col));
                    cells.push_back(softmax::cells::output(map, col));
                }
                cells.push_back(softmax::cells::measure(map, softmax::MapMeasure::sum));
                cells.push_back(softmax::cells::measure(map, softmax::MapMeasure::support));
                if (t > 0) cells.push_back(softmax::cells::measure(map, softmax::MapMeasure::difference));
            }
            cells.push_back(softmax::cells::query(1));
            cells.push_back(softmax::cells::head(0, 0));
            for (const CellRef& cell : cells) {
                INFO(subject << " at " << t << ", " << write_cell(cell));
                const auto found = why(screen.visit, cell);
                REQUIRE(found);
                CHECK_FALSE(found->title.empty());
                CHECK_FALSE(found->formula.empty());
                if (std::isfinite(found->f64)) {
                    // The run's scores are accurate to some units of 6e-8, which a cold row magnifies by 1/T.
                    CHECK(found->f32 == Catch::Approx(found->f64).epsilon(3e-5).margin(3e-6));
                    check_calculated(*found);
                }
                for (const auto& operand : found->operands)
                    CHECK(operand.product == Catch::Approx(operand.left * operand.right).margin(1e-15));
                CHECK_FALSE(copied(*found, Dialect::numpy).empty());
            }
            CHECK_FALSE(why(screen.visit, softmax::cells::weight(0, 1000)));
            CHECK_FALSE(why(screen.visit, softmax::cells::gibbs(7, 0)));
            CHECK_FALSE(why(screen.visit, softmax::cells::head(9, 0)));
        }
}

TEST_CASE("at T = 1 softmax and its output equal the run’s, for every query") {
    Screen screen;
    screen.open_sentence();
    open_softmax(screen);
    const Record& record = sentence_in(screen.visit).run()->record_at(1);
    for (Index query = 0; query < record.queries(); ++query) {
        screen.visit.perform(Select{{1, 2, query, {}, {}}});
        screen.settle();
        for (Index key = 0; key <= query; ++key)
            CHECK(why(screen.visit, softmax::cells::weight(0, key))->f32 ==
                  Catch::Approx(static_cast<double>(record.cell(Stage::weight, 2, query, key))).margin(1e-6));
        CHECK(why(screen.visit, softmax::cells::output(0, 1))->f32 ==
              Catch::Approx(static_cast<double>(record.output().heads().head(2)(query, 1))).margin(1e-5));
        CHECK(why(screen.visit, softmax::cells::weight(0, 0))->masked == false);
        if (query + 1 < record.keys()) CHECK(why(screen.visit, softmax::cells::weight(0, query + 1))->masked);
    }
}

TEST_CASE("a head is chosen by a click, a query by the stepper, and the temperature on a curve") {
    Screen screen;
    screen.open_sentence();
    open_softmax(screen);
    screen.click("softmax/query/less");
    CHECK(screen.visit.state().selection.query == 4);
    screen.click("chart/softmax-entropy");
    // The middle of an axis from 0.01 to 100 is 1; a pixel is 2 %.
    CHECK(screen.visit.state().of<softmax::State>().temperature == Catch::Approx(1).epsilon(0.03));
    const auto [min, max] = ui::landmarks().at("chart/softmax-entropy");
    ImGui::GetIO().AddMousePosEvent(min.x + (max.x - min.x) / 4, (min.y + max.y) / 2);
    screen.draw(2);
    ImGui::GetIO().AddMouseButtonEvent(0, true);
    screen.draw(2);
    ImGui::GetIO().AddMouseButtonEvent(0, false);
    screen.draw(2);
    CHECK(screen.visit.state().of<softmax::State>().temperature == Catch::Approx(0.1).epsilon(0.03));
    screen.settle();
    reveal(screen, "softmax/head/1/2");
    screen.click("softmax/head/1/2");
    CHECK(screen.visit.state().selection.layer == 1);
    CHECK(screen.visit.state().selection.head == 2);
    CHECK(screen.visit.state().pin == softmax::cells::head(1, 2));
    // A weight leads to its score, and Back returns to the weight.
    screen.settle();
    screen.click("softmax/weight/0/1");
    CHECK(screen.visit.state().pin == softmax::cells::weight(0, 1));
    screen.click("inspector/step/0");
    REQUIRE(screen.visit.state().pin);
    CHECK(screen.visit.state().pin->is(Stage::scaled));
    CHECK(screen.visit.state().lens != "softmax");
    screen.click("inspector/back");
    CHECK(screen.visit.state().lens == "softmax");
    CHECK(screen.visit.state().pin == softmax::cells::weight(0, 1));
}

TEST_CASE("a row without keys, an infinite score and finished weights are reported in one sentence") {
    Screen screen;
    screen.visit.perform(SetMask{.kind = WorkedMask::Kind::causal, .offset = -1});
    screen.visit.perform(Select{{0, 0, 0, {}, {}}});
    open_softmax(screen);
    CHECK(screen.shows("softmax/refused"));
    CHECK(spoken(screen.visit) ==
          "The mask hides every key from “cat”, so it has no distribution. Choose another query.");
    CHECK(lens_in(screen.visit).tables(subject_in(screen.visit)).empty());
    screen.visit.perform(Select{{0, 0, 2, {}, {}}});
    screen.settle();
    CHECK_FALSE(screen.shows("softmax/refused"));
    CHECK(spoken(screen.visit).ends_with("of the 2 keys that it may see."));

    screen.visit.perform(SetSource{Source::scores});
    screen.visit.perform(SetCell{{Stage::raw, 2, 0}, HUGE_VAL});
    screen.settle();
    CHECK(spoken(screen.visit) ==
          "A score of this row is infinite, so it has no energy. Choose another query.");
    CHECK(screen.shows("softmax/refused"));
    screen.visit.perform(SetCell{{Stage::raw, 2, 0}, 1});
    screen.settle();
    // Given scores have no q and k, which linear attention needs.
    CHECK(screen.shows("softmax/weight/5/0"));
    CHECK_FALSE(screen.shows("softmax/weight/6/0"));
    CHECK_FALSE(why(screen.visit, softmax::cells::weight(6, 0)));

    const auto dropped = [](TensorsVisit& tensors, const Drop& files) {
        tensors.visit.perform(OpenSubject{tensors_subject});
        tensors.visit.perform(OpenLens{"softmax"});
        tensors.drop(files);
        REQUIRE(subject_in(tensors.visit).attention());
    };
    TensorsVisit finished, infected;
    dropped(finished, {{"attention.npy", weights_npy({2, 5, 5})}});
    const auto missing = lens_in(finished.visit).missing(subject_in(finished.visit));
    REQUIRE(missing);
    CHECK(missing->sentence.ends_with('.'));

    Tensor q = random_tensor({6, 4}, 1);
    q.matrix()(3, 2) = std::nanf("");
    dropped(infected, {{"q.npy", write_npy({6, 4}, q.values())}, {"k.npy", normal_npy({6, 4}, 2)}});
    infected.visit.perform(SetTensorRule{{}});
    infected.work();
    CHECK_FALSE(lens_in(infected.visit).missing(subject_in(infected.visit)));
    CHECK(spoken(infected.visit).starts_with("At T = 1, query 5 uses "));
    infected.visit.perform(Select{{0, 0, 3, {}, {}}});
    CHECK(spoken(infected.visit) ==
          "A score of this row is not a number, so it has no energy. Choose another query.");
    CHECK_FALSE(why(infected.visit, softmax::cells::gibbs(0, 1)));
    // Without values there are no outputs to compare.
    infected.visit.perform(Select{{0, 0, 2, {}, {}}});
    CHECK(lens_in(infected.visit).tables(subject_in(infected.visit)).size() == 3);
    CHECK(why(infected.visit, softmax::cells::weight(2, 0)));
    CHECK_FALSE(why(infected.visit, softmax::cells::output(0, 0)));
}

TEST_CASE("a row of 16,384 keys is processed in slices of a few milliseconds, with the same result") {
    constexpr Index n = 16'384, d = 64;
    Tensor q = random_tensor({1, n, d}, 1), k = random_tensor({1, n, d}, 2), v = random_tensor({1, n, d}, 3);
    auto prepared = Record::prepare(std::move(q), std::move(k), std::move(v), {});
    REQUIRE(prepared);
    const auto record = std::make_shared<const Record>(*std::move(prepared));
    auto levels = energy_levels(score_row_of(*record, 0, n - 1));
    REQUIRE(levels);
    RowCurves curves(*levels);
    RowMaps maps(record, 0, n - 1, 1, true, true);
    EffectiveKeys rows(record, 0, 1, softmax::HeadKeys::rows_a_head);
    int slices = 0;
    while (maps.step(*levels)) ++slices;
    while (curves.step()) ++slices;
    while (rows.step()) ++slices;
    CHECK(slices > 200);
    CHECK(curves.points().size() == 4 * temperatures_a_decade + 1);
    REQUIRE(curves.peak().peak());
    CHECK(rows.rows().size() == softmax::HeadKeys::rows_a_head);
    CHECK(rows.rows().back().query == n - 1);
    CHECK(rows.rows().back().effective == Catch::Approx(gibbs(*levels, 1).effective_keys()).epsilon(1e-12));
    for (std::size_t i = 0; i < score_map_count; ++i) {
        const auto map = static_cast<ScoreMap>(i);
        REQUIRE(maps.row(map));
        CHECK(maps.output(map).size() == d);
        CHECK(maps.difference(map));
    }
}

TEST_CASE("the tables of Softmax match what it shows") {
    Screen screen;
    open_softmax(screen);
    const auto tables = lens_in(screen.visit).tables(subject_in(screen.visit));
    REQUIRE(tables.size() == 4);
    CHECK(tables[0].title == "Weights, “mat”, T = 1");
    CHECK(tables[0].values.rows == 3);
    CHECK(tables[0].values.cols == 7);
    CHECK(tables[0].values.at(0, 0) == Catch::Approx(0.367859).margin(5e-7));  // the tutorials' exact value
    CHECK(tables[1].values.at(0, 0) == Catch::Approx(0.662476).margin(5e-7));
    CHECK(tables[2].values.at(0, 2) == 0);
    CHECK(tables[3].columns.size() == 4);
    CHECK(tables[3].row_labels[2] == "e^S, keys");
}
