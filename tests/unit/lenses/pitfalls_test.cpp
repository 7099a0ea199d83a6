// Tests lens Pitfalls against plain loops in double.
#include "lenses/pitfalls/pitfalls.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

pitfalls::Model& pitfalls_model(const Screen& screen) {
    return static_cast<ModelLens<pitfalls::Model>&>(screen.visit.lens()).model();
}
Index mistake_number(std::string_view key) {
    return std::ranges::find(mistake_keys, key) - mistake_keys.begin();
}
void show_mistake(Screen& screen, std::string_view key, Index variant = 0) {
    show_lens(screen, "pitfalls", Set<pitfalls::State>{{mistake_number(key), variant}});
}
const pitfalls::State& pitfalls_state(const Screen& screen) {
    return screen.visit.state().of<pitfalls::State>();
}
double told(const Screen& screen, const CellRef& cell) { return check_told(screen, cell, 1e-6, 1e-12).f64; }

// Weights of a causal row under a scale.
std::vector<double> plain_weights(const Record& record, Index head, Index query, double scale) {
    const auto q = record.q().heads().head(head), k = record.k().heads().head(record.kv_head(head));
    std::vector<double> weights;
    double sum = 0;
    for (Index key = 0; key <= query; ++key) {
        double raw = 0;
        for (Index a = 0; a < record.d_k(); ++a)
            raw += static_cast<double>(q(query, a)) * static_cast<double>(k(key, a));
        sum += weights.emplace_back(std::exp(raw * scale));
    }
    for (double& weight : weights) weight /= sum;
    return weights;
}

}  // namespace

TEST_CASE("Pitfalls forgets the scale as plain loops do, and says what that changes") {
    Screen screen({1440, 900});
    screen.open_sentence();
    show_mistake(screen, "scale_missing");
    const pitfalls::Model& model = pitfalls_model(screen);
    const Record& record = *model.record;
    REQUIRE(model.all_known());
    REQUIRE(record.scale() != 1);
    double most = 0, most_chosen = 0;
    for (Index query = 0; query < record.queries(); ++query) {
        const auto right = plain_weights(record, model.head.head, query, record.scale()),
                   wrong = plain_weights(record, model.head.head, query, 1);
        for (Index key = 0; key <= query; ++key) {
            const auto at = static_cast<std::size_t>(key);
            const double change = std::abs(wrong[at] - right[at]);
            most = std::max(most, change);
            if (query == model.rows.query) most_chosen = std::max(most_chosen, change);
            CHECK(told(screen, pitfalls::cells::weight(pitfalls::Side::right, query, key)) ==
                  Catch::Approx(right[at]).epsilon(1e-9));
            CHECK(told(screen, pitfalls::cells::weight(pitfalls::Side::mistaken, query, key)) ==
                  Catch::Approx(wrong[at]).epsilon(1e-9));
        }
    }
    const auto effect = [&](pitfalls::Measure measure) {
        return told(screen, pitfalls::cells::effect(model.state.mistake, measure));
    };
    CHECK(effect(pitfalls::Measure::weight) == Catch::Approx(most).epsilon(1e-9));
    CHECK(effect(pitfalls::Measure::map) == Catch::Approx(255 * most).epsilon(1e-9));
    CHECK_THAT(spoken(screen.visit), StartsWith("Scores not scaled: weights of ") &&
                                         ContainsSubstring(pitfalls::change_text(most_chosen)));
    CHECK(table_of(screen, "What each mistake changes").values.rows == std::ssize(model.listed()));
}

TEST_CASE("Pitfalls says of heads merged without a transpose that no map shows it") {
    Screen screen({1440, 900});
    screen.open_sentence();
    show_mistake(screen, "scale_missing");
    screen.click("pitfalls/try/merge");
    screen.settle();
    const pitfalls::Model& model = pitfalls_model(screen);
    CHECK(pitfalls_state(screen).mistake == mistake_number("heads_merged_without_transpose"));
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("and no map shows it"));
    const Record& record = *model.record;
    // Row i of [n, heads · d] is numbers heads · d · i … of [heads, n, d].
    const Index query = model.rows.query, width = record.heads() * record.d_v();
    for (Index b = 0; b < record.d_v(); ++b) {
        const Index at = width * query + record.d_v() * model.head.head + b;
        CHECK(told(screen, pitfalls::cells::output(pitfalls::Side::mistaken, query, b)) ==
              Catch::Approx(static_cast<double>(record.output().values()[static_cast<std::size_t>(at)]))
                  .margin(1e-5));
    }
    CHECK(why(screen.visit, pitfalls::cells::effect(model.state.mistake, pitfalls::Measure::weight))->f64 ==
          0);
}

