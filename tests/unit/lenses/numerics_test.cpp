// Tests lens Numerics against plain float arithmetic and the reference in double.
#include "lenses/numerics/numerics.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "attention/explain.hpp"
#include "io/npy.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

numerics::Model& numerics_model(const Screen& screen) {
    return static_cast<ModelLens<numerics::Model>&>(screen.visit.lens()).model();
}
void show_numerics(Screen& screen, const numerics::State& state = {}) {
    show_lens(screen, "numerics", Set<numerics::State>{state});
}
const numerics::State& numerics_state(const Screen& screen) {
    return screen.visit.state().of<numerics::State>();
}

// One head of one component, whose scores are query · key.
void open_row(Screen& screen, const std::vector<float>& queries, const std::vector<float>& keys) {
    const auto count = [](const std::vector<float>& of) { return std::ssize(of); };
    put(screen.visit, {{"Q.npy", write_npy({1, count(queries), 1}, queries)},
                       {"K.npy", write_npy({1, count(keys), 1}, keys)},
                       {"V.npy", write_npy({1, count(keys), 1}, keys)}});
    screen.settle();
    show_numerics(screen, {.without_max = true, .stage = ChainStage::output});
}

// |weight − reference| of a causal row, computed in floats one after the other.
double largest_f32_error(const Record& record, Index head, Index query) {
    const auto q = record.q().heads().head(head), k = record.k().heads().head(record.kv_head(head));
    std::vector<float> scores;
    for (Index key = 0; key <= query; ++key) {
        float raw = 0;
        for (Index a = 0; a < record.d_k(); ++a) raw += q(query, a) * k(key, a);
        scores.push_back(raw * static_cast<float>(record.scale()));
    }
    const float max = std::ranges::max(scores);
    float sum = 0;
    for (float& score : scores) {
        score = static_cast<float>(std::exp(static_cast<double>(score - max)));
        sum += score;
    }
    const RowChain exact = row_chain(record, head, query);
    double most = 0;
    for (Index key = 0; key <= query; ++key)
        most = std::max(most, std::abs(static_cast<double>(scores[static_cast<std::size_t>(key)] / sum) -
                                       exact.at(key).weight));
    return most;
}

}  // namespace

TEST_CASE("lens Numerics shows each subject with Q, K and V") {
    Screen screen;
    screen.open_sentence();
    screen.train_some();
    for (const std::string_view subject : {worked_subject, sentence_subject, training_subject}) {
        INFO(subject);
        screen.visit.perform(OpenSubject{subject});
        show_numerics(screen);
        for (const char* part : {"numerics/largest/0/0", "numerics/largest/3/6", "numerics/error/0/0",
                                 "chart/numerics-orders", "numerics/range/0/4"})
            CHECK(screen.shows(part));
        CHECK_THAT(spoken(screen.visit), Catch::Matchers::StartsWith("In f16, the weights of ") &&
                                             ContainsSubstring("off by at most") &&
                                             ContainsSubstring("f32: "));
        for (const char* title : {"Largest error of each stage", "Error of the weights in f16",
                                  "Error of the weights by order of sums", "How much of each format’s range"})
            CHECK(std::ranges::any_of(screen.frame.tables(), [&](const Table& each) {
                return each.title.starts_with(title) && !each.row_labels.empty();
            }));
    }
}

TEST_CASE("its error in f32 is that of plain floats against the reference in double") {
    Screen screen;
    screen.open_sentence();
    screen.visit.perform(Select{{1, 2, 4, {}, {}}});
    show_numerics(screen, {.format = NumberFormat::f32});
    const Record& record = sentence_in(screen.visit).run()->record_at(1);
    for (Index query = 0; query < record.queries(); ++query) {
        const auto found = why(screen.visit, numerics::cells::order(0, query));
        // Both references are double, and leave 1e-16 of weights up to 1.
        if (const double expected = largest_f32_error(record, 2, query); expected > 1e-15)
            CHECK(found->f64 == Catch::Approx(expected).margin(4e-16));
    }
}

