// Tests what is drawn beside the heads of a masked language model, with a mouse.
#include <catch_amalgamated.hpp>

#include "frame/palette.hpp"
#include "support/small_families.hpp"
#include "unit/app/calculated.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

void open_bert(Screen& screen) {
    const auto bert = std::ranges::find(small_families, std::string_view("bert"), &SmallFamily::name);
    const ModelFiles files = files_of(*bert);
    screen.page.special = {.mask = 4, .separator = 3, .all = {2, 3, 4}};
    screen.page.piece = [](std::int32_t id) {
        return id == 3 ? std::string("[SEP]") : id == 4 ? std::string("[MASK]") : "w" + std::to_string(id);
    };
    load_files(screen.visit, "tiny", as_opened(files));
}

void write(Screen& screen, const std::vector<std::int32_t>& ids, const std::string& text) {
    screen.visit.tokens({Box::first, text, ids, screen.page.ids_to_text(ids), std::ssize(ids)});
    screen.settle();
}

}  // namespace

TEST_CASE("a word is masked by a button, a token is written by a click, and nothing is generated") {
    Screen screen({1440, 1200});
    open_bert(screen);
    write(screen, {2, 7, 8, 3}, "w7 w8");
    for (const char* absent : {"next/step", "next/play", "next/temperature", "next/seed"})
        CHECK_FALSE(screen.shows(absent));
    screen.hover("next/0");
    screen.settle();
    screen.click("next/0");  // nothing is masked, so nothing is written
    CHECK(screen.page.written.empty());
    screen.click("token/1");
    screen.settle();
    screen.click("next/mask");
    CHECK(screen.page.written_over == Range{1, 2});
    CHECK(screen.page.written == std::vector<std::int32_t>{4});
    write(screen, {2, 4, 8, 3}, "[MASK] w8");
    CHECK_FALSE(screen.shows("next/mask"));  // the mask itself is chosen
    const Candidate likeliest = sentence_in(screen.visit).next_tokens().candidates.front();
    screen.click("next/0");
    CHECK(screen.page.written == std::vector{likeliest.id});
    CHECK(screen.page.appended.empty());
    screen.hover("next/1");
    const auto cell = screen.frame.explained_cell();
    REQUIRE(cell);
    CHECK(cell->is(Stage::probability));
    CHECK(cell->run()->col == sentence_in(screen.visit).next_tokens().candidates[1].id);
    // Beside a mask, another word can be masked, too.
    screen.click("token/2");
    screen.settle();
    CHECK(screen.shows("next/mask"));
    CHECK(sentence_in(screen.visit).run()->predicted() == 1);
}

TEST_CASE("a pair says so, and its tokens name their segments") {
    Screen screen;
    open_bert(screen);
    write(screen, {2, 7, 3, 8, 3}, "w7 [SEP] w8");
    CHECK(screen.shows("next/segments"));
    CHECK(sentence_in(screen.visit).run()->small_print(3) == "8 · B");
    for (const char* lens : {"gradient", "masks", "ladder", "compare"}) {
        INFO(lens);
        screen.visit.perform(OpenLens{lens});
        screen.settle();
    }
    CHECK(screen.page.notices.empty());
}

TEST_CASE("the palette masks the chosen word, in a masked language model") {
    Screen screen;
    open_bert(screen);
    write(screen, {2, 7, 8, 3}, "w7 w8");
    const auto masks = [&] { return found_in(palette_entries(screen.visit), "mask “", 10); };
    CHECK(masks().empty());  // no word is chosen
    screen.visit.perform(Select{{0, 0, 2, {}, {}}});
    const auto found = masks();
    REQUIRE(found.size() == 1);
    CHECK(found[0].label == "Mask “w8”");
    found[0].act(screen.visit);
    CHECK(screen.page.written_over == Range{2, 3});
    CHECK(screen.page.written == std::vector<std::int32_t>{4});
    screen.visit.perform(Select{{0, 0, 3, {}, {}}});
    CHECK(masks().empty());  // [SEP] is not a word
}

TEST_CASE("a token's experts are beside the heads, and each leads to its weight or its score") {
    Screen screen({1440, 1400});
    const auto mixtral = std::ranges::find(small_families, std::string_view("mixtral"), &SmallFamily::name);
    const ModelFiles files = files_of(*mixtral);
    load_files(screen.visit, "tiny", as_opened(files));
    write(screen, {2, 7, 8, 3}, "w7 w8");
    screen.visit.perform(Select{{1, 0, 2, {}, {}}});
    screen.settle();
    CHECK(screen.shows("card/experts"));
    const LayerTrace& layer = sentence_in(screen.visit).run()->run->layers()[1];
    double before = 0;
    for (Index bar = 0; bar < 4; ++bar) {
        screen.hover("experts/" + std::to_string(bar));
        const auto cell = screen.frame.explained_cell();
        REQUIRE(cell);
        // The token goes to the two experts with the highest scores.
        CHECK(cell->run()->stage == (bar < 2 ? Stage::expert_weight : Stage::router_score));
        CHECK(cell->run()->row == 2);
        const auto why = explained(screen.visit, *cell);
        REQUIRE(why);
        CHECK(why->f32 == Catch::Approx(why->f64).margin(1e-5));
        check_calculated(*why);
        double score = why->f64;
        if (bar < 2) {
            CHECK(why->f32 == static_cast<double>(layer.expert_weights.matrix()(2, cell->run()->col)));
            const auto& at = why->steps.front().at;
            REQUIRE(at);
            CHECK(at->cell ==
                  RunCell{Stage::router_score, 2,
                          static_cast<Index>(layer.chosen_experts.matrix()(2, cell->run()->col))});
            score = explained(screen.visit, at->cell)->f64;
        }
        if (bar > 0) CHECK(score <= before);
        before = score;
    }
    screen.click("experts/0");
    CHECK(screen.visit.state().pin->is(Stage::expert_weight));
}
