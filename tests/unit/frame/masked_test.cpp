// Tests what is drawn beside the heads of a masked language model, with a mouse.
#include <catch_amalgamated.hpp>

#include "support/small_families.hpp"
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
    load_files(screen.visit, "tiny",
               {{"config.json", files.config}, {"model.safetensors", files.weights.begin()->second}});
}

void write(Screen& screen, const std::vector<std::int32_t>& ids, const std::string& text) {
    screen.visit.tokens({Box::first, text, ids, screen.page.ids_to_text(ids), std::ssize(ids)});
    screen.settle();
}

}  // namespace

TEST_CASE("a word is masked by a button, a token is written by a click, and nothing is generated") {
    Screen screen;
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
    CHECK(cell->stage == Stage::probability);
    CHECK(cell->col == sentence_in(screen.visit).next_tokens().candidates[1].id);
    // Beside a mask, another word can be masked, too.
    screen.click("token/2");
    screen.settle();
    CHECK(screen.shows("next/mask"));
    CHECK(sentence_in(screen.visit).run()->predicted() == 1);
}

TEST_CASE("a pair says so, and its tokens say of which segment they are") {
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