TEST_CASE("every number of Numerics explains itself, in every format and with every rounding") {
    Screen screen;
    screen.open_sentence();
    for (const std::string_view subject : {worked_subject, sentence_subject})
        for (const numerics::State& state :
             {numerics::State(), numerics::State{.format = NumberFormat::bf16, .order = SumOrder::online},
              numerics::State{.format = NumberFormat::tf32,
                              .steps = RoundedSteps::fused,
                              .order = SumOrder::compensated,
                              .measure = ErrorMeasure::relative},
              numerics::State{.steps = RoundedSteps::sums, .order = SumOrder::pairs, .without_max = true}}) {
            screen.visit.perform(OpenSubject{subject});
            show_numerics(screen, state);
            const numerics::Model& model = numerics_model(screen);
            for (std::size_t i = 0; i < chain_stage_count; ++i) {
                const auto stage = static_cast<ChainStage>(i);
                if (std::ranges::find(model.stages, stage) == model.stages.end()) {
                    CHECK_FALSE(why(screen.visit, numerics::cells::error(i, 2, 0)));
                    continue;
                }
                // f32 of an error has 24 of its bits.
                check_told(screen, numerics::cells::error(i, 2, 0), 1e-6, 1e-12);
                for (const Index format : {0, 1, 4}) {
                    const auto found = check_told(screen, numerics::cells::largest(i, format), 1e-6, 1e-12);
                    const RoundedChain& chain =
                        *model.chain(model.with_format(static_cast<std::size_t>(format)));
                    const auto& largest = chain.errors()[i].largest[static_cast<std::size_t>(state.measure)];
                    CHECK(found.f64 == Catch::Approx(largest.error).epsilon(1e-12));
                }
            }
            for (const Index order : {0, 1, 2, 3})
                check_told(screen, numerics::cells::order(order, 1), 1e-6, 1e-12);
            for (std::size_t which = 0; which < extreme_count; ++which)
                for (const Index format : {0, 4, 6})
                    check_told(screen, numerics::cells::range(which, format));
            CHECK_FALSE(why(screen.visit, numerics::cells::error(11, 100, 0)));
            CHECK_FALSE(why(screen.visit, numerics::cells::error(12, 0, 1000)));
        }
    // A cell that the mask hides has no number.
    show_numerics(screen);
    CHECK(why(screen.visit, numerics::cells::error(11, 0, 3))->masked);
}

TEST_CASE("its settings are in links and in undo, and what it offers to try sets them") {
    Screen screen({1440, 900});
    screen.open_sentence();
    show_numerics(screen);
    screen.click("numerics/try/max");
    CHECK(numerics_state(screen).without_max);
    CHECK_THAT(to_fragment(screen.visit.state()),
               ContainsSubstring("numerics.max=kept&numerics.stage=output"));
    screen.settle();
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("maximum not subtracted"));
    screen.click("numerics/try/sum");
    screen.settle();
    CHECK(numerics_state(screen).format == NumberFormat::bf16);
    CHECK_THAT(spoken(screen.visit), Catch::Matchers::StartsWith("In bf16, the sum of "));
    screen.click("numerics/format/fp8 e4m3");
    CHECK(numerics_state(screen).format == NumberFormat::e4m3);
    for (int step = 0; step < 3; ++step) screen.visit.undo();
    CHECK(numerics_state(screen) == numerics::State());
    const numerics::State all{NumberFormat::e5m2, RoundedSteps::sums,    SumOrder::pairs, true,
                              ChainStage::raw,    ErrorMeasure::relative};
    screen.visit.perform(Set<numerics::State>{all});
    const auto read = parse_fragment(to_fragment(screen.visit.state()));
    CHECK(read.state.of<numerics::State>() == all);
    // Online subtracts the largest score so far.
    screen.visit.perform(Set<numerics::State>{{.order = SumOrder::online, .without_max = true}});
    CHECK_FALSE(numerics_state(screen).without_max);
    for (const char* bad : {"v=1&numerics.format=f8", "v=1&numerics.stage=all", "v=1&numerics.max=1"})
        CHECK_FALSE(parse_fragment(bad).note.empty());
}

TEST_CASE("a click on an error shows its worst cell, and the mark of the chart chooses a query") {
    Screen screen({1440, 900});
    screen.open_sentence();
    show_numerics(screen);
    const numerics::Model& model = numerics_model(screen);
    const auto row = std::ranges::find(model.stages, ChainStage::raw) - model.stages.begin();
    screen.click("numerics/largest/" + std::to_string(row) + "/3");
    screen.settle();
    CHECK(numerics_state(screen).stage == ChainStage::raw);
    CHECK(numerics_state(screen).format == NumberFormat::bf16);
    const ChainCell worst = model.chosen()->errors()[number_of(ChainStage::raw)].largest[0].at;
    CHECK(screen.visit.state().selection.query == worst.row);
    CHECK(screen.visit.state().selection.key == worst.column);
    CHECK(screen.visit.state().pin == numerics::cells::largest(ChainStage::raw, NumberFormat::bf16));
    reveal(screen, "chart/numerics-orders");
    const Rect chart = rect("chart/numerics-orders");
    const float y = (chart.top + chart.bottom) / 2;
    ImGui::GetIO().AddMousePosEvent(chart.left + (chart.right - chart.left) * 0.25F, y);
    screen.draw(2);
    ImGui::GetIO().AddMouseButtonEvent(0, true);
    screen.draw(2);
    ImGui::GetIO().AddMouseButtonEvent(0, false);
    screen.draw(2);
    CHECK(screen.visit.state().selection.query == 1);
}

