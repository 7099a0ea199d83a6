#include "lenses/cache/cache.hpp"

#include <catch_amalgamated.hpp>
#include <chrono>
#include <cmath>
#include <thread>

#include "app/link.hpp"
#include "support/translator.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/frame/pictures.hpp"
#include "unit/lenses/cache_shown.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("Cache works for a sentence and for a network in training, in all its parts") {
    Screen screen;
    screen.open_sentence();
    screen.train_some();
    for (const std::string_view subject : {sentence_subject, training_subject}) {
        INFO(subject);
        screen.visit.perform(OpenSubject{subject});
        show_cache(screen);
        for (const char* part :
             {"chart/cache-bytes", "chart/cache-operations", "cache/variant/0/0", "cache/measure"}) {
            INFO(part);
            CHECK(screen.shows(part));
        }
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("of keys and values are kept"));
        screen.visit.perform(Select{{0, 0, {}, 0, {}}});
        show_cache(screen, in_bits(4));
        for (const char* part : {"chart/cache-divergence", "chart/cache-loss", "cache/heads/1/1",
                                 "cache/key/0/0", "cache/value/1/3", "cache/choices/0"}) {
            INFO(part);
            CHECK(screen.shows(part));
        }
        // With 6 tokens in groups of 2, none waits; the text of a network in training may have one more.
        const Index waiting = subject_in(screen.visit).attention()->queries() % 2;
        CHECK(spoken(screen.visit).starts_with("In 4 bits the cache takes "));
        CHECK((spoken(screen.visit).find("The newest token stays in 16 bits.") != std::string::npos) ==
              (waiting != 0));
        CHECK_THAT(spoken(screen.visit), ContainsSubstring(" % of its memory in 32; "));
        show_cache(screen, evicting(EvictionPolicy::heavy_hitters, 2));
        for (const char* part : {"chart/cache-divergence", "chart/cache-lost", "cache/heads/1/1",
                                 "cache/map/picture", "cache/row/0/0", "cache/score/0/0", "cache/play"}) {
            INFO(part);
            CHECK(screen.shows(part));
        }
        CHECK(spoken(screen.visit).starts_with("With at most 2 keys, heavy hitters and the newest, "));
    }
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    CHECK(screen.shows("missing/sentence"));
    CHECK(screen.page.notices.empty());
}

TEST_CASE("an encoder keeps no cache, and an encoder–decoder's is the decoder's") {
    {
        Screen screen;
        open_family(screen, "bert", 9);
        show_cache(screen);
        CHECK(screen.shows("missing"));
    }
    for (const SmallFamily& family : small_encoder_decoders) {
        CAPTURE(family.name);
        Screen screen;
        open_encoder_decoder(screen.visit, family, {5, 9, 13, 7, 1}, {4, 11, 6, 8, 2, 3});
        show_cache(screen);
        CHECK_THAT(why(screen.visit, cache::cells::bytes(0, 4))->note, ContainsSubstring("Cross-attention"));
        const cache::State wanted = evicting(EvictionPolicy::sinks, 2);
        show_cache(screen, wanted);
        const auto trace = sentence_in(screen.visit).run()->run;
        // Whichever head is chosen, it is one of the decoder's own.
        for (Index layer = 0; layer < trace->attentions(); ++layer) {
            CAPTURE(layer);
            screen.visit.perform(Select{{layer, 1, 4, {}, {}}});
            screen.settle();
            REQUIRE(cache_in(screen).shown);
            const HeadIndex head = cache_in(screen).head;
            CHECK(head == HeadIndex{std::min<Index>(trace->attention(layer).place.layer, 1), 1});
            check_why(screen, cache::cells::lost_weight(4), cache_in(screen).shown->lost(head, 4), 1e-5);
        }
    }
}

