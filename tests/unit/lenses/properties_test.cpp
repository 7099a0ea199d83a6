// Tests lens Properties: what it says of every subject, of runs that break a property, and of each number.
#include "lenses/properties/properties.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "subjects/sentence/sentence.hpp"
#include "subjects/worked/commands.hpp"
#include "support/small_families.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
namespace cells = properties::cells;

namespace {

properties::Model& properties_model(const Screen& screen) {
    return static_cast<ModelLens<properties::Model>&>(screen.visit.lens()).model();
}
void show_properties(Screen& screen, const properties::State& state = {}) {
    show_lens(screen, "properties", Set<properties::State>{state});
    REQUIRE(properties_model(screen).is_done());
}

// Every number that the lens shows, and what it says to a click and to a screen reader.
void check_all_told(Screen& screen) {
    const properties::Model& model = properties_model(screen);
    for (Index i = 0; i < property_count; ++i) {
        const auto property = static_cast<Property>(i);
        CAPTURE(properties::name_of(property));
        const PropertyResult& result = model.result(property);
        if (result.cells == 0) {
            CHECK_FALSE(why(screen.visit, cells::error(property)));
            CHECK(result.lacking != Lacking::nothing);
            continue;
        }
        // Errors and bounds are differences of numbers that agree, so they are compared as such.
        CHECK(check_told(screen, cells::error(property)).f64 ==
              Catch::Approx(result.worst.error).epsilon(1e-6).margin(1e-12));
        CHECK(check_told(screen, cells::bound(property)).f64 ==
              Catch::Approx(result.worst.bound).epsilon(1e-6).margin(1e-15));
        CHECK(check_told(screen, cells::count(property)).f64 == static_cast<double>(result.cells));
        for (const CheckedCell& each : result.queries) {
            CHECK(check_told(screen, cells::query(property, each.query)).f64 ==
                  Catch::Approx(each.error).epsilon(1e-6).margin(1e-12));
            check_told(screen, cells::limit(property, each.query));
        }
        for (const CheckedCell& each : result.heads)
            check_told(screen, cells::head(property, each.layer, each.head));
        CHECK_FALSE(why(screen.visit, cells::query(property, 10000)));
    }
}

}  // namespace

TEST_CASE("lens Properties proves all nine on models of every family, and explains each number") {
    for (const SmallFamily& family : small_families) {
        CAPTURE(family.name);
        Screen screen;
        open_model(screen, family);
        screen.visit.perform(Select{{.layer = 1, .head = 1, .query = {}, .key = {}}});
        show_properties(screen);
        const properties::Model& model = properties_model(screen);
        CAPTURE(spoken(screen.visit));
        for (Index i = 0; i < required_properties; ++i) {
            const PropertyResult& result = model.result(static_cast<Property>(i));
            CHECK((result.holds() || !result.is_meant));
        }
        if (family.causal)
            CHECK(spoken(screen.visit).starts_with("All 9 properties hold here"));
        else
            CHECK_THAT(spoken(screen.visit), ContainsSubstring("no causal mask hides later tokens"));
        check_all_told(screen);
        for (const char* shown : {"properties/property/0/0", "properties/property/8/2",
                                  "properties/experiment/9/0", "chart/properties-error"})
            CHECK(screen.shows(shown));
    }
}

TEST_CASE("lens Properties checks an example, tensors and a network in training") {
    Screen screen;
    show_properties(screen);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("properties checked here hold"));
    check_all_told(screen);
    CHECK(properties_model(screen).result(Property::heads).lacking == Lacking::projection);
    CHECK(screen.shows("properties/unchecked"));

    put(screen.visit, {{"Q.npy", normal_npy({2, 3, 6, 4}, 1)},
                       {"K.npy", normal_npy({2, 3, 6, 4}, 2)},
                       {"V.npy", normal_npy({2, 3, 6, 5}, 3)}});
    screen.visit.perform(OpenSubject{tensors_subject});
    screen.settle();
    show_properties(screen, {.shown = Property::shift, .scope = properties::Scope::all, .constant = -300});
    CHECK(properties_model(screen).result(Property::shift).heads.size() == 6);
    CHECK(properties_model(screen).result(Property::shift).holds());
    check_all_told(screen);
    CHECK(screen.shows("properties/head/0/0"));
    CHECK(table_of(screen, "Worst error").values.rows == 2);

    screen.train_some();
    show_properties(screen, {.scope = properties::Scope::layer});
    CHECK(spoken(screen.visit).starts_with("All 9 properties hold here"));
}

