#include "lenses/examples/examples.hpp"

#include "app/link.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

examples::Model& examples_in(Screen& screen) {
    return static_cast<ModelLens<examples::Model>&>(screen.visit.lens("examples")).model();
}

}  // namespace

TEST_CASE("examples of a head explain each of their measures from a run of their text") {
    Screen screen({1440, 1600});
    screen.open_sentence();
    show_lens(screen, "examples", Set<examples::State>{{.texts = 30}});
    const examples::Model& model = examples_in(screen);
    REQUIRE(model.search);
    CHECK(model.search->done());
    CHECK(std::ssize(model.search->texts()) == 30);
    for (const examples::List list :
         {examples::List::strongest, examples::List::deciles, examples::List::random}) {
        REQUIRE(model.list(list).size() >= 9);
        for (const ExampleMeasure by :
             {ExampleMeasure::weight, ExampleMeasure::written, ExampleMeasure::effect}) {
            screen.visit.perform(Set<examples::State>{{.by = by, .texts = 30}});
            screen.settle();
            const auto& pairs = model.list(list);
            for (std::size_t rank = 0; rank < pairs.size(); rank += 3) {
                const HeadExample& pair = pairs[rank];
                const CellRef cell = examples::cells::pair(pair.text, pair.query, pair.key);
                CHECK(check_told(screen, cell).f32 == static_cast<double>(pair.value(by)));
            }
        }
    }
    for (const CellRef& none : {examples::cells::pair(30, 1, 0), examples::cells::pair(0, 1'000, 0),
                                examples::cells::pair(0, 1, 1'000), examples::cells::pair(0, 1, 2)})
        CHECK_FALSE(why(screen.visit, none));
    CHECK(spoken(screen.visit).starts_with("It fires most where “"));
    CHECK(table_of(screen, "Strongest").values.cols == 3);
    CHECK(table_of(screen, "At each decile").values.rows == 9);
}

TEST_CASE("more texts are read on request, and fewer begin anew with the choice of others") {
    Screen screen;
    screen.open_sentence();
    show_lens(screen, "examples", Set<examples::State>{{.texts = 5}});
    const std::uint64_t version = examples_in(screen).search->version();
    CHECK(std::ssize(examples_in(screen).search->texts()) == 5);
    screen.visit.perform(Set<examples::State>{{.by = ExampleMeasure::weight, .texts = 9}});
    screen.settle();
    CHECK(std::ssize(examples_in(screen).search->texts()) == 9);
    CHECK(examples_in(screen).search->version() == version);
    screen.visit.perform(SetCorpus{{.own = "", .seed = 4}});
    screen.settle();
    CHECK(std::ssize(examples_in(screen).search->texts()) == 9);
    CHECK(examples_in(screen).search->version() != version);
    // Texts of one's own end where they end; an empty line is none.
    screen.visit.perform(SetCorpus{{.own = "one two\n\nthree four five"}});
    screen.settle();
    CHECK(std::ssize(examples_in(screen).search->texts()) == 2);
    CHECK(examples_in(screen).search->done());
}

TEST_CASE("a search ends over texts that the model cannot read") {
    const auto model = small_model(small_families.front());
    for (const std::vector<std::int32_t>& ids : {std::vector<std::int32_t>{}, {1, 1'000'000}}) {
        const auto next = [&] {
            return std::optional(SplitText{.ids = ids, .pieces = {ids.size(), "a"}, .text = "a"});
        };
        ExampleSearch search(model, next, 1);
        search.read(50);
        int steps = 0;
        while (search.step()) ++steps;
        CHECK(steps < 50);
        CHECK(search.done());
        CHECK(search.progress() == 1);
        CHECK(search.texts().empty());
    }
}

TEST_CASE("a click on an example opens its text with the head and the two words") {
    Screen screen({1440, 1600});
    screen.open_sentence();
    screen.visit.perform(Select{{.layer = 1, .head = 2, .query = {}, .key = {}}});
    show_lens(screen, "examples", Set<examples::State>{{.texts = 6}});
    const examples::Model& model = examples_in(screen);
    const HeadExample pair = model.list(examples::List::strongest)[1];
    const std::string text = model.text_of(pair).text;
    screen.click("examples/strongest/1/number");
    CHECK(screen.visit.state().pin == examples::cells::pair(pair.text, pair.query, pair.key));
    CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());
    screen.click("examples/strongest/1");
    CHECK(sentence_of(screen.visit.state()).text == text);
    CHECK(screen.visit.state().lens == "overview");
    CHECK(screen.visit.state().selection.query == pair.query);
    CHECK(screen.visit.state().selection.key == pair.key);
    CHECK(screen.visit.state().selection.head == 2);
    CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());
}