TEST_CASE("every number of Pitfalls explains itself, for every mistake that a head can make") {
    for (const std::string_view family : {"gpt2", "llama", "gemma2", "bert"}) {
        CAPTURE(family);
        Screen screen({1440, 900});
        open_family(screen, family);
        show_mistake(screen, "scale_missing");
        const std::vector<Index> listed = pitfalls_model(screen).listed();
        CHECK(listed.size() >= 15);
        const bool rotated = pitfalls_model(screen).rows.given->rope.has_value();
        CHECK(rotated == (family == "llama" || family == "gemma2"));
        CHECK(std::ranges::count(listed, mistake_number("rope_on_v")) == rotated);
        for (const Index mistake : listed) {
            CAPTURE(mistake_keys[static_cast<std::size_t>(mistake)]);
            show_mistake(screen, mistake_keys[static_cast<std::size_t>(mistake)]);
            const pitfalls::Model& model = pitfalls_model(screen);
            REQUIRE(model.mistaken());
            const MistakenHead& head = *model.mistaken();
            for (std::size_t measure = 0; measure < pitfalls::measure_count; ++measure)
                told(screen, pitfalls::cells::effect(mistake, measure));
            for (const Index query : {Index{0}, Index{2}, model.rows.query})
                for (const Index key : {0, 2, 5}) {
                    const auto at = static_cast<std::size_t>(key);
                    const auto same = [](double got, double expected) {
                        CHECK((got == Catch::Approx(expected).epsilon(1e-9).margin(1e-12) ||
                               (std::isnan(got) && std::isnan(expected))));
                    };
                    same(told(screen, pitfalls::cells::score(pitfalls::Side::mistaken, query, key)),
                         head.scores(query)[at]);
                    same(told(screen, pitfalls::cells::weight(pitfalls::Side::mistaken, query, key)),
                         head.weights(query)[at]);
                    same(told(screen, pitfalls::cells::output(pitfalls::Side::mistaken, query, key)),
                         head.output(query)[at]);
                    told(screen, pitfalls::cells::weight(pitfalls::Side::change, query, key));
                }
            for (const pitfalls::Side side :
                 {pitfalls::Side::right, pitfalls::Side::mistaken, pitfalls::Side::change})
                told(screen, pitfalls::cells::gradient(side, 1));
        }
        CHECK_FALSE(why(screen.visit, pitfalls::cells::weight(0, 100, 0)));
        CHECK_FALSE(why(screen.visit, pitfalls::cells::gradient(0, 100)));
        CHECK_FALSE(why(screen.visit, pitfalls::cells::effect(mistake_number("dropout_left_on"), 1)));
    }
}

TEST_CASE(
    "a mistake and its variant are in links and in undo, and a mistake that has no meaning is refused") {
    Screen screen({1440, 900});
    open_family(screen, "llama");
    show_mistake(screen, "rope_base", 2);
    CHECK_THAT(to_fragment(screen.visit.state()), ContainsSubstring("pitfalls.mistake=rope_base,2"));
    CHECK(parse_fragment(to_fragment(screen.visit.state())).state.of<pitfalls::State>() ==
          pitfalls_state(screen));
    CHECK_THAT(spoken(screen.visit), StartsWith("RoPE with another base: "));
    screen.click("pitfalls/try/mask");
    screen.settle();
    CHECK(pitfalls_state(screen).mistake == mistake_number("mask_after_softmax"));
    screen.visit.undo();
    CHECK(pitfalls_state(screen).mistake == mistake_number("rope_base"));
    // A click on a row of the table makes its mistake.
    screen.settle();
    const Index first = pitfalls_model(screen).listed().front();
    screen.click("pitfalls/effects/0/1");
    screen.settle();
    CHECK(pitfalls_state(screen).mistake == first);
    CHECK(screen.visit.state().pin == pitfalls::cells::effect(first, pitfalls::Measure::weight));
    show_mistake(screen, "causal_added");
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("this head cannot make that mistake"));
    CHECK_FALSE(pitfalls_model(screen).mistaken());
    for (const char* bad : {"v=1&pitfalls.mistake=none", "v=1&pitfalls.mistake=rope_base,16"})
        CHECK_FALSE(parse_fragment(bad).note.empty());
}