TEST_CASE("lens Properties says which property finished weights break, and where") {
    Screen screen;
    std::vector<float> weights = random_weights(5, 5, 1);
    weights[7] = -0.5f;    // query 1, key 2
    weights[20] += 0.25f;  // query 4
    put(screen.visit, {{"weights.npy", write_npy({1, 5, 5}, weights)}});
    screen.visit.perform(OpenSubject{tensors_subject});
    screen.settle();
    show_properties(screen, {.shown = Property::rows});
    CHECK(spoken(screen.visit).starts_with("One property fails: “Rows sum to 1”."));
    const PropertyResult& rows = properties_model(screen).result(Property::rows);
    CHECK(rows.broken == 3);
    CHECK(rows.worst.query == 1);
    check_all_told(screen);
    CHECK(why(screen.visit, cells::query(Property::rows, 4))->f64 == Catch::Approx(0.25).epsilon(1e-5));
    CHECK_THAT(properties::unchecked(properties_model(screen)), ContainsSubstring("came finished"));
    const PropertyResult& past = properties_model(screen).result(Property::past);
    CHECK_FALSE(past.is_meant);
    CHECK(properties::place_of(subject_in(screen.visit), Property::past, past.worst).cell.is(Stage::weight));
}

TEST_CASE("lens Properties finds what a change of the run breaks, and goes to the worst cell") {
    Screen screen;
    open_family(screen, "gpt2");
    screen.visit.perform(Select{{.layer = 1, .head = 0, .query = {}, .key = {}}});
    screen.visit.perform(
        ChangeRun{{.at = {.site = Site::weight, .attention = 1, .head = 0, .row = 4, .column = 2},
                   .operation = Operation::set,
                   .value = 0.9}});
    screen.settle();
    show_properties(screen, {.shown = Property::rows});
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("changes of yours"));
    const PropertyResult& rows = properties_model(screen).result(Property::rows);
    CHECK(rows.broken == 1);
    CHECK(rows.worst.query == 4);
    CHECK(properties_model(screen).result(Property::bits).holds());
    check_all_told(screen);
    const State before = screen.visit.state();
    screen.click("properties/try/worst");
    screen.settle();
    CHECK(screen.visit.state().selection.query == 4);
    REQUIRE(screen.visit.state().pin);
    CHECK(screen.visit.state().pin == CellRef(MapSum{MapTotal::row_total, 4}));
    CHECK(explained(screen.visit, *screen.visit.state().pin));
    screen.visit.undo();
    CHECK(screen.visit.state().lens == before.lens);
}

TEST_CASE("every worst cell of lens Properties can be gone to") {
    for (const char* family : {"gpt2", "bert"})
        for (Index i = 0; i < property_count; ++i) {
            CAPTURE(family, i);
            Screen screen;
            open_family(screen, family);
            show_properties(screen, {.shown = static_cast<Property>(i)});
            const PropertyResult& result = properties_model(screen).result(static_cast<Property>(i));
            if (result.cells == 0) continue;
            const CellPlace place =
                properties::place_of(subject_in(screen.visit), static_cast<Property>(i), result.worst);
            screen.click("properties/try/worst");
            screen.settle();
            REQUIRE(screen.visit.state().pin);
            CHECK(screen.visit.state().pin == place.cell);
            CHECK(explained(screen.visit, place.cell));
            CHECK(screen.visit.state().selection.query == result.worst.query);
        }
}

TEST_CASE("lens Properties comes back from its link, and its controls change what is checked") {
    Screen screen;
    open_family(screen, "llama");
    show_properties(screen);
    const properties::Model& model = properties_model(screen);
    const CheckedCell rounding = model.result(Property::rounding).worst;
    const CheckedCell order = model.result(Property::permutation).worst;
    screen.click("properties/try/constant");
    screen.settle();
    CHECK(screen.visit.state().of<properties::State>().constant == 1000);
    CHECK(model.result(Property::shift).worst.bound > rounding.bound);
    screen.click("properties/try/order");
    screen.settle();
    CHECK(screen.visit.state().of<properties::State>().shown == Property::permutation);
    CHECK_FALSE(model.result(Property::permutation).worst == order);
    CHECK(model.result(Property::rounding).worst == rounding);
    screen.click("properties/try/all");
    screen.settle();
    CHECK(model.result(Property::rounding).heads.size() == 4);
    screen.click("properties/property/1/1");
    screen.settle();
    CHECK(screen.visit.state().of<properties::State>().shown == Property::masked);
    CHECK(screen.visit.state().pin == CellRef(cells::error(Property::masked)));
    const std::string link = to_fragment(screen.visit.state());
    CHECK(parse_fragment(link).state == screen.visit.state());
    CHECK_THAT(link,
               ContainsSubstring("properties.show=masked") && ContainsSubstring("properties.scope=all"));
    screen.visit.undo();
    screen.settle();
    CHECK(screen.visit.state().of<properties::State>().shown == Property::permutation);
}
