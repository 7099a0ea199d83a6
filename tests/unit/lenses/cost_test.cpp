// Tests lens Cost: its jobs under a clock that is known, and its numbers against counts and fits made here.
#include "lenses/cost/cost.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/cost/attention_forms.hpp"
#include "app/link.hpp"
#include "io/model_config.hpp"
#include "kernels/workers.hpp"
#include "support/files.hpp"
#include "unit/app/support.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

cost::Model& cost_model(const Screen& screen) {
    return static_cast<ModelLens<cost::Model>&>(screen.visit.lens()).model();
}
void show_cost(Screen& screen, const cost::State& state = {}) {
    show_lens(screen, "cost", Set<cost::State>{state});
}

std::vector<CostCase> cases_over_n(std::initializer_list<Index> sizes, Index series = 0) {
    std::vector<CostCase> cases;
    for (const Index n : sizes) cases.push_back({.n = n, .d = 64, .series = series});
    return cases;
}
double quadratic_ms(const CostCase& what) { return 1e-6 * static_cast<double>(what.n * what.n); }

// Least squares in a way that needs no means: the normal equations, by Cramer's rule.
double slope_of(std::span<const double> x, std::span<const double> y) {
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double u = std::log(x[i]), v = std::log(y[i]);
        n += 1;
        sx += u;
        sy += v;
        sxx += u * u;
        sxy += u * v;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

}  // namespace

TEST_CASE("measuring takes a sample a step, tries every case first, and counts the least of its rounds") {
    std::vector<std::pair<Index, Index>> log;  // n and calls
    double late = 0;
    CostMeasuring job(cases_over_n({100, 200, 400}), 5, 0.1, [&](const CostCase& what, Index calls) {
        log.emplace_back(what.n, calls);
        late += 0.001;  // each call of the clock finds the machine a little slower
        return static_cast<double>(calls) * (quadratic_ms(what) + late);
    });
    CHECK(job.progress() == 0);
    int steps = 1;
    for (; job.step(); ++steps) CHECK(job.progress() == Catch::Approx(steps / 18.0));
    CHECK(steps == 18);
    CHECK(job.done());
    CHECK(job.progress() == 1);
    CHECK_FALSE(job.step());
    REQUIRE(log.size() == 18);
    for (std::size_t i = 0; i < log.size(); ++i) CHECK(log[i].first == std::array{100, 200, 400}[i % 3]);
    // A sample of 0.1 ms: 0.1 / (0.01 + 0.001), rounded up, and so on.
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(log[i].second == 1);
        CHECK(job.timed()[i].calls == std::array{10, 3, 1}[i]);
        CHECK(log[3 + i].second == job.timed()[i].calls);
        CHECK(job.timed()[i].ms.size() == 5);
        // The first round was the quickest, after three tries.
        CHECK(job.timed()[i].least() ==
              Catch::Approx(quadratic_ms(job.timed()[i].what) + 0.001 * (4.0 + static_cast<double>(i))));
        CHECK(job.timed()[i].median() == job.timed()[i].ms[2]);
    }
}

TEST_CASE("what would hold up the page is left out, as the case before it tells") {
    std::vector<Index> called;
    std::vector<CostCase> cases = cases_over_n({1000, 5000, 7000, 9000});
    cases.push_back({.n = 2000, .d = 64, .series = 1});
    CostMeasuring job(cases, 2, 1, [&](const CostCase& what, Index calls) {
        called.push_back(what.n);
        return static_cast<double>(calls) * quadratic_ms(what);
    });
    while (job.step()) continue;
    // A call of 7,000 would take 49 ms, also if that of 5,000 is tried three times more.
    CHECK(called ==
          std::vector<Index>{1000, 5000, 5000, 5000, 5000, 2000, 1000, 5000, 2000, 1000, 5000, 2000});
    CHECK(job.timed().size() == 3);
    CostMeasuring nothing({}, 2, 1, {});
    CHECK(nothing.done());
    CHECK_FALSE(nothing.step());
    // A clock that stands still ends, too.
    CostMeasuring still(cases_over_n({8, 16}), 1, 1, [](const CostCase&, Index) { return 0.0; });
    while (still.step()) continue;
    CHECK(still.timed().front().calls == 2000);
}

