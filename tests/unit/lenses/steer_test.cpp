// Tests lens Steer: a direction with a dial, against runs of the core under the same interventions.
#include "lenses/steer/steer.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "subjects/sentence/sentence.hpp"
#include "subjects/worked/commands.hpp"
#include "support/small_families.hpp"
#include "unit/app/support.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Kind = SteeringDirection::Kind;
using steer::Side;

namespace {

steer::Model& steer_model(const Screen& screen) {
    return static_cast<ModelLens<steer::Model>&>(screen.visit.lens()).model();
}
void show_steer(Screen& screen, const steer::State& state = {}) {
    show_lens(screen, "steer", Set<steer::State>{state});
}
void steer_run(Screen& screen, const Steering& steering) {
    screen.visit.perform(subject_in(screen.visit).text_model()->steer(steering));
    screen.settle();
}

std::vector<float> row_logits(const Trace& trace, Index row) {
    const Tensor logits = trace.logits({row, row + 1});
    return {logits.values().begin(), logits.values().end()};
}

// The run of the core at this dial.
std::shared_ptr<const Trace> run_at(const Screen& screen, double dial) {
    const steer::Model& model = steer_model(screen);
    Steering steering = model.steering;
    steering.dial = dial;
    const auto vector = steering_vector(steering, *model.run->unchanged, {.second = model.of.second.get()});
    REQUIRE(vector);
    auto pass = ForwardPass::start_with({intervention_of(steering, *vector)}, model.run->unchanged);
    REQUIRE(pass);
    const auto run = pass->finish();
    REQUIRE(run);
    return *run;
}

// The lens and the run that all others show are steered by this vector.
void check_steered(Screen& screen, const Steering& steering, const SteeringVector& vector) {
    const steer::Model& model = steer_model(screen);
    const Trace& shown = *subject_in(screen.visit).attention()->trace();
    CHECK(vector.direction == model.run->vector.direction);
    CHECK(shown.interventions() == std::vector{intervention_of(steering, vector)});
    CHECK(model.next(Side::after).logits == row_logits(shown, model.of.row));
}

}  // namespace

TEST_CASE("lens Steer shows the next token before and after, and along the dial, in every family") {
    for (const SmallFamily& family : small_families) {
        CAPTURE(family.name);
        Screen screen;
        open_model(screen, family);
        show_steer(screen);
        const steer::Model& model = steer_model(screen);
        REQUIRE(model.is_ready());
        CHECK_FALSE(model.steers);
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("Turn the dial to add"));
        steer_run(screen, {.direction = {.token = 4}, .attention = 1, .dial = 0.75});
        REQUIRE(model.is_ready());
        const Index row = model.of.row;
        const auto steered = run_at(screen, 0.75);
        CHECK(model.next(Side::before).logits == row_logits(*model.run->unchanged, row));
        CHECK(model.next(Side::after).logits == row_logits(*steered, row));
        CHECK(subject_in(screen.visit).attention()->trace()->interventions() == steered->interventions());
        REQUIRE(model.sweep->done());
        for (const Index point : {0, 8, 11, 16})
            CHECK(model.sweep->logits()[static_cast<std::size_t>(point)] ==
                  row_logits(*run_at(screen, steer::dial_at(point)), row));
        for (const Index length : {0, 1, 2}) check_told(screen, steer::cells::length(length));
        for (const Index side : {0, 1}) {
            double sum = 0;
            for (Index token = 0; token < 20; ++token)
                sum += check_told(screen, steer::cells::next(side, token)).f64;
            CHECK(sum == Catch::Approx(1).epsilon(1e-5));
            CHECK_FALSE(why(screen.visit, steer::cells::next(side, 20)));
        }
        for (const Index measure : {0, 1}) check_told(screen, steer::cells::dial(measure, 3, 7));
        CHECK_FALSE(why(screen.visit, steer::cells::dial(0, 17, 7)));
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("Adding") && ContainsSubstring("layer 1"));
        for (const char* shown : {"steer/before/0", "steer/after/0", "chart/steer-dial", "steer/dial"})
            CHECK(screen.shows(shown));
        CHECK_FALSE(table_of(screen, "Lengths").row_labels.empty());
    }
}