TEST_CASE("Pitfalls trains a network with a mistake beside the right one, and tells what it learned") {
    Screen screen({1440, 900});
    screen.open_sentence();
    show_mistake(screen, "base_2_exponential");
    screen.click("pitfalls/train/with it");
    screen.settle();
    const pitfalls::Model& model = pitfalls_model(screen);
    CHECK(pitfalls_state(screen).train == pitfalls::Train::chosen);
    CHECK_THAT(to_fragment(screen.visit.state()), ContainsSubstring("pitfalls.train=chosen"));
    const Index run = 1 + model.state.mistake;
    REQUIRE(model.runs() == std::vector<Index>{0, run});
    while (!model.training(0)->done() || !model.training(run)->done()) screen.settle();
    REQUIRE(model.training(run)->measured());
    // Another base scales the scores by ln 2, which the weights of Q and K make up for.
    CHECK_THAT(spoken(screen.visit),
               StartsWith("Base-2 exponential without log₂ e: the network still learns, "));
    using app::Learned;
    const auto learned = [&](Index of, Learned number) {
        return told(screen, pitfalls::cells::learned(of, number));
    };
    const double guessing = std::log(31.0);  // 32 tokens, one of which separates
    CHECK(learned(run, Learned::share) ==
          Catch::Approx((guessing - learned(run, Learned::loss)) / (guessing - learned(0, Learned::loss))));
    CHECK(learned(0, Learned::share) == Catch::Approx(1));
    // The right network is its own correction.
    CHECK(learned(0, Learned::right_loss) == learned(0, Learned::loss));
    CHECK(learned(0, Learned::predicted) > 0.5);
    CHECK(learned(run, Learned::half) < 600);
    told(screen, pitfalls::cells::loss(0, 0));
    told(screen, pitfalls::cells::loss(run, 599));
    CHECK(table_of(screen, "What the network learns").values.rows == 2);
    // A mistake of another network's parts cannot be made in this one.
    screen.visit.perform(
        Set<pitfalls::State>{{mistake_number("softcap_missing"), 0, pitfalls::Train::chosen}});
    screen.settle();
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("the small network cannot make that mistake"));
    screen.visit.undo();
    screen.visit.undo();
    CHECK(pitfalls_state(screen).train == pitfalls::Train::none);
}

TEST_CASE("Pitfalls shows a window of a long text, and refuses one that is too long or has no Q and K") {
    const auto open = [](Screen& screen, Index n) {
        put(screen.visit, {{"Q.npy", normal_npy({1, n, 4}, 1)},
                           {"K.npy", normal_npy({1, n, 4}, 2)},
                           {"V.npy", normal_npy({1, n, 4}, 3)}});
        screen.settle();
    };
    Screen screen;
    open(screen, 100);
    screen.visit.perform(Select{{0, 0, 70, {}, {}}});
    show_mistake(screen, "scale_missing");
    CHECK(pitfalls_model(screen).rows.queries.begin == 64);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("In queries 64–95"));
    told(screen, pitfalls::cells::weight(pitfalls::Side::mistaken, 70, 99));
    Screen large;
    open(large, 600);
    show_mistake(large, "scale_missing");
    CHECK_THAT(spoken(large.visit), ContainsSubstring("too long"));
    Screen worked;
    worked.visit.perform(SetSource{Source::scores});
    show_mistake(worked, "scale_missing");
    CHECK(lens_in(worked.visit).missing(subject_in(worked.visit)));
}
