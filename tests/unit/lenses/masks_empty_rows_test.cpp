// Tests what Masks says about queries without a key.
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/format.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/lenses/masks_screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

TEST_CASE("a query without a key, by four conventions") {
    Screen screen;
    screen.open_sentence(6);
    open_masks(screen, {.mask = Mask::causal(-1)});
    const auto& example = masks_in(screen).empty_example();
    CHECK(masks_in(screen).has_empty_row());
    CHECK(example.query == 0);
    CHECK(screen.shows("masks/empty/2/0"));
    const auto weight = [&](EmptyRow convention, Index key) {
        return why(screen.visit, masks::cells::empty_row(convention, 0, key));
    };
    CHECK(weight(EmptyRow::zeros, 3)->f64 == 0);
    CHECK(weight(EmptyRow::uniform, 3)->f64 == 1.0 / 6);
    CHECK(std::isnan(weight(EmptyRow::nan, 3)->f64));
    CHECK(weight(EmptyRow::sink, 3)->f64 == 0);
    CHECK(why(screen.visit, masks::cells::sink(EmptyRow::sink, 0))->f64 == 1);
    CHECK_FALSE(weight(EmptyRow::sink, 7));
    screen.click("masks/empty/1/2");
    CHECK(screen.visit.state().pin == masks::cells::empty_row(EmptyRow::uniform, 0, 2));
}

TEST_CASE("the four conventions start from given scores, without the mask") {
    Screen screen;
    screen.visit.perform(SetSource{Source::scores});
    screen.visit.perform(SetSoftcap{0.25});
    open_masks(screen, {.mask = Mask::window(1, 0)});
    screen.visit.perform(Select{{.query = 2, .key = {}}});
    screen.settle();
    // The reference: the ladder's scores, scaled and capped, for the last two keys.
    const WorkedState& worked = worked_of(screen.visit.state());
    const auto capped = [&](Index key) {
        return 0.25 *
               std::tanh(static_cast<double>(*spec_of(worked).scale) * worked.scores.at(2, key) / 0.25);
    };
    const double earlier = std::exp(capped(1)), own = std::exp(capped(2));
    REQUIRE(std::abs(earlier - own) > 0.01);
    const auto weight = [&](EmptyRow convention, Index key) {
        return why(screen.visit, masks::cells::empty_row(convention, 2, key));
    };
    for (const EmptyRow convention : {EmptyRow::zeros, EmptyRow::uniform, EmptyRow::nan}) {
        // The Record stores the scores as f32.
        CHECK(weight(convention, 0)->f64 == 0);
        CHECK(weight(convention, 1)->f64 == Catch::Approx(earlier / (earlier + own)).epsilon(1e-6));
    }
    CHECK(weight(EmptyRow::sink, 2)->f64 == Catch::Approx(own / (1 + earlier + own)).epsilon(1e-6));
    const Explained zeros = *weight(EmptyRow::zeros, 0);
    const auto& step = zeros.steps[0];
    CHECK(step.value == fixed(capped(0), 4));
    CHECK(subject_in(screen.visit).explain_at(*step.at)->f64 == Catch::Approx(capped(0)).epsilon(1e-6));
}