TEST_CASE("every decoded number explains itself, and matches a separate decoding") {
    for (const char* name : {"gpt2", "llama", "gemma2"}) {
        CAPTURE(name);
        Screen screen;
        open_family(screen, name, 9);
        screen.visit.perform(Select{{1, 1, 7, {}, {}}});
        for (const cache::State& state :
             {evicting(EvictionPolicy::window, 3), evicting(EvictionPolicy::sinks, 3),
              evicting(EvictionPolicy::heavy_hitters, 4), evicting(EvictionPolicy::snapkv, 3, 6), in_bits(16),
              in_bits(8), in_bits(4)}) {
            show_cache(screen, state);
            const bool evicts = state.part == cache::Part::eviction;
            CAPTURE(evicts, static_cast<int>(state.eviction.policy), state.rounding.bits);
            const CachedDecoding* shown = cache_in(screen).shown.get();
            REQUIRE(shown);
            const CacheRule rule = evicts ? CacheRule(state.eviction) : CacheRule(state.rounding);
            auto own = *CachedDecoding::start(shown->trace(), state.prompt, rule);
            while (own.step()) continue;
            for (Index query = state.prompt; query < 9; ++query) {
                CAPTURE(query);
                check_why(screen, cache::cells::divergence(query), own.at(query).divergence);
                check_why(screen, cache::cells::output_error(query), own.moved({1, 1}, query));
                if (query < 8)
                    check_why(screen, cache::cells::loss(query),
                              own.at(query).loss - own.at(query).loss_before);
                // Recomputed in double from the weights.
                if (evicts)
                    check_why(screen, cache::cells::lost_weight(query), own.lost({1, 1}, query), 1e-5);
            }
            CHECK_FALSE(why(screen.visit, cache::cells::loss(8)));
            CHECK_FALSE(why(screen.visit, cache::cells::divergence(state.prompt - 1)));
            check_why(screen, cache::cells::probability(0), own.at(7).choices.front().after);
            check_why(screen, cache::cells::head(0, 1),
                      evicts ? own.mean_lost({0, 1}) : own.mean_moved({0, 1}));
            CHECK_FALSE(why(screen.visit, cache::cells::head(9, 0)));
            if (!evicts) {
                const Index kv = cache_in(screen).kv_head;
                Tensor k = own.k(1), v = own.v(1);
                const Index group = state.rounding.bits == 16 ? 1 : 2;
                for (Index begin = 0; begin + group <= 9; begin += group) {
                    round_keys(state.rounding, rows(k.heads().head(kv), {begin, begin + group}));
                    round_values(state.rounding, rows(v.heads().head(kv), {begin, begin + group}));
                }
                check_why(screen, cache::cells::key(3, 2), static_cast<double>(k.heads().head(kv)(3, 2)),
                          1e-6);
                check_why(screen, cache::cells::value(3, 2), static_cast<double>(v.heads().head(kv)(3, 2)),
                          1e-6);
                // The ninth token waits for its group.
                CHECK(static_cast<bool>(why(screen.visit, cache::cells::key(8, 0))) ==
                      (state.rounding.bits == 16));
                CHECK_FALSE(why(screen.visit, cache::cells::weight(7, 0)));
                continue;
            }
            REQUIRE(cache_in(screen).kept_weights());
            const KeptWeights& kept = *cache_in(screen).kept_weights();
            double sum = 0;
            for (Index key = 0; key <= 7; ++key) {
                const auto told = why(screen.visit, cache::cells::weight(7, key));
                REQUIRE(told);
                CHECK(told->masked == !kept.sees(7, key));
                CHECK(told->f32 == Catch::Approx(told->f64).margin(1e-6));
                sum += told->f64;
            }
            CHECK(sum == Catch::Approx(1));
            CHECK_FALSE(why(screen.visit, cache::cells::weight(9, 0)));
            CHECK_FALSE(why(screen.visit, cache::cells::key(0, 0)));
            const bool scored = state.eviction.policy >= EvictionPolicy::heavy_hitters;
            CHECK(static_cast<bool>(why(screen.visit, cache::cells::score(0))) == scored);
            if (state.eviction.policy != EvictionPolicy::heavy_hitters) continue;
            // A key that is still there has the sum that the policy uses.
            for (Index key = 0; key < 7; ++key) {
                double given = 0;
                for (Index query = key; query < 7; ++query)
                    if (kept.sees(query, key)) given += kept.given(query, key);
                check_why(screen, cache::cells::score(key), given, 1e-6);
            }
        }
    }
}

TEST_CASE("Cache's settings are in the link and in undo, and impossible ones are refused") {
    Screen screen;
    screen.open_sentence();
    show_cache(screen);
    screen.click("cache/part/eviction");
    screen.settle();
    screen.click("cache/policy/sinks + window");
    screen.settle();
    CHECK(cache_state(screen).eviction.policy == EvictionPolicy::sinks);
    screen.visit.undo();
    CHECK(cache_state(screen).eviction.policy == EvictionPolicy::heavy_hitters);
    const cache::State wanted{.part = cache::Part::bits,
                              .prompt = 2,
                              .written = 7,
                              .kv_heads = 1,
                              .window = 5,
                              .bits = 16,
                              .rounding = {8, 4},
                              .eviction = {EvictionPolicy::snapkv, 3, 2, 5, 7}};
    show_cache(screen, wanted);
    const std::string link = to_fragment(screen.visit.state());
    CHECK_THAT(link,
               ContainsSubstring("cache.part=bits&cache.prompt=2&cache.written=7&cache.bits=8&cache.group=4&"
                                 "cache.policy=snapkv&cache.budget=3&cache.sinks=2&cache.observed=5&"
                                 "cache.pooling=7&cache.kv_heads=1&cache.window=5&cache.against=16"));
    CHECK(parse_fragment(link).state == screen.visit.state());
    for (const cache::State& bad :
         {cache::State{.prompt = -1}, cache::State{.written = -1}, cache::State{.window = 2'000'000},
          cache::State{.kv_heads = -1}, cache::State{.bits = 5}, cache::State{.rounding = {32, 8}},
          cache::State{.rounding = {4, 1}}, cache::State{.eviction = {.budget = 0}},
          cache::State{.eviction = {.sinks = -1}}, cache::State{.eviction = {.observed = 0}},
          cache::State{.eviction = {.pooling = 4}}})
        CHECK_FALSE(apply(default_state(), Set<cache::State>{bad}));
    for (const char* bad :
         {"v=1&cache.part=all", "v=1&cache.policy=", "v=1&cache.bits=32", "v=1&cache.bits=x",
          "v=1&cache.budget=0", "v=1&cache.pooling=2", "v=1&cache.group=1", "v=1&cache.prompt=-1"})
        CHECK_FALSE(parse_fragment(bad).note.empty());
}