TEST_CASE("every kind of work of the page's stopwatch runs, and gives its threads back") {
    const int threads = thread_count();
    const Stopwatch stopwatch = page_stopwatch();
    for (const CostMeans means : {CostMeans::scalar, CostMeans::simd, CostMeans::threads})
        for (const CostWork work : {CostWork::naive, CostWork::fused, CostWork::product, CostWork::reading})
            for (const Index pool : {0, 200, 5000}) {
                CHECK(stopwatch({.work = work, .means = means, .n = 12, .d = 8, .out = 10, .pool = pool},
                                3) >= 0);
                CHECK(thread_count() == threads);
            }
    CHECK(CostCase{.work = CostWork::naive, .n = 3, .d = 5}.operations() == 4 * 3 * 3 * 5);
    CHECK(CostCase{.work = CostWork::fused, .n = 3, .d = 5, .keys = 7}.operations() == 4 * 3 * 7 * 5);
    CHECK(CostCase{.work = CostWork::product, .n = 3, .d = 5, .out = 7}.operations() == 2 * 3 * 5 * 7);
    CHECK(sample_ms_of_clock() >= 3);
    CHECK(sample_ms_of_clock() <= 30);
}

TEST_CASE("lens Cost measures by itself and explains what it has fitted") {
    Screen screen;
    show_cost(screen);
    const cost::Model& model = cost_model(screen);
    REQUIRE(model.measured->times()->done());
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("Here attention takes n^"));
    CHECK(model.series.size() == 2);  // both forms, as the page computes
    for (const CostSeries& series : model.series) {
        const Index form = static_cast<Index>(series.form), means = static_cast<Index>(series.means);
        CHECK(series.means == usual_means());
        for (const CostAxis axis : {CostAxis::n, CostAxis::d}) {
            const CostSeries::Over& over = series.by(axis);
            REQUIRE(over.fit);
            const auto begin = static_cast<std::size_t>(over.fit->points.begin);
            CHECK(over.fit->exponent == Catch::Approx(slope_of(std::span(over.x).subspan(begin),
                                                               std::span(over.ms).subspan(begin))));
            const auto& kind = axis == CostAxis::n ? cost::cells::over_n : cost::cells::over_d;
            CHECK(check_told(screen, kind(form, means, 0)).f64 == Catch::Approx(over.fit->exponent));
            CHECK(check_told(screen, kind(form, means, 1)).f64 ==
                  Catch::Approx(over.fit->error).margin(1e-12));
            CHECK(check_told(screen, kind(form, means, 2)).f64 ==
                  Catch::Approx(over.fit->scatter).margin(1e-12));
            CHECK(check_told(screen, kind(form, means, 3)).f64 ==
                  Catch::Approx(std::pow(2, over.fit->exponent)));
            check_told(screen, kind(form, means, 4));
            for (std::size_t i = 0; i < over.x.size(); ++i) {
                const auto x = static_cast<Index>(over.x[i]);
                const auto told =
                    check_told(screen, axis == CostAxis::n ? cost::cells::time(form, means, x)
                                                           : cost::cells::width(form, means, x));
                CHECK(told.f64 == over.ms[i]);
                CHECK(told.operands.size() == over.timed[i]->ms.size());
            }
        }
        const Explained memory = check_told(screen, cost::cells::memory(form, 96));
        CHECK(memory.f64 ==
              static_cast<double>(form == 0 ? NaiveMemory(96, 96).bytes() : FusedMemory(96).bytes()));
    }
    CHECK_FALSE(why(screen.visit, cost::cells::time(0, 0, 5)));
    CHECK(table_of(screen, "Exponents").values.cols == 6);
    for (const char* shown : {"chart/cost-n", "chart/cost-d", "chart/cost-memory", "cost/measure"})
        CHECK(screen.shows(shown));
    // What was measured stays, whatever else is looked at.
    const double least = model.series.front().by(CostAxis::n).ms.front();
    screen.visit.perform(OpenLens{"overview"});
    screen.settle();
    screen.visit.perform(OpenLens{"cost"});
    screen.settle();
    CHECK(cost_model(screen).series.front().by(CostAxis::n).ms.front() == least);
    // Thoroughly: scalar, SIMD and, where there are some, threads.
    cost_model(screen).measured->measure_times(true);
    CHECK(cost_model(screen).measured->times()->timed().size() ==
          (usual_means() == CostMeans::threads ? 6 : 4) * 19);
}

