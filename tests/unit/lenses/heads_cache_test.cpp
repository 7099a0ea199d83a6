// Tests how Heads lets a model share its keys and values, or keep a latent instead.
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "unit/frame/pictures.hpp"
#include "unit/lenses/heads_shown.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

double loss_of_run(const std::shared_ptr<const Trace>& run) {
    TextLoss loss(run);
    while (loss.step()) continue;
    return loss.value();
}

// Returns the probabilities of the next token.
std::vector<double> next_probabilities(const Trace& run) {
    const Tensor logits = run.logits({run.tokens() - 1, run.tokens()});
    std::vector<double> all;
    double sum = 0;
    for (const float each : logits.values()) sum += all.emplace_back(std::exp(static_cast<double>(each)));
    for (double& each : all) each /= sum;
    return all;
}

}  // namespace

TEST_CASE("sharing and the latent run the model again, and say what they keep and lose") {
    Screen screen;
    open_model(screen, {"llama", four_heads});
    const auto trace = subject_in(screen.visit).attention()->trace();
    const auto by_hand = [&](const std::shared_ptr<const Model>& model) {
        const auto run = run_forward(model, {trace->ids().begin(), trace->ids().end()});
        REQUIRE(run);
        return *run;
    };
    show_heads(screen, {.part = heads::Part::sharing});
    const heads::Model& lens = heads_in(screen.visit);
    CHECK(lens.setting() == 1);
    CHECK(lens.runs().settings() == std::vector<Index>{1});
    CHECK(*lens.cache_value(heads::CacheMeasure::loss, 0) == Catch::Approx(loss_of_run(trace)).epsilon(1e-9));
    const auto shared = by_hand(SmallerModel::shared(trace->model(), 1).finish());
    CHECK(*lens.cache_value(heads::CacheMeasure::loss, 1) ==
          Catch::Approx(loss_of_run(shared)).epsilon(1e-6));
    CHECK(*lens.cache_value(heads::CacheMeasure::numbers, 0) == 2 * 2 * 2 * 4);
    CHECK(*lens.cache_value(heads::CacheMeasure::numbers, 1) == 2 * 2 * 4);
    CHECK(*lens.cache_value(heads::CacheMeasure::bytes, 1) == 2 * 2 * 2 * 4);
    double off = 0, size = 0, moved = 0;
    const auto was = trace->attention(1).run.attention_output.values(),
               is = shared->attention(1).run.attention_output.values();
    for (std::size_t i = 0; i < was.size(); ++i) {
        const auto a = static_cast<double>(was[i]), b = static_cast<double>(is[i]);
        off += (a - b) * (a - b);
        size += a * a;
    }
    CHECK(lens.runs().at(1)->changes[1] == Catch::Approx(std::sqrt(off / size)).epsilon(1e-4));
    for (std::size_t i = 0; i < 20; ++i)
        moved += std::abs(next_probabilities(*trace)[i] - next_probabilities(*shared)[i]) / 2;
    CHECK(*lens.cache_value(heads::CacheMeasure::moved, 1) == Catch::Approx(moved).epsilon(1e-3));
    const auto check_cells = [&](Index cache, Index setting) {
        for (const Index column : {Index{0}, setting})
            for (Index row = 0; row < heads::cache_measure_count; ++row)
                CHECK(check_told(screen, heads::cells::cache(cache, row, column)).f64 ==
                      *lens.cache_value(static_cast<heads::CacheMeasure>(row), column));
        check_told(screen, heads::cells::output_error(cache, 1, setting));
        check_told(screen, heads::cells::probability(cache, 0, 3));
        check_told(screen, heads::cells::probability(cache, 1, 3));
        for (const CellRef& cell :
             {heads::cells::cache(cache, heads::cache_measure_count, setting),
              heads::cells::output_error(cache, 2, setting), heads::cells::cache(cache, 0, 999),
              heads::cells::probability(cache, 0, 20), heads::cells::role(0)})
            CHECK_FALSE(why(screen.visit, cell));
    };
    check_cells(0, 1);
    show_heads(screen, {.part = heads::Part::sharing, .kv_heads = 2});
    CHECK(lens.setting() == 0);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("drag the slider"));

    show_heads(screen, {.part = heads::Part::latent, .rank = 5});
    CHECK(lens.runs().settings() == std::vector<Index>{1, 2, 4, 8, 16});
    CHECK(lens.setting() == 5);
    const auto latent = by_hand(SmallerModel::latent(
                                    [&] {
                                        auto factors = std::make_shared<LatentFactors>(trace->model());
                                        while (factors->step()) continue;
                                        return factors;
                                    }(),
                                    5)
                                    .finish());
    CHECK(*lens.cache_value(heads::CacheMeasure::loss, 5) ==
          Catch::Approx(loss_of_run(latent)).epsilon(1e-5));
    CHECK(*lens.cache_value(heads::CacheMeasure::numbers, 5) == 2 * 5);
    CHECK(*lens.cache_value(heads::CacheMeasure::loss, 16) ==
          Catch::Approx(loss_of_run(trace)).epsilon(1e-3));
    check_cells(1, 5);
    CHECK(screen.shows("heads/note"));
    const auto tables = lens_in(screen.visit).tables(subject_in(screen.visit));
    REQUIRE(tables.size() == 3);
    CHECK(tables[0].values.rows == 6);
    show_heads(screen, {.part = heads::Part::latent, .rank = 5000});
    CHECK(lens.setting() == 16);
}