TEST_CASE("a changed run is decoded with its changes, but not if its query is shown a later key") {
    Screen screen;
    screen.open_sentence();
    const auto decoded = [&] { return cache_in(screen).shown.get(); };
    show_cache(screen, evicting(EvictionPolicy::heavy_hitters, 40));
    REQUIRE(decoded());
    const double p_before = decoded()->at(decoded()->tokens() - 1).choices.front().before;
    for (const Site site : {Site::head_output, Site::weight, Site::k, Site::mlp_output}) {
        CAPTURE(info(site).key);
        RunChange change{.at = {.site = site, .attention = 0}};
        if (is_of_heads(site)) change.at.head = 1;
        screen.visit.perform(ChangeRun{change});
        screen.settle();
        screen.settle();
        REQUIRE(decoded());
        CHECK(decoded()->trace()->interventions().size() == 1);
        const Index last = decoded()->tokens() - 1;
        CHECK(decoded()->at(last).divergence == 0);
        CHECK(decoded()->at(last).choices.front().before != p_before);
        // The explained contribution of a head is the changed run's.
        const HeadIndex head{0, 1};
        screen.visit.perform(Select{{0, 1, last, {}}});
        screen.settle();
        const Record& run = decoded()->trace()->layers()[0].attention;
        for (Index key = 0; key <= last; ++key) {
            const auto told = why(screen.visit, cache::cells::weight(last, key));
            REQUIRE(told);
            CHECK(std::abs(told->f64 - static_cast<double>(run.cell(Stage::weight, head.head, last, key))) <
                  1e-6);
            check_calculated(*told);
        }
        screen.visit.perform(DropChange{});
        screen.settle();
    }
    screen.visit.perform(
        ChangeRun{{.at = {.site = Site::mask, .attention = 0, .head = 1, .row = 3, .column = 4},
                   .operation = Operation::set,
                   .value = 1}});
    screen.settle();
    CHECK(spoken(screen.visit)
              .starts_with("A change of the mask in layer 0 shows a query a key that no cache holds for it"));
    CHECK(lens_in(screen.visit).tables(subject_in(screen.visit)).empty());
    screen.visit.perform(DropChange{});
    screen.settle();
    CHECK(spoken(screen.visit).starts_with("With at most 40 keys"));
    screen.write_words(1);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("There is only one token"));
    CHECK(screen.shows("cache/part/cost"));
}