TEST_CASE("lens Steer continues a text as the likeliest tokens of both runs do") {
    Screen screen;
    open_family(screen, "llama", 3);
    show_steer(screen);
    for (const std::optional<Index> row : {std::optional<Index>(), std::optional<Index>(1)}) {
        steer_run(
            screen,
            {.direction = {.kind = Kind::unembedding, .token = 6}, .attention = 1, .row = row, .dial = -1});
        const steer::Model& model = steer_model(screen);
        for (const auto& [side, trace] :
             {std::pair{Side::before, model.run->unchanged}, std::pair{Side::after, run_at(screen, -1)}}) {
            auto generator = Generator::start(trace, {});
            REQUIRE(generator);
            const auto written = model.side(side)->written();
            const auto& ends = trace->model()->config().eos_ids;
            REQUIRE_FALSE(written.empty());
            CHECK((written.size() == steer::most_written || std::ranges::count(ends, written.back().id) > 0));
            for (std::size_t i = 0; i < written.size(); ++i) {
                CHECK(written[i].id == generator->next().operator*());
                check_told(screen, steer::cells::written(side, i));
            }
        }
        CHECK_FALSE(why(screen.visit, steer::cells::written(1, 12)));
        CHECK(std::ranges::any_of(screen.frame.tables(), [](const Table& each) {
            return each.title.starts_with("How the text goes on") && each.row_labels.size() == 2;
        }));
    }
}

TEST_CASE("lens Steer shows the run before, keeps other changes, and comes back from its link") {
    Screen screen;
    open_family(screen, "gpt2");
    show_steer(screen);
    screen.visit.perform(ChangeRun{{.at = {.attention = 0, .head = 1}}});
    const Steering steering{.direction = {.kind = Kind::written, .token = 3, .head = {0, 1}},
                            .attention = 1,
                            .site = Site::resid_mid,
                            .dial = 1.5};
    steer_run(screen, steering);
    const steer::Model& model = steer_model(screen);
    CHECK(model.run->changes.size() == 2);
    const auto off = ForwardPass::start_with({model.run->changes.front()}, model.run->unchanged)->finish();
    REQUIRE(off);
    CHECK(model.next(Side::before).logits == row_logits(**off, model.of.row));
    const std::vector<float> after = model.next(Side::after).logits;
    CHECK(after == row_logits(*subject_in(screen.visit).attention()->trace(), model.of.row));
    screen.visit.perform(ShowBefore{});
    screen.settle();
    CHECK(model.next(Side::after).logits == after);
    screen.visit.perform(ShowBefore{false});
    CHECK(sentence_of(parse_fragment(to_fragment(screen.visit.state())).state).changes ==
          sentence_of(screen.visit.state()).changes);
    screen.visit.perform(SwitchChange{1});
    screen.settle();
    CHECK(model.steers);
    CHECK(model.dial_shown == 0);
    CHECK(&model.next(Side::after) == &model.next(Side::before));
    screen.visit.undo();
    screen.settle();
    CHECK(model.next(Side::after).logits == after);
    screen.visit.perform(DropChange{1});
    screen.settle();
    CHECK_FALSE(model.steers);
}

TEST_CASE("lens Steer says what a direction lacks, and takes a second text when there is one") {
    Screen screen;
    open_family(screen, "llama");
    show_steer(screen);
    const Steering difference{
        .direction = {.kind = Kind::second_text}, .attention = 1, .site = Site::resid_post, .dial = 1};
    steer_run(screen, difference);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("second text"));
    CHECK(screen.shows("steer/dial"));
    screen.visit.perform(Together{{Compare{Comparison{"others"}}, OpenLens{"steer"}}});
    screen.visit.tokens({Box::second, "others", {2, 7, 1}, {"a", "b", "c"}, 3});
    screen.settle();
    const steer::Model& model = steer_model(screen);
    REQUIRE(model.is_ready());
    CHECK(model.next(Side::after).logits == row_logits(*run_at(screen, 1), model.of.row));
    check_told(screen, steer::cells::length(1));
    steer_run(screen, {.direction = {.token = 900}, .dial = 1});
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("vocabulary"));
}

