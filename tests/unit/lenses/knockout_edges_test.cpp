// Tests what Knock-out says about edges.
#include <catch_amalgamated.hpp>
#include <cmath>

#include "support/translator.hpp"
#include "unit/lenses/knockout_by_hand.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

TEST_CASE("an edge's effect matches a run that does not see it, and the estimates state their error") {
    for (const char* name : {"gpt2", "bert"})
        for (const Index query : {5, 2}) {
            CAPTURE(name, query);
            Screen screen;
            open_family(screen, name);
            screen.visit.perform(Select{{1, 1, query, {}, {}}});
            show_knockout(screen, {.part = knockout::Part::edges});
            const knockout::Model& lens = knockout_in(screen.visit);
            REQUIRE(lens.cuts());
            REQUIRE(lens.head_cuts());
            const auto cut = [&](Index from, Index key) {
                return moved_by_hand(*lens.target, {.attention = 1,
                                                    .site = Site::mask,
                                                    .edit = {.head = 1, .rows = {from}, .columns = {key}}});
            };
            CHECK(std::ssize(lens.cuts()->keys()) == (name == std::string_view("bert") ? 6 : query + 1));
            // When edges of the last query are cut together, sums are added in another order.
            for (const Index key : lens.cuts()->keys())
                CHECK(*lens.cuts()->logit_drop(key) == Catch::Approx(-cut(query, key)).margin(1e-4));
            const auto& strongest = lens.head_cuts()->estimates().strongest();
            REQUIRE(lens.head_cuts()->off());
            double worst = 0;
            for (std::size_t i = 0; i < strongest.size(); ++i) {
                const double exact = lens.head_cuts()->exact()[i];
                CHECK(exact == Catch::Approx(cut(strongest[i].query, strongest[i].key)).margin(1e-12));
                worst = std::max(worst, std::abs(exact - strongest[i].effect));
            }
            CHECK(lens.head_cuts()->off()->worst == worst);
            CHECK(lens.head_cuts()->off()->median <= worst);
        }
}

TEST_CASE("edges of an encoder–decoder are cut, and its tokens patched, in each of its three attentions") {
    for (const SmallFamily& family : small_encoder_decoders) {
        CAPTURE(family.name);
        Screen screen;
        open_encoder_decoder(screen.visit, family, {5, 9, 13, 7, 1}, {4, 11, 6, 8});
        screen.visit.perform(Compare{Comparison{.text = "other", .written = "others"}});
        for (const auto& [box, text, ids] :
             {std::tuple{Box::third, "other", std::vector<std::int32_t>{5, 9, 12, 7, 1}},
              std::tuple{Box::fourth, "others", std::vector<std::int32_t>{4, 11, 6, 8}}})
            screen.visit.tokens({box, text, ids, std::vector<std::string>(ids.size(), "w"), std::ssize(ids)});
        show_knockout(screen);
        const knockout::Model& lens = knockout_in(screen.visit);
        const Index last = sentence_in(screen.visit).run()->run->attentions() - 1;
        for (const Index layer : {Index{0}, last / 2, last}) {
            CAPTURE(layer);
            screen.visit.perform(Select{{layer, 1, 2, {}, {}}});
            show_knockout(screen, {.part = knockout::Part::edges});
            REQUIRE(lens.target);
            REQUIRE(lens.cuts());
            CHECK_FALSE(lens.cuts()->keys().empty());
            for (const Index key : lens.cuts()->keys())
                CHECK(*lens.cuts()->logit_drop(key) ==
                      Catch::Approx(
                          -moved_by_hand(*lens.target, {.attention = layer,
                                                        .site = Site::mask,
                                                        .edit = {.head = 1, .rows = {2}, .columns = {key}}}))
                          .margin(1e-12));
            REQUIRE(lens.head_cuts());
            CHECK(lens.head_cuts()->off());
            show_knockout(screen, {.part = knockout::Part::patching});
            INFO(spoken(screen.visit));
            REQUIRE(lens.patches());
            const auto twin = second_of(subject_in(screen.visit))->trace();
            const Intervention change{.attention = layer,
                                      .site = Site::resid_pre,
                                      .edit = {.rows = {2}, .operation = Operation::patch},
                                      .from = {twin}};
            REQUIRE(lens.patches()->moved(layer, 2));
            CHECK(*lens.patches()->moved(layer, 2) ==
                  Catch::Approx(moved_by_hand(*lens.target, change)).margin(1e-12));
        }
    }
}
