// Tests lens Translation: which heads it shows together, what it says about a word, and what a person can do
// with it.
#include "lenses/translation/translation.hpp"

#include <catch_amalgamated.hpp>

#include "analysis/heads/strongest_weights.hpp"
#include "subjects/translation_presets.hpp"
#include "support/translator.hpp"
#include "unit/frame/pictures.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

struct Opened {
    Screen screen;
    explicit Opened(ImVec2 size = {1440, 846}) : screen(size) {
        open_translator(screen.visit, screen.page);
        screen.visit.perform(OpenLens{"translation"});
        screen.settle();
    }
    TextRun& cross() { return sentence_in(screen.visit).run()->of(5); }
    std::string spoken() { return lens_in(screen.visit).spoken(subject_in(screen.visit)); }
    const State& state() const { return screen.visit.state(); }
    // The page answers with the tokens of the texts in the boxes.
    void split() {
        split_boxes(screen.visit, screen.page);
        screen.settle();
    }
};

}  // namespace

TEST_CASE("a word's sentence and arcs belong to the row that writes it") {
    Opened opened;
    // The French word “chat” is written by the row of “Le”, which attends to “cat”.
    opened.screen.click("translation/written/1");
    CHECK(opened.state().selection == Selection{5, 2, 1, {}, {}});
    const Record& record = opened.cross().record_at(5);
    const std::vector<float> row = record.weights(2, 1);
    const auto most = std::ranges::max_element(row);
    CHECK(most - row.begin() == 1);
    CHECK(opened.spoken() ==
          "Writing “chat”, cross 1 · head 2 looks at “cat” (" + percent(static_cast<double>(*most)) + ").");
    CHECK(opened.state().pin == RunCell{Stage::weight, 1, 1});
    const auto why = explained(opened.screen.visit, *opened.state().pin);
    REQUIRE(why);
    CHECK(why->f32 == static_cast<double>(*most));
    CHECK(why->title == "Weights[\"·Le\", \"·cat\"]");
    // A word that was read is a key, and its strongest row is pinned.
    opened.screen.click("translation/read/5");
    CHECK(opened.state().selection.key == 5);
    CHECK_FALSE(opened.state().selection.query);
    REQUIRE(opened.state().pin);
    for (Index i = 0; i < record.queries(); ++i)
        CHECK(record.cell(Stage::weight, 2, i, 5) <=
              record.cell(Stage::weight, 2, opened.state().pin->run()->row, 5));
}

TEST_CASE("the last word is the most likely next one") {
    Opened opened;
    const auto words = translation::words_written(opened.cross().of(2), subject_in(opened.screen.visit));
    REQUIRE(std::ssize(words) == opened.cross().tokens());
    CHECK(words.front() == "Le");
    CHECK(words.back() == "</s>");
    const Record& record = opened.cross().record_at(5);
    int single = 0;
    for (Index i = 0; i < record.queries(); ++i) single += std::ranges::max(record.weights(2, i)) >= 0.5f;
    CHECK(opened.spoken() ==
          "In " + std::to_string(single) +
              " of 10 rows, cross 1 · head 2 puts most of its attention on a single word.");
    opened.screen.visit.perform(Select{{5, 2, 9, {}, {}}});
    CHECK(opened.spoken().starts_with("Writing “</s>”, cross 1 · head 2 look"));
}

TEST_CASE("a head's certainty is the mean of its rows' strongest weights, summed again in double") {
    Opened opened;
    const Record& record = opened.cross().record_at(4);
    double sum = 0;
    for (Index i = 0; i < record.queries(); ++i)
        sum += static_cast<double>(std::ranges::max(record.weights(3, i)));
    CHECK(mean_strongest(record, 3) ==
          Catch::Approx(sum / static_cast<double>(record.queries())).epsilon(1e-14));
    const auto why =
        lens_in(opened.screen.visit)
            .explain(subject_in(opened.screen.visit), {{4, 3}, translation::cells::confidence(0, 3)});
    REQUIRE(why);
    // Each weight is f32, computed from sums of at most 32 products.
    CHECK(why->f64 == Catch::Approx(mean_strongest(record, 3)).margin(1e-5));
    CHECK(std::ssize(why->operands) == record.queries());
    CHECK(why->note.find("27 % of the words") != std::string::npos);
    CHECK_FALSE(
        lens_in(opened.screen.visit)
            .explain(subject_in(opened.screen.visit), {{4, 3}, translation::cells::confidence(2, 0)}));
}