TEST_CASE("lens Steer takes the difference from many texts once they are run") {
    Screen screen;
    open_family(screen, "gpt2");
    show_steer(screen);
    screen.visit.perform(SetCorpus{{.own = "apple bear cat\ndog egg fig goat\nink jar"}});
    const Steering steering{.direction = {.kind = Kind::many_texts}, .attention = 1, .dial = 0.5};
    steer_run(screen, steering);
    const steer::Model& model = steer_model(screen);
    REQUIRE(model.is_ready());
    const auto& texts = corpus_of(subject_in(screen.visit))->traces();
    REQUIRE(texts.size() == 3);
    const auto vector = steering_vector(steering, *model.run->unchanged, {.texts = texts});
    REQUIRE(vector);
    check_steered(screen, steering, *vector);
}

TEST_CASE("lens Steer takes the difference of two sets of texts that a person types") {
    Screen screen({1440, 1600});
    open_family(screen, "llama");
    show_steer(screen);
    const auto contrast = [&](const std::string& positive, const std::string& negative) {
        screen.visit.perform(SetContrast{{positive, negative}});
        screen.settle();
    };
    contrast("apple bear cat\ndog egg\n", "ink jar\n\nfig");
    const Steering steering{
        .direction = {.kind = Kind::contrast}, .attention = 1, .site = Site::resid_mid, .dial = -0.5};
    steer_run(screen, steering);
    const steer::Model& model = steer_model(screen);
    const auto run_of = [&](std::string text) {
        const auto ids = screen.visit.page().text_to_ids(text);
        const auto trace = run_forward(model.run->unchanged->model(), ids);
        REQUIRE(trace);
        return *trace;
    };
    const auto check = [&](const std::vector<std::string>& positive,
                           const std::vector<std::string>& negative) {
        REQUIRE(model.is_ready());
        std::array<std::vector<std::shared_ptr<const Trace>>, 2> sets;
        for (const std::string& text : positive) sets[0].push_back(run_of(text));
        for (const std::string& text : negative) sets[1].push_back(run_of(text));
        const auto vector =
            steering_vector(steering, *model.run->unchanged, {.positive = sets[0], .negative = sets[1]});
        REQUIRE(vector);
        check_steered(screen, steering, *vector);
    };
    check({"apple bear cat", "dog egg"}, {"ink jar", "fig"});
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("positive minus negative texts"));
    CHECK(screen.shows("contrast/positive"));
    CHECK(screen.shows("contrast/negative/told"));
    const State before = screen.visit.state();
    CHECK(parse_fragment(to_fragment(before)).state == before);
    contrast("apple bear cat\ndog egg\n", "");
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("at least one positive and one negative text"));
    CHECK(subject_in(screen.visit).attention()->trace()->interventions().empty());
    CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());
    screen.visit.undo();
    screen.settle();
    CHECK(screen.visit.state() == before);
    check({"apple bear cat", "dog egg"}, {"ink jar", "fig"});
    // The texts are typed; those that stand there at first are an example.
    screen.visit.perform(SetContrast{});
    screen.settle();
    CHECK(model.is_ready());
    CHECK_FALSE(
        SetContrast{{std::string(longest_corpus + 1, 'a'), ""}}.apply(*std::make_unique<State>(before)));
    screen.visit.perform(SwitchChange{0});
    screen.settle();
    CHECK(model.run->vector.length > 0);
}

TEST_CASE("lens Steer needs a text in a model") {
    Screen screen;
    screen.visit.perform(OpenSubject{"training"});
    screen.visit.perform(OpenLens{"steer"});
    screen.settle();
    CHECK(steer::Model::missing(subject_in(screen.visit)));
}