TEST_CASE("steps are taken by hand, on a slider, by arrow keys and automatically") {
    Screen screen;
    screen.open_sentence(12);
    show_cache(screen, evicting(EvictionPolicy::sinks, 4, 5));
    const auto at = [&] { return cache_in(screen).query; };
    CHECK(at() == 11);
    screen.click("cache/back");
    screen.settle();
    CHECK(at() == 10);
    CHECK(screen.visit.state().selection.query == 10);
    screen.click("cache/forward");
    screen.settle();
    CHECK(at() == 11);
    // An arrow key goes to the next whole number, on short and long ranges.
    const auto step = [&](const char* slider, double steps) {
        screen.bring(slider);
        ui::ask({.kind = ui::Ask::Kind::step, .key = slider, .steps = steps});
        screen.draw(3);
        screen.settle();
    };
    step("cache/step", -1);
    CHECK(at() == 10);
    step("cache/step", -std::numeric_limits<double>::infinity());
    CHECK(at() == 5);
    step("cache/budget", 1);
    CHECK(cache_state(screen).eviction.budget == 5);
    step("cache/budget", -1);
    step("cache/budget", -1);
    CHECK(cache_state(screen).eviction.budget == 3);
    step("cache/prompt", 1);
    CHECK(cache_state(screen).prompt == 6);
    screen.click("cache/play");
    CHECK(cache_in(screen).walk);
    for (int i = 0; i < 4000 && cache_in(screen).walk; ++i) {
        screen.visit.work(2);
        screen.draw();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    CHECK_FALSE(cache_in(screen).walk);
    CHECK(at() == 11);
    // Below the window's edge.
    ui::ask({.kind = ui::Ask::Kind::press, .key = "cache/heads", .row = 0, .col = 1});
    screen.draw(3);
    CHECK(screen.visit.state().selection.layer == 0);
    CHECK(screen.visit.state().selection.head == 1);
    CHECK(screen.visit.state().pin == cache::cells::head(0, 1));
    // A newly opened lens starts at its top.
    screen.visit.perform(OpenLens{"layers"});
    screen.draw(2);
    screen.visit.perform(OpenLens{"cache"});
    screen.settle();
    screen.click("cache/preset/window");
    CHECK(screen.visit.state().lens == "cache");
    CHECK(sentence_of(screen.visit.state()).text == cache::story);
    CHECK_FALSE(sentence_of(screen.visit.state()).compared);
    CHECK(cache_state(screen) == cache::presets[1].state);
}

TEST_CASE("Cache's tables match what it shows, and a click on a picture pins the number it names") {
    Screen screen({1440, 2600});
    screen.open_sentence(10);
    for (const cache::State& state :
         {cache::State{}, in_bits(8), evicting(EvictionPolicy::heavy_hitters, 3)}) {
        show_cache(screen, state);
        check_pictures(screen);
        if (state.part == cache::Part::cost) {
            const Table bytes = table_shown(screen, "cache/variant");
            CHECK(bytes.values.at(0, 1) == bytes.values.at(0, 0) / 2);
            continue;
        }
        const CachedDecoding& decoding = *cache_in(screen).shown;
        CHECK(table_shown(screen, "cache-divergence").values.at(1, 0) == decoding.at(4).divergence);
        CHECK(table_shown(screen, "cache/heads").values.at(1, 2) ==
              (state.part == cache::Part::bits ? decoding.mean_moved({1, 2}) : decoding.mean_lost({1, 2})));
        screen.click("cache/choices/1");
        CHECK(screen.visit.state().pin == cache::cells::probability(1));
        if (state.part == cache::Part::bits) {
            screen.click("cache/value/1/3");
            CHECK(screen.visit.state().pin->is(cache::cells::value));
            CHECK(screen.visit.state().pin->own()->at[1] == 3);
            continue;
        }
        const Index last = cache_in(screen).query;
        const Table row = table_shown(screen, "cache/row"), kept = table_shown(screen, "cache/map");
        for (Index key = 0; key <= last; ++key)
            if (std::isfinite(row.values.at(key, 1)))
                CHECK(row.values.at(key, 1) == Catch::Approx(kept.values.at(last, key)).margin(1e-6));
        screen.click("cache/row/0/2");
        CHECK(screen.visit.state().pin == cache::cells::full_weight(last, 2));
    }
}

TEST_CASE("on a phone all of Cache is available") {
    Screen screen({390, 760});
    screen.open_sentence(10);
    for (const cache::State& state :
         {cache::State{}, in_bits(8), evicting(EvictionPolicy::heavy_hitters, 3)}) {
        show_cache(screen, state);
        CHECK(screen.shows(state.part == cache::Part::cost   ? "cache/variant/0/3"
                           : state.part == cache::Part::bits ? "cache/choices/0"
                                                             : "cache/map/picture"));
    }
}

TEST_CASE("the description of what a policy keeps includes the query's own key") {
    const auto told = [](EvictionPolicy policy, Index budget, Index sinks) {
        return cache::policy_text({policy, budget, sinks, 2, 3});
    };
    CHECK(told(EvictionPolicy::sinks, 4, 4) == "at most 4 keys, the first 3 and the query’s own");
    CHECK(told(EvictionPolicy::sinks, 5, 4) == "at most 5 keys, the first 4 and the query’s own");
    CHECK(told(EvictionPolicy::sinks, 6, 4) == "at most 6 keys, the first 4 and the newest");
    CHECK(told(EvictionPolicy::sinks, 1, 4) == "one key, the newest");
    CHECK(told(EvictionPolicy::heavy_hitters, 1, 4) == "one key, the newest");
    CHECK(told(EvictionPolicy::heavy_hitters, 2, 4) == "at most 2 keys, heavy hitters and the newest");
    // The rule as kept: the first query that sees only these keys.
    Eviction kept({EvictionPolicy::sinks, 4, 4, 2, 3}, 1, 0, 9);
    for (Index query = 0; query < 8; ++query) kept.add({});
    CHECK(kept.seen() == std::vector<Index>{0, 1, 2, 8});
}
