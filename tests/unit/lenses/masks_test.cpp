#include "lenses/masks/masks.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/format.hpp"
#include "app/link.hpp"
#include "attention/explain.hpp"
#include "attention/mask_presets.hpp"
#include "support/this_build.hpp"
#include "unit/app/support.hpp"
#include "unit/frame/screen.hpp"
#include "unit/lenses/masks_screen.hpp"
#include "widgets/map_stroke.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

TEST_CASE("Masks works for every subject and says what the mask keeps") {
    Screen screen;
    screen.open_sentence(6);
    screen.train_some();
    for (const SubjectEntry& subject : subject_list()) {
        screen.visit.perform(OpenSubject{subject.key});
        open_masks(screen);
        if (!subject_in(screen.visit).attention()) continue;
        INFO(subject.key);
        CHECK(screen.shows("masks/map"));
        CHECK(screen.shows("masks/counted"));
        const Index n = subject_in(screen.visit).attention()->queries();
        CHECK(masks_in(screen).counting->counts().kept_cells == n * (n + 1) / 2);
    }
    screen.visit.perform(OpenSubject{sentence_subject});
    screen.settle();
    CHECK(spoken(screen.visit) == "This mask keeps 21 of 36 cells (58 %), and every query has a key.");
    screen.visit.perform(Set<masks::State>{{.shift = -1}});
    screen.settle();
    CHECK(spoken(screen.visit) == "This mask keeps 15 of 36 cells (42 %), and 1 query has no key.");
    screen.visit.perform(Set<masks::State>{{.mask = Mask::padding(0)}});
    screen.settle();
    CHECK(spoken(screen.visit) == "This mask keeps 0 of 36 cells (0 %), and 6 queries have no key.");
}