TEST_CASE("lens Cost draws the roofline of the shape in view") {
    Screen screen;
    open_family(screen, "llama");
    show_cost(screen, {.part = cost::Part::roofline, .tokens = 40});
    const cost::Model& model = cost_model(screen);
    const auto roof = model.roofline();
    REQUIRE(roof);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("memory decides"));
    CHECK(check_told(screen, cost::cells::roof(0)).f64 == Catch::Approx(roof->peak));
    CHECK(check_told(screen, cost::cells::roof(1)).f64 == Catch::Approx(roof->bandwidth));
    CHECK(check_told(screen, cost::cells::roof(2)).f64 == Catch::Approx(roof->peak / roof->bandwidth));
    const ModelShape& shape = *model.shape(0);
    for (Index i = 0; i < 5; ++i) {
        const auto* timed = model.measured->timed(static_cast<CostOperation>(i));
        REQUIRE(timed);
        CHECK(rate_of(*timed) <= roof->peak);
        const double counted = check_told(screen, cost::cells::reached(i, 0)).f64;
        CHECK(check_told(screen, cost::cells::reached(i, 2)).f64 == Catch::Approx(roof->at(counted)));
        CHECK(check_told(screen, cost::cells::reached(i, 3)).f64 ==
              Catch::Approx(check_told(screen, cost::cells::reached(i, 1)).f64 / roof->at(counted)));
    }
    // A vector times a matrix: 2 d · d_ff operations on so many numbers of 4 bytes.
    const auto d = static_cast<double>(shape.d_model), ff = static_cast<double>(shape.d_ff);
    CHECK(check_told(screen, cost::cells::reached(3, 0)).f64 ==
          Catch::Approx(2 * d * ff / (4 * (d * ff + d + ff))));
    CHECK(screen.shows("chart/cost-roof"));
    CHECK(table_of(screen, "What each step reaches").values.rows == 5);
    // Times at best stand beside the models now.
    show_cost(screen, {.part = cost::Part::models, .tokens = 40});
    const ModelStep step = step_of(shape, {40, 41}, {});
    CHECK(
        check_told(screen, cost::cells::model(0, Amount::writing_time)).f64 ==
        Catch::Approx(1e3 * std::max(step.operations.total() / roof->peak, step.moved() / roof->bandwidth)));
}