TEST_CASE("its pictures are tables, too, and a click on a bar pins the number it names") {
    Opened opened({1440, 2600});
    check_pictures(opened.screen);
    const std::vector<float> row = opened.cross().record_at(5).weights(2, 1);
    const Table lines = table_shown(opened.screen, "translation/lines"),
                map = table_shown(opened.screen, "translation/map/cross");
    CHECK(lines.row_labels[1] == "chat");
    for (std::size_t key = 0; key < row.size(); ++key) {
        CHECK(lines.values.at(1, static_cast<Index>(key)) == static_cast<double>(row[key]));
        CHECK(map.values.at(1, static_cast<Index>(key)) == Catch::Approx(row[key]).margin(1e-6));
    }
    opened.screen.click("translation/heads/1");
    CHECK(opened.state().pin == translation::cells::confidence(0, 1));
    CHECK(opened.state().selection.head == 1);
}

TEST_CASE("its first tables are the three maps, the chosen one first") {
    Opened opened;
    const auto read = [&] { return lens_in(opened.screen.visit).tables(subject_in(opened.screen.visit)); };
    auto tables = read();
    REQUIRE(tables.size() == 3);
    CHECK(tables[0].title == "Weights of cross 1, head 2");
    CHECK(tables[1].title == "Weights of decoder 1, head 2");
    CHECK(tables[2].title == "Weights of encoder 1, head 2");
    CHECK(tables[0].columns.back() == "</s>");
    CHECK(tables[0].row_labels.front() == "<pad>");
    CHECK(tables[1].values.at(0, 1) == 0);  // masked
    CHECK(tables[2].values.at(0, 1) > 0);
    opened.screen.visit.perform(Select{{0, 1, {}, {}, {}}});
    tables = read();
    CHECK(tables[0].title == "Weights of encoder 0, head 1");
}

TEST_CASE("presets set both texts, steppers go through layers and heads, and Play writes") {
    Opened opened;
    opened.screen.click("translation/preset/agreement");
    CHECK(opened.screen.page.box == translation_presets[2].english);
    CHECK(opened.screen.page.second == translation_presets[2].french);
    opened.split();
    CHECK(opened.cross().tokens() == std::ssize(translator_ids(translation_presets[2].french)) + 1);
    opened.screen.click("translation/head/more");
    CHECK(opened.state().selection.head == 3);
    opened.screen.click("translation/layer/less");
    CHECK(opened.state().selection.layer == 4);
    opened.screen.click("translation/play");
    CHECK(opened.screen.page.second == "");
    split(opened.screen.visit, Box::second, "");
    finish(opened.screen.visit);
    CHECK(sentence_in(opened.screen.visit).playing());
    CHECK(opened.spoken().starts_with("Writing “La”, cross 0 · head 3 look"));
    opened.screen.click("translation/play");
    CHECK_FALSE(sentence_in(opened.screen.visit).playing());
}

TEST_CASE(
    "on a phone the two lines are two columns, and a subject without an encoder–decoder leads to the "
    "translator") {
    Opened opened({390, 760});
    const Rect first = rect("translation/read/0"), second = rect("translation/read/1"),
               to = rect("translation/written/0");
    CHECK(first.bottom <= second.top);
    CHECK(to.left > first.right);
    Screen screen;
    screen.page.bundled = {"translator"};
    screen.visit.perform(OpenLens{"translation"});
    screen.settle();
    CHECK(
        lens_in(screen.visit).missing(subject_in(screen.visit))->sentence.ends_with("reads one text alone."));
    screen.click("missing/offer");
    CHECK(screen.visit.state().lens == "translation");
    CHECK(screen.visit.state().subject == "sentence");
    open_awaited_translator(screen.visit, screen.page);
    screen.settle();
    CHECK(screen.shows("translation/written/0"));
    CHECK(screen.visit.state().selection.layer == 5);
    CHECK(screen.page.notices.empty());
}