TEST_CASE("a mask is in the link and in undo, with its size, its shift and the model") {
    const State first = default_state();
    const masks::State all{Mask::causal() & (Mask::padding(4) | !Mask::window(15, 0)), 4096, -1, true};
    const State state = after(first, Set<masks::State>{all});
    const std::string link = to_fragment(state);
    CHECK(parse_fragment(link).state == state);
    CHECK(parse_fragment(link).note.empty());
    CHECK(to_fragment(after(state, Set<masks::State>{masks::State{}})) == to_fragment(first));
    CellRegion cells;
    cells.add({4096, 8192}, {0, 128});
    const State painted =
        after(first, Set<masks::State>{{.mask = with_cells(Mask::strided(3), cells, false), .size = 16'384}});
    CHECK(parse_fragment(to_fragment(painted)).state == painted);
    CHECK(refusal(first, Set<masks::State>{{.size = 20'000}}) ==
          "The number of queries and keys must be from 0 to 16,384.");
    CHECK(refusal(first, Set<masks::State>{{.size = -1}}) ==
          "The number of queries and keys must be from 0 to 16,384.");
    CHECK(refusal(first, Set<masks::State>{{.shift = 2}}) == "The shift must be from -1 to 1.");
    Mask deep;
    for (int i = 0; i < 60; ++i) deep = !deep;
    CHECK(refusal(first, Set<masks::State>{{.mask = deep}}).ends_with("use fewer brackets"));
    for (const char* wrong :
         {"v=1&masks.mask=causal", "v=1&masks.n=16385", "v=1&masks.off=2", "v=1&masks.run=0"}) {
        INFO(wrong);
        CHECK_FALSE(parse_fragment(wrong).note.empty());
        CHECK(parse_fragment(wrong).state == first);
    }
}

TEST_CASE("the mask is chosen, typed, composed and painted") {
    Screen screen;
    screen.open_sentence(6);
    open_masks(screen);
    screen.click("masks/preset/window of 16");
    CHECK(tried(screen).mask == Mask::window(15, 0));
    screen.visit.undo();
    CHECK(tried(screen).mask == Mask::causal());
    screen.settle();

    screen.click("masks/text");
    screen.press(ImGuiKey_End);
    screen.type(" & padding(3");
    CHECK(screen.shows("masks/fault"));
    CHECK(tried(screen).mask == Mask::causal());
    screen.type(")");
    CHECK_FALSE(screen.shows("masks/fault"));
    CHECK(tried(screen).mask == (Mask::causal() & Mask::padding(3)));
    screen.press(ImGuiKey_Enter);
    screen.visit.undo();
    CHECK(tried(screen).mask == Mask::causal());
    screen.visit.redo();
    screen.settle();

    screen.click("masks/term/1/keys/more");
    CHECK(tried(screen).mask == (Mask::causal() & Mask::padding(4)));
    screen.settle();
    screen.click("masks/term/0");
    CHECK(tried(screen).mask == (!Mask::causal() & Mask::padding(4)));
    screen.settle();
    screen.click("masks/join/or");
    CHECK(tried(screen).mask == (!Mask::causal() | Mask::padding(4)));
    screen.settle();
    screen.click("masks/term/0/remove");
    CHECK(tried(screen).mask == Mask::padding(4));
    screen.settle();
    screen.click("masks/add");
    screen.draw(3);
    screen.click("masks/add/strided");
    CHECK(tried(screen).mask == (Mask::padding(4) | Mask::strided(4)));
    screen.settle();

    screen.click("masks/paint");
    screen.draw(2);
    screen.click("masks/map/1/5");
    CellRegion cell;
    cell.add({1, 2}, {5, 6});
    CHECK(tried(screen).mask == ((Mask::padding(4) | Mask::strided(4)) & !Mask::cells(cell)));
}

TEST_CASE("choosing a preset does not move the size controls, whatever terms it has") {
    Screen screen;
    screen.open_sentence(6);
    open_masks(screen);
    screen.click("more/masks/try");
    const Rect size = rect("masks/size/any n");
    for (const MaskPreset& preset : mask_presets()) {
        const std::string landmark = std::string("masks/preset/") + preset.name;
        INFO(landmark);
        const Rect before = rect(landmark);
        screen.click(landmark);
        screen.settle();
        CHECK(rect(landmark).top == before.top);
        CHECK(rect("masks/size/any n").top == size.top);
    }
}

TEST_CASE("terms in brackets are changed, added and dissolved by their chips") {
    Screen screen;
    screen.open_sentence(6);
    const Mask causal = Mask::causal(), window = Mask::window(2, 0), padding = Mask::padding(1),
               strided = Mask::strided(2);
    open_masks(screen, {.mask = causal & !(padding | (window & strided))});
    const auto mask_after = [&](const char* clicked) {
        screen.click(clicked);
        screen.settle();
        return tried(screen).mask;
    };
    CHECK(mask_after("masks/term/1/1/0/back/less") == (causal & !(padding | (Mask::window(1, 0) & strided))));
    CHECK(mask_after("masks/term/1/1/1") == (causal & !(padding | (Mask::window(1, 0) & !strided))));
    CHECK(mask_after("masks/term/1/not") == (causal & (padding | (Mask::window(1, 0) & !strided))));
    CHECK(mask_after("masks/term/1/1/0/remove") == (causal & (padding | !strided)));
    CHECK(mask_after("masks/term/1/0/keys/more") == (causal & (Mask::padding(2) | !strided)));
    screen.click("masks/term/1/add");
    screen.draw(3);
    CHECK(mask_after("masks/term/1/add/causal") == (causal & (Mask::padding(2) | !strided | causal)));
    CHECK(mask_after("masks/term/1/2/remove") == (causal & (Mask::padding(2) | !strided)));
    screen.click("masks/term/1/1/brackets");
    screen.draw(3);
    CHECK(mask_after("masks/term/1/1/brackets/and window") ==
          (causal & (Mask::padding(2) | (!strided & Mask::window(15, 0)))));
    CHECK(mask_after("masks/term/1/dissolve") ==
          (causal & Mask::padding(2) & !strided & Mask::window(15, 0)));
    screen.click("masks/term/0/brackets");
    screen.draw(3);
    CHECK(mask_after("masks/term/0/brackets/or the next term") ==
          ((causal | Mask::padding(2)) & !strided & Mask::window(15, 0)));
    CHECK(mask_after("masks/term/0/join/and") ==
          (causal & Mask::padding(2) & !strided & Mask::window(15, 0)));
    screen.visit.undo();
    screen.settle();
    CHECK(mask_after("masks/term/0/remove") == (!strided & Mask::window(15, 0)));
}

TEST_CASE("the deepest mask that can be typed fits into a narrow window, every chip within it") {
    Screen screen({390, 844});
    screen.open_sentence(6);
    std::string text = "padding(2)", name = "masks/term";
    int deep = 0;
    for (; deep < 31; ++deep)
        text = (deep % 2 ? "causal(0) | (" : "window(3,0) & (") + text + (deep % 2 ? ") " : ")");
    // Brackets around one term are dropped, and so are the innermost.
    const auto mask = Mask::parse(text);
    REQUIRE(mask);
    open_masks(screen, {.mask = *mask});
    screen.click("settings");
    for (int i = 1; i < deep; ++i) name += "/1";
    REQUIRE(screen.shows(name + "/1"));
    const Rect in = rect("panel/lens");
    for (const std::string& each : {name + "/1", name + "/1/keys/more", name + "/0/remove", name + "/add"}) {
        INFO(each);
        CHECK(rect(each).left >= in.left);
        CHECK(rect(each).right <= in.right);
    }
    screen.click("settings");
    const std::string brackets(10'000, '(');
    CHECK_FALSE(Mask::parse(brackets + "causal(0)" + std::string(10'000, ')')));
}

TEST_CASE("a stroke covers every square between its ends, and few others") {
    const auto squares = ui::stroke_squares({3, 1}, {0, 5}, 1);
    REQUIRE(squares.size() == 5);
    CHECK(squares.front().queries.begin == 3);
    CHECK(squares.back().keys.begin == 5);
    for (std::size_t i = 1; i < squares.size(); ++i) {
        CHECK(std::abs(squares[i].queries.begin - squares[i - 1].queries.begin) <= 1);
        CHECK(squares[i].keys.begin == squares[i - 1].keys.begin + 1);
    }
    CHECK(ui::stroke_squares({0, 0}, {16'383, 16'383}, 128).size() == 128);
    CHECK(ui::stroke_squares({7, 7}, {7, 7}, 4).size() == 1);
    CHECK(ui::stroke_squares({7, 7}, {7, 7}, 4)[0].queries == Range{4, 8});
}

TEST_CASE("a drag paints all cells like the first, in one undo step") {
    Screen screen;
    screen.open_sentence(6);
    open_masks(screen);
    screen.click("masks/paint");
    screen.draw(2);
    const auto drag = [&](const std::string& from, const std::string& to) {
        screen.hover(from);
        const ImVec2 end = screen.middle(to);
        ImGui::GetIO().AddMouseButtonEvent(0, true);
        screen.draw();
        ImGui::GetIO().AddMousePosEvent(end.x, end.y);
        screen.draw(2);
        ImGui::GetIO().AddMouseButtonEvent(0, false);
        screen.settle();
    };
    // Query 0 hides keys 2 to 5 under a causal mask; query 0 itself sees only key 0.
    drag("masks/map/0/2", "masks/map/0/5");
    for (Index k = 0; k < 6; ++k) CHECK(tried(screen).mask.allows(0, 0, k) == (k != 1));
    drag("masks/map/5/0", "masks/map/0/5");
    for (Index i = 0; i < 6; ++i) CHECK_FALSE(tried(screen).mask.allows(0, 5 - i, i));
    CHECK(tried(screen).mask.allows(0, 0, 4));
    const State painted = screen.visit.state();
    CHECK(parse_fragment(to_fragment(painted)).state.of<masks::State>() == painted.of<masks::State>());
    screen.visit.undo();
    for (Index k = 0; k < 6; ++k) CHECK(tried(screen).mask.allows(0, 0, k) == (k != 1));
    screen.visit.undo();
    CHECK(tried(screen).mask == Mask::causal());
    CHECK_FALSE(screen.visit.state().pin);
    screen.settle();
    // A large map is painted square by square, at the end of the stroke.
    const Index size = test::sanitized ? 4'096 : masks::size_limit;
    screen.visit.perform(Set<masks::State>{{.mask = Mask(), .size = size}});
    screen.settle();
    const Rect map = rect("masks/map");
    ImGui::GetIO().AddMousePosEvent(map.left + 2, map.top + 2);
    screen.draw();
    ImGui::GetIO().AddMouseButtonEvent(0, true);
    screen.draw();
    ImGui::GetIO().AddMousePosEvent(map.right - 2, map.bottom - 2);
    screen.draw(2);
    CHECK(tried(screen).mask.is_everything());
    ImGui::GetIO().AddMouseButtonEvent(0, false);
    screen.settle();
    const Index some = size / 3;
    CHECK_FALSE(tried(screen).mask.allows(0, some, some));
    CHECK(tried(screen).mask.allows(0, some, 2 * some));
    const std::int64_t hidden =
        static_cast<std::int64_t>(size) * size - masks_in(screen).counting->counts().kept_cells;
    CHECK(hidden % size == 0);  // squares along the whole diagonal
    CHECK(hidden <= 256LL * size);
    CHECK(to_fragment(screen.visit.state()).find("cells") != std::string::npos);
    screen.visit.undo();
    CHECK(tried(screen).mask.is_everything());
}

TEST_CASE("a text that is too long is refused") {
    Screen screen;
    screen.open_sentence(6);
    open_masks(screen);
    screen.click("masks/text");
    screen.press(ImGuiKey_End);
    screen.type(std::string(41'000, ' ').c_str());
    CHECK(screen.shows("masks/fault"));
    CHECK(tried(screen).mask == Mask::causal());
    screen.type(" | padding(2)");
    CHECK(tried(screen).mask == (Mask::causal() | Mask::padding(2)));
}

TEST_CASE("a mask of 16,384 queries is counted and drawn in slices") {
    Screen screen;
    screen.open_sentence(6);
    const Index size = test::sanitized ? 4'096 : masks::size_limit;
    open_masks(screen, {.mask = Mask::causal() & Mask::window(1023, 0), .size = size});
    const MaskCounts& counts = masks_in(screen).counting->counts();
    CHECK(counts.kept_cells == 1024LL * size - 1023 * 1024 / 2);
    // A tile of 48 by 64 that the band of 1,024 keys does not touch is skipped.
    CHECK(counts.skipped > counts.tiles - counts.tiles * 6 / 5 * 1024 / size);
    CHECK(screen.shows("masks/map/complete"));
    screen.click("masks/size/these tokens");
    CHECK(tried(screen).size == 0);
}

TEST_CASE("the numbers of Masks explain themselves") {
    Screen screen;
    screen.open_sentence(6);
    screen.visit.perform(Select{{1, 2, {}, {}, {}}});
    open_masks(screen, {.mask = Mask::window(1, 0)});
    const Record& record = sentence_in(screen.visit).run()->record_at(1);

    const auto hidden = why(screen.visit, masks::cells::mask(4, 1));
    REQUIRE(hidden);
    CHECK(hidden->f64 == 0);
    CHECK(hidden->title == "Mask[\"word4\", \"word1\"]");
    CHECK(hidden->steps.back().value == fixed(static_cast<double>(record.cell(Stage::weight, 2, 4, 1)), 4));
    CHECK(why(screen.visit, masks::cells::mask(4, 3))->f64 == 1);
    CHECK_FALSE(why(screen.visit, masks::cells::mask(6, 0)));

    const auto kept = why(screen.visit, masks::cells::share(masks::Share::kept));
    REQUIRE(kept);
    CHECK(kept->f64 == 11.0 / 36);
    CHECK_FALSE(why(screen.visit, masks::cells::share(masks::Share::time)));
    CHECK_FALSE(why(screen.visit, masks::cells::share(77)));

    // The reference: softmax in double over all keys.
    auto free_spec = record.spec();
    free_spec.mask = {};
    const auto whole = record.prepare_under(free_spec);
    REQUIRE(whole);
    for (Index query = 0; query < 6; ++query) {
        double all = 0, own = 0;
        for (Index key = 0; key < 6; ++key) {
            if (key == query || key == query - 1) continue;
            all += row_chain(*whole, 2, query).at(key).weight;
            own += row_chain(record, 2, query).at(key).weight;
        }
        const auto of_all = why(screen.visit, masks::cells::hidden_weight(masks::LostOf::all, query)),
                   of_own = why(screen.visit, masks::cells::hidden_weight(masks::LostOf::own, query));
        REQUIRE(of_all);
        REQUIRE(of_own);
        CHECK(of_all->f64 == Catch::Approx(all).margin(1e-12));
        CHECK(of_own->f64 == Catch::Approx(own).margin(1e-12));
        // Weights in f32 have a relative error of about 2^-20.
        CHECK(std::abs(of_all->f32 - all) < 2e-6);
        CHECK(std::abs(of_own->f32 - own) < 2e-6);
    }
    CHECK(screen.shows("chart/masks/lost"));
    CHECK(table_in(screen.visit).values.at(4, 3) == 1);
    CHECK(table_in(screen.visit).values.at(4, 1) == 0);
}

TEST_CASE("a model runs under the mask, and its own mask changes nothing") {
    Screen screen;
    screen.open_sentence(6);
    open_masks(screen, {.runs = true});
    const MaskedRun& run = masks_in(screen).masked_run;
    REQUIRE(run.done());
    CHECK(run.after() == run.before());
    CHECK(run.moved() == 0);
    CHECK(screen.shows("masks/after/0"));
    screen.visit.perform(Set<masks::State>{{.mask = Mask::window(0, 0), .runs = true}});
    screen.settle();
    REQUIRE(run.done());
    CHECK(run.moved() > 0);
    CHECK(run.moved() <= 1);
    const auto told = why(screen.visit, masks::cells::probability(run.tokens()[0]));
    REQUIRE(told);
    CHECK(told->f64 ==
          Catch::Approx(probabilities_of(run.after())[static_cast<std::size_t>(run.tokens()[0])]));
    CHECK(told->f32 == Catch::Approx(told->f64).epsilon(1e-5));
    // The headline names the likeliest token, in the whole vocabulary, with its share.
    const std::vector<double> all = probabilities_of(run.after());
    const auto best = std::ranges::max_element(all);
    const std::array id{static_cast<std::int32_t>(best - all.begin())};
    const std::string name = curly_quoted(subject_in(screen.visit).token_texts(id).front());
    CHECK(spoken(screen.visit).starts_with("Under this mask, " + name));
    CHECK(spoken(screen.visit).find(percent(*best)) != std::string::npos);
}

TEST_CASE("the race of the kernel ends, and its time explains itself") {
    Screen screen;
    screen.open_sentence(6);
    open_masks(screen, {.mask = Mask::window(15, 0), .size = 256});
    screen.click("masks/measure");
    screen.settle();
    REQUIRE(masks_in(screen).race);
    CHECK(masks_in(screen).race->done());
    const auto time = why(screen.visit, masks::cells::share(masks::Share::time));
    REQUIRE(time);
    CHECK(time->f32 == masks_in(screen).race->ratio());
}

TEST_CASE("after the hint's two clicks there are tiles that the kernel skips") {
    Screen screen;
    screen.open_sentence(14);
    open_masks(screen);
    screen.click("masks/preset/window of 16");
    screen.settle();
    CHECK(masks_in(screen).counting->counts().skipped == 0);
    screen.click("masks/size/any n");
    screen.settle();
    CHECK(tried(screen).size >= 1024);
    CHECK(masks_in(screen).counting->counts().skipped > 0);
}

TEST_CASE("the pictures of Masks have tables of what they show, and a click pins its number") {
    Screen screen({1440, 2200});
    screen.open_sentence(6);
    open_masks(screen, {.mask = Mask::causal(), .runs = true});
    const Table mask = table_of(screen, "Mask causal(0)"), counts = table_of(screen, "What it leaves"),
                rows = table_of(screen, "No query is without a key"),
                before = table_of(screen, "Next token, as it is"),
                lost = table_of(screen, "What each query loses");
    CHECK(mask.values.at(4, 1) == 1);
    CHECK(counts.values.at(0, 0) == Catch::Approx(21.0 / 36));
    CHECK(rows.row_labels.back() == "sink");
    CHECK(rows.values.at(0, 3) == masks_in(screen).empty_example().rows[3].weights[0]);
    CHECK(before.values.at(0, 0) ==
          Catch::Approx(masks_in(screen).masked_run.chances_before()[static_cast<std::size_t>(
              masks_in(screen).masked_run.tokens()[0])]));
    CHECK(lost.values.at(2, 0) == masks_in(screen).lost_of_all->lost()[2]);
    screen.click("masks/counts/1");
    CHECK(screen.visit.state().pin == masks::cells::share(masks::Share::skipped));
    screen.click("masks/after/1");
    CHECK(screen.visit.state().pin == masks::cells::probability(masks_in(screen).masked_run.tokens()[1]));
    screen.click("masks/map/3/2");
    CHECK(screen.visit.state().pin == masks::cells::mask(3, 2));
}
