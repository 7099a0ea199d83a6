// Tests what Cache says a cache costs, in memory and in time.
#include <catch_amalgamated.hpp>

#include "unit/lenses/cache_shown.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

TEST_CASE("Cache's costs follow from the shape of the model") {
    for (const char* name : {"gpt2", "falcon_new", "gemma2"}) {
        CAPTURE(name);
        Screen screen;
        open_family(screen, name, 8);
        show_cache(screen,
                   {.prompt = 5, .written = 6, .kv_heads = 1, .window = 3, .bits = 8, .rounding = {4, 2}});
        const cache::Model& lens = cache_in(screen);
        Subject& subject = subject_in(screen.visit);
        const cache::Cost cost = lens.cost;
        const auto model = subject.attention()->trace()->model();
        const CacheShape shape = cache_shape(model->network(), model->config(), 0);
        const CacheShape other = with_window(with_kv_heads(shape, 1), 3);
        CHECK(cost.prompt == 5);
        CHECK(cost.written == 6);
        CHECK(cost.steps() == 7);
        for (const Index tokens : {0, 4, 11}) {
            check_why(screen, cache::cells::bytes(0, tokens), bytes_kept(shape, tokens, {}));
            check_why(screen, cache::cells::bytes(1, tokens), bytes_kept(other, tokens, {8, 2}));
        }
        check_why(screen, cache::cells::operations(0, 0), step_cost(shape, {0, 5}).total());
        check_why(screen, cache::cells::operations(0, 6), step_cost(shape, {10, 11}).total());
        check_why(screen, cache::cells::operations(1, 6), step_cost(shape, {0, 11}).total());
        const std::vector<Index> offered = lens.kv_heads_offered();
        CHECK(offered.front() == model->config().heads);
        CHECK(offered.back() == 1);
        for (Index r = 0; r < std::ssize(offered); ++r)
            check_why(screen, cache::cells::variant(r, 3),
                      bytes_kept(with_window(with_kv_heads(shape, offered[static_cast<std::size_t>(r)]), 3),
                                 11, {4, 2}));
        for (const CellRef& none :
             {cache::cells::operations(0, 7), cache::cells::time(), cache::cells::variant(9, 0),
              cache::cells::variant(0, 4), cache::cells::divergence(3)})
            CHECK_FALSE(why(screen.visit, none));
        const auto tables = lens_in(screen.visit).tables(subject);
        REQUIRE(tables.size() == 2);
        CHECK(tables[0].values.at(0, 0) ==
              bytes_kept(with_window(with_kv_heads(shape, offered.front()), 3), 11, {}));
        CHECK(tables[1].values.at(6, 3) == step_cost(shape, {10, 11}).total());
        // A cell compares another cache.
        screen.click("cache/variant/0/1");
        screen.settle();
        CHECK(cache_state(screen).bits == 16);
        CHECK(cache_state(screen).kv_heads ==
              (model->config().kv_heads == model->config().heads ? 0 : model->config().heads));
    }
}

TEST_CASE("a full pass and a step of decoding are timed on this page") {
    Screen screen;
    open_family(screen, "llama", 9);
    show_cache(screen);
    screen.click("cache/measure");
    screen.settle();
    REQUIRE(cache_in(screen).race);
    CHECK(cache_in(screen).race->done());
    CHECK(cache_in(screen).race->passes() >= 1);
    CHECK(screen.shows("cache/measured"));
    check_why(screen, cache::cells::time(), cache_in(screen).race->ratio());
}