TEST_CASE("lens Cost counts what models take, the open one, the typed one and known ones") {
    Screen screen({1440, 1400});
    open_family(screen, "llama");
    cost::State state{.part = cost::Part::models, .tokens = 128, .weight_bits = 16, .cache_bits = 8};
    state.typed = {3, 64, 4, 2, 16, 96, 1000, true, false};
    show_cost(screen, state);
    const cost::Model& model = cost_model(screen);
    // Counted by hand, a layer has 64·64·2 + 64·32·2 + 3·64·96 = 30,720 weights; embedding and head have
    // 64,000 each.
    const double layer = 30'720, head = 64'000;
    const auto told = [&](Index shape, Amount amount) {
        return check_told(screen, cost::cells::model(shape, amount)).f64;
    };
    CHECK(told(1, Amount::weights) == 3 * layer + 2 * head);
    CHECK(told(1, Amount::reading) == 2 * 128 * 3 * layer + 3 * 4 * 64 * (128 * 129 / 2) + 2 * head);
    CHECK(told(1, Amount::writing) == 2 * 3 * layer + 3 * 4 * 64 * 129 + 2 * head);
    CHECK(told(1, Amount::attention_share) ==
          Catch::Approx(3 * 4 * 64 * (128 * 129 / 2) / told(1, Amount::reading)));
    CHECK(told(1, Amount::cache) == Catch::Approx(128 * 3 * 2 * 32));
    CHECK(told(1, Amount::writing_intensity) ==
          Catch::Approx(told(1, Amount::writing) / told(1, Amount::writing_bytes)));
    const ModelConfig& config = subject_in(screen.visit).attention()->trace()->model()->config();
    CHECK(told(0, Amount::weights) == weight_count(model_shape(config)));
    for (Index shape = 0; shape < 7; ++shape)
        for (Index amount = 0; amount < 9; ++amount) check_told(screen, cost::cells::model(shape, amount));
    CHECK_FALSE(why(screen.visit, cost::cells::model(0, Amount::reading_time)));
    const Table table = table_of(screen, "Models beside each other");
    CHECK(table.columns.size() == 7);
    CHECK(table.values.at(0, 4) == weight_count(known_models()[2].shape));
    for (const Index part : {0, 1}) {
        const StepCost cost = step_of(*model.shape(0), {0, 256}, {}).operations;
        CHECK(check_told(screen, cost::cells::reading(part, 256)).f64 ==
              Catch::Approx(part == 0 ? cost.matrices : cost.attention));
    }
    // Attention takes more from its crossing on, and not before.
    const auto crossing = attention_crossing(*model.shape(1), 1'000'000);
    REQUIRE(crossing);
    const auto takes_most = [&](Index n) {
        const StepCost cost = step_of(*model.shape(1), {0, n}, {}).operations;
        return cost.attention > cost.matrices;
    };
    CHECK(takes_most(*crossing));
    CHECK_FALSE(takes_most(*crossing - 1));
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("“tiny” reads 128 tokens with"));
    CHECK(screen.shows("chart/cost-reading"));
    CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());
}

TEST_CASE("the shapes of the bundled models are those of their files") {
    for (std::size_t i = 0; i < 2; ++i) {
        const std::string name = known_models()[i].name;
        const auto file = read_file(source_dir() / "models" / name / "config.json");
        const auto config = parse_model_config(file);
        REQUIRE(config);
        CHECK(model_shape(*config) == known_models()[i].shape);
    }
}

TEST_CASE("lens Cost is set by its controls, for every subject, and refuses what is no shape") {
    Screen screen({1440, 1400});
    show_cost(screen, {.part = cost::Part::models});
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("GPT-2 small reads 1,024 tokens"));
    screen.click("cost/try/llama3_8b");
    screen.settle();
    const auto state = [&] { return screen.visit.state().of<cost::State>(); };
    CHECK(state().typed == cost::typed_as(known_models()[4].shape));
    screen.click("cost/try/twice");
    screen.settle();
    CHECK(state().tokens == 2048);
    const app::State before = screen.visit.state();
    cost::State odd = state();
    odd.typed.kv_heads = 5;
    CHECK_THAT(refusal(before, Set<cost::State>{odd}), ContainsSubstring("divides the number of heads"));
    odd = state();
    odd.cache_bits = 7;
    CHECK_THAT(refusal(before, Set<cost::State>{odd}), ContainsSubstring("32, 16, 8 or 4 bits"));
    screen.visit.undo();
    CHECK(state().tokens == 1024);
}