TEST_CASE("a changed run is compared with the smaller cache under the same changes") {
    Screen screen;
    open_model(screen, {"llama", four_heads});
    screen.visit.perform(ChangeRun{{.at = {.attention = 0, .head = 1}}});
    screen.settle();
    const auto trace = subject_in(screen.visit).attention()->trace();
    REQUIRE(trace->interventions().size() == 1);
    show_heads(screen, {.part = heads::Part::sharing});
    auto forward = ForwardPass::start(SmallerModel::shared(trace->model(), 1).finish(),
                                      {trace->ids().begin(), trace->ids().end()});
    REQUIRE(forward);
    auto plain = forward->finish();
    REQUIRE(plain);
    auto with = ForwardPass::start_with(trace->interventions(), *plain);
    REQUIRE(with);
    auto expected = with->finish();
    REQUIRE(expected);
    TextLoss loss(*expected);
    while (loss.step()) continue;
    CHECK(*heads_in(screen.visit).cache_value(heads::CacheMeasure::loss, 1) ==
          Catch::Approx(loss.value()).epsilon(1e-6));
}

TEST_CASE("the slider of a smaller cache moves one setting at a time by the keys") {
    Screen screen;
    open_model(screen, {"gpt2",
                        R"({"model_type": "gpt2", "vocab_size": 20, "n_positions": 16, "n_embd": 16,
        "n_layer": 1, "n_head": 8})"});
    show_heads(screen, {.part = heads::Part::sharing});
    const heads::Model& lens = heads_in(screen.visit);
    CHECK(lens.setting() == 4);
    screen.bring("heads/kv");
    const auto step = [&](double steps) {
        ui::ask({.kind = ui::Ask::Kind::step, .key = "heads/kv", .steps = steps});
        screen.settle();
    };
    for (const Index expected : {2, 1, 1}) {
        step(-1);
        CHECK(lens.setting() == expected);
    }
    for (const Index expected : {2, 4, 0, 0}) {
        step(1);
        CHECK(lens.setting() == expected);
    }
    show_heads(screen, {.part = heads::Part::latent, .rank = 3});
    screen.bring("heads/rank");
    ui::ask({.kind = ui::Ask::Kind::step, .key = "heads/rank", .steps = 1});
    screen.settle();
    CHECK(lens.setting() == 4);
}