TEST_CASE("overflow is told in one sentence, with the way from the first number that failed") {
    Screen screen({1440, 900});
    // exp(12) is 162,755, more than 65,504; exp(11) is not.
    open_row(screen, {1, 0.5F}, {3, 11, 12});
    CHECK_THAT(spoken(screen.visit),
               Catch::Matchers::StartsWith("In f16, exp(12.0) for query 0 × key 2 overflows.") &&
                   ContainsSubstring("1 of 2 numbers of output is infinite or NaN"));
    REQUIRE(screen.shows("numerics/way/2/0"));
    const auto found = why(screen.visit, numerics::cells::error(ChainStage::output, 0, 0));
    CHECK(std::isnan(found->f64));
    CHECK_THAT(found->note, ContainsSubstring("It began with the exponentials of query 0 × key 2") &&
                                ContainsSubstring("65,504"));
    screen.click("numerics/way/0/0");
    screen.settle();
    CHECK(numerics_state(screen).stage == ChainStage::exponential);
    CHECK(screen.visit.state().pin == numerics::cells::error(ChainStage::exponential, 0, 2));
    CHECK(why(screen.visit, *screen.visit.state().pin)->f64 == HUGE_VAL);
    CHECK(why(screen.visit, numerics::cells::range(5, 4))->f64 ==
          Catch::Approx(12 / std::log(65504)).epsilon(1e-9));
    // With the maximum subtracted, all is well.
    show_numerics(screen);
    CHECK_FALSE(screen.shows("numerics/way/0/0"));
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("off by at most"));

    Screen low({1440, 900});
    open_row(low, {1, 0.25F}, {-20, -21});
    CHECK_THAT(spoken(low.visit), ContainsSubstring("exp(-20.0) for query 0 × key 0 is rounded to 0"));
    CHECK(low.shows("numerics/way/3/0"));
    CHECK_THAT(why(low.visit, numerics::cells::error(ChainStage::weight, 0, 1))->note,
               ContainsSubstring("0 / 0"));
}

TEST_CASE("without Q and K, or without a visible key, Numerics says so") {
    Screen screen;
    screen.visit.perform(SetMask{.kind = WorkedMask::Kind::causal, .offset = -1});
    screen.visit.perform(Select{{0, 0, 0, {}, {}}});
    show_numerics(screen);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("The mask hides every key from"));
    screen.visit.perform(SetSource{Source::scores});
    screen.settle();
    CHECK(lens_in(screen.visit).missing(subject_in(screen.visit)));
    TensorsVisit finished;
    finished.visit.perform(OpenSubject{tensors_subject});
    finished.visit.perform(OpenLens{"numerics"});
    finished.drop({{"attention.npy", weights_npy({2, 5, 5})}});
    const auto missing = lens_in(finished.visit).missing(subject_in(finished.visit));
    REQUIRE(missing);
    CHECK_THAT(missing->sentence, ContainsSubstring("only finished weights"));
}

TEST_CASE("of a long head, Numerics rounds a window of queries and says so") {
    Screen screen;
    put(screen.visit, {{"Q.npy", normal_npy({1, 900, 4}, 1)},
                       {"K.npy", normal_npy({1, 900, 4}, 2)},
                       {"V.npy", normal_npy({1, 900, 4}, 3)}});
    screen.settle();
    screen.visit.perform(Select{{0, 0, 700, {}, {}}});
    show_numerics(screen);
    const numerics::Model& model = numerics_model(screen);
    CHECK(model.window.queries.begin == 684);
    CHECK(model.window.queries.size() == 18);
    CHECK(model.chosen());
    CHECK_THAT(lens_in(screen.visit).tables(subject_in(screen.visit)).front().title,
               ContainsSubstring("queries 684–701"));
    CHECK(screen.shows("numerics/error/700/0"));
    check_told(screen, numerics::cells::largest(ChainStage::output, NumberFormat::f16), 1e-6, 1e-12);
}
