#include "lenses/tiles/tiles.hpp"

#include <catch_amalgamated.hpp>
#include <chrono>
#include <cmath>
#include <thread>

#include "app/copied.hpp"
#include "app/link.hpp"
#include "attention/explain.hpp"
#include "support/this_build.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/frame/screen.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

tiles::Model& tiles_in(const Screen& screen) {
    return static_cast<tiles::Lens&>(screen.visit.lens()).model();
}

Explained explained(Screen& screen, const CellRef& cell) {
    const auto found = why(screen.visit, cell);
    INFO(write_cell(cell));
    REQUIRE(found);
    return *found;
}

tiles::Shown shown(Screen& screen) {
    screen.draw(1);
    return tiles_in(screen).shown;
}

void open_tiles(Screen& screen, std::string_view subject) {
    screen.visit.perform(OpenSubject{subject});
    screen.visit.perform(OpenLens{"tiles"});
    screen.settle();
}

void drop(Screen& screen, const Drop& files) {
    put(screen.visit, files);
    screen.settle();
}

std::vector<CellRef> cells_of(const tiles::Shown& now, Index query) {
    std::vector<CellRef> cells;
    for (std::size_t i = 0; i < tiles::cells::running_words.size(); ++i)
        cells.push_back(tiles::cells::running(i, query));
    for (Index key = 0; key < now.keys.size(); ++key) cells.push_back(tiles::cells::weight(query, key));
    for (std::size_t i = 0; i < tiles::cells::output_words.size(); ++i)
        for (Index b = 0; b < now.record->d_v(); ++b) cells.push_back(tiles::cells::output(i, query, b));
    return cells;
}

}  // namespace

TEST_CASE("tile sizes and tiles are refused with one sentence, and are in the link and in undo") {
    const State s = after(default_state(), OpenLens{"tiles"});
    CHECK(refusal(s, tiles::SetTileSize{{0, 2}}) == "A tile here has 1 to 128 queries and as many keys.");
    CHECK(refusal(s, tiles::SetTileSize{{2, 129}}) == "A tile here has 1 to 128 queries and as many keys.");
    CHECK(refusal(s, tiles::SetTile{-1}) == "Choose a tile of the grid; this one does not exist.");
    CHECK(refusal(s, tiles::SetTile{tiles::count_limit}) ==
          "Choose a tile of the grid; this one does not exist.");
    const State at = after(after(s, tiles::SetTileSize{{3, 1}}), tiles::SetTile{2});
    CHECK(to_fragment(at) == "v=1&lens=tiles&tiles.size=3,1&tiles.tile=2");
    CHECK(parse_fragment(to_fragment(at)).state == at);
    CHECK(after(at, tiles::SetTileSize{{1, 1}}).of<tiles::State>().tile == 0);
    for (const char* bad : {"tiles.size=0,1", "tiles.size=3", "tiles.size=1,2,3", "tiles.size=a,b",
                            "tiles.tile=-1", "tiles.tile=x", "tiles.tile=99999999999"}) {
        const ParsedFragment parsed = parse_fragment(std::string("v=1&lens=tiles&") + bad);
        INFO(bad);
        CHECK_FALSE(parsed.note.empty());
        CHECK(parsed.state.of<tiles::State>() == tiles::State{});
    }
}

TEST_CASE("Forward goes through the example's tiles, and the final output equals naive attention's") {
    Screen screen;
    open_tiles(screen, worked_subject);
    CHECK(shown(screen).grid.count() == 4);
    CHECK(screen.shows("tiles/map/1/1"));
    CHECK(spoken(screen.visit).starts_with("Tile 1 of 4: the largest score of “cat” so far is "));
    for (const Index tile : {1, 2, 3}) {
        screen.click("tiles/forward");
        CHECK(screen.visit.state().of<tiles::State>().tile == tile);
    }
    screen.click("tiles/forward");  // there are no more
    CHECK(screen.visit.state().of<tiles::State>().tile == 3);
    screen.settle();
    CHECK(screen.shows("tiles/equal"));
    const tiles::Shown now = shown(screen);
    CHECK(now.rows == Range{2, 3});
    const Record& record = *now.record;
    for (Index b = 0; b < record.d_v(); ++b) {
        const Explained result = explained(screen, tiles::cells::output(TileOutput::result, 2, b));
        const CellExplanation why = explain_output(record, 0, 2, b);
        CHECK(result.f64 == Catch::Approx(why.f64).epsilon(1e-14));
        // f32: sums of three numbers below 1.
        CHECK(std::abs(result.f32 - why.f64) < 5e-7);
        CHECK(std::abs(explained(screen, tiles::cells::output(TileOutput::difference, 2, b)).f32) < 5e-7);
        CHECK(explained(screen, tiles::cells::output(TileOutput::naive, 2, b)).f64 ==
              Catch::Approx(why.f64).epsilon(1e-14));
    }
    screen.click("tiles/back");
    CHECK(screen.visit.state().of<tiles::State>().tile == 2);
    screen.visit.undo();
    CHECK(screen.visit.state().of<tiles::State>().tile == 3);
    screen.click("tiles/map/0/1");
    CHECK(screen.visit.state().of<tiles::State>().tile == 1);
}

TEST_CASE("every number of a tile explains itself, and its copies compute it") {
    Screen screen;
    screen.open_sentence(7);
    screen.visit.perform(OpenLens{"tiles"});
    screen.visit.perform(tiles::SetTileSize{{3, 2}});
    screen.visit.perform(Select{{1, 2, {}, {}, {}}});
    screen.settle();
    const tiles::Shown first = shown(screen);
    int numbers = 0;
    for (Index tile = 0; tile < first.grid.count(); ++tile) {
        screen.visit.perform(tiles::SetTile{tile});
        screen.draw(2);
        const tiles::Shown now = shown(screen);
        for (Index query = now.rows.begin; query < now.rows.end; ++query)
            for (const CellRef& cell : cells_of(now, query)) {
                ++numbers;
                const Explained why = explained(screen, cell);
                INFO(why.title);
                CHECK((why.f64 == why.f32 || std::abs(why.f64 - why.f32) < 1e-5));
                if (!why.operands.empty()) {
                    double sum = 0;
                    for (const auto& operand : why.operands) sum += operand.product;
                    CHECK(std::abs(sum - why.f64) < 1e-14 * std::max(1.0, std::abs(why.f64)) * 8);
                }
                check_calculated(why);
                for (const auto dialect : {Dialect::latex, Dialect::numpy, Dialect::cpp})
                    CHECK_FALSE(copied(why, dialect).empty());
                // The number that an operand leads to exists and has its value.
                for (const auto& operand : why.operands) {
                    if (operand.left_at)
                        CHECK(explained(screen, operand.left_at->cell).f64 ==
                              Catch::Approx(operand.left).margin(1e-12));
                    if (operand.right_at)
                        CHECK(explained(screen, operand.right_at->cell).f64 ==
                              Catch::Approx(operand.right).margin(1e-12));
                }
                for (const auto& step : why.steps)
                    if (step.at) explained(screen, step.at->cell);
            }
    }
    CHECK(numbers > 500);
    for (const CellRef& none : {tiles::cells::weight(0, 2), tiles::cells::output(TileOutput::after, 0, 1000),
                                tiles::cells::running(RunningNumber::max, 7),
                                tiles::cells::running(tiles::cells::running_words.size(), 0)})
        CHECK_FALSE(why(screen.visit, none));
}

TEST_CASE("the sentence is about the row that a tile changes most, or the chosen one") {
    Screen screen;
    open_tiles(screen, tensors_subject);
    // With d_k = 1 and q = 1, a score is a key.
    const std::vector<float> q{1, 1, 2}, k{0, 1, 3};
    drop(screen,
         {{"q.npy", write_npy({3, 1}, q)}, {"k.npy", write_npy({3, 1}, k)}, {"v.npy", write_npy({3, 1}, k)}});
    screen.visit.perform(tiles::SetTileSize{{3, 2}});
    screen.visit.perform(tiles::SetTile{1});
    screen.settle();
    const auto said = [&] { return spoken(screen.visit); };
    CHECK(said() ==
          "Tile 2 of 2: the largest score of “2” grows from 2.00 to 6.00.\n"
          "All that was summed up so far shrinks by × 0.02.");
    screen.visit.perform(Select{{0, 0, 1, {}, {}}});
    CHECK(said() ==
          "Tile 2 of 2: the largest score of “1” grows from 1.00 to 3.00.\n"
          "All that was summed up so far shrinks by × 0.14.");
}

TEST_CASE("a tile's number leads to the values, and back") {
    Screen screen({1440, 1600});
    open_tiles(screen, worked_subject);
    screen.click("tiles/running/1/5");
    CHECK(screen.visit.state().pin == tiles::cells::running(RunningNumber::sum, 1));
    screen.click("inspector/operand/0/right");
    CHECK(screen.visit.state().pin == tiles::cells::running(RunningNumber::factor, 1));
    const CellRef output = tiles::cells::output(TileOutput::after, 1, 0);
    screen.visit.perform(Pin{output});
    screen.draw(3);
    screen.click("inspector/operand/2/right");
    CHECK(screen.visit.state().pin == RunCell{Stage::v, 1, 0});
    screen.settle();
    screen.click("inspector/back");
    CHECK(screen.visit.state().lens == "tiles");
    CHECK(screen.visit.state().pin == output);
    screen.visit.perform(OpenLens{"ladder"});
    CHECK_FALSE(screen.visit.state().pin);
}

TEST_CASE("tiles above the diagonal are skipped, also during the automatic walk, which ends") {
    Screen screen;
    screen.open_sentence(6);
    screen.visit.perform(OpenLens{"tiles"});
    screen.visit.perform(tiles::SetTileSize{{2, 2}});
    screen.settle();
    CHECK(tiles_in(screen).cover().skipped_tiles() == 3);
    screen.click("tiles/forward");
    CHECK(screen.visit.state().of<tiles::State>().tile == 3);
    screen.visit.perform(tiles::SetTile{1});
    CHECK(spoken(screen.visit) ==
          "Tile 2 of 9: the mask hides all of it, so nothing is read and nothing is computed.");
    screen.visit.perform(tiles::SetTile{0});
    screen.draw(2);
    screen.click("tiles/play");
    CHECK(tiles_in(screen).play);
    for (int i = 0; i < 2000 && tiles_in(screen).play; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        screen.draw();
    }
    CHECK_FALSE(tiles_in(screen).play);
    CHECK(screen.visit.state().of<tiles::State>().tile == 8);
    screen.visit.undo();  // all of it is one step
    CHECK(screen.visit.state().of<tiles::State>().tile == 0);
    screen.click("tiles/play");
    screen.click("tiles/forward");
    CHECK_FALSE(tiles_in(screen).play);
}

TEST_CASE("each offered tile size is one undoable command, and is in the tables") {
    Screen screen;
    open_tiles(screen, worked_subject);
    screen.click("tiles/preset/one key at a time");
    CHECK(screen.visit.state().of<tiles::State>().size == TileSize{8, 1});
    screen.visit.perform(tiles::SetTile{2});
    screen.settle();
    const auto tables = screen.frame.tables();
    REQUIRE(tables.size() == 9);
    CHECK(tables[2].title == "Running numbers, after tile 3");
    CHECK(tables[2].row_labels == std::vector<std::string>{"cat", "sat", "mat"});
    CHECK(tables[2].values.cols == 6);
    const Table result = table_of(screen, "O / l"),
                in_naive_order = table_of(screen, "Output in the naive order");
    for (Index row = 0; row < 3; ++row)
        for (Index b = 0; b < 4; ++b)
            CHECK(result.values.at(row, b) == Catch::Approx(in_naive_order.values.at(row, b)).margin(1e-6));
    CHECK(table_of(screen, "Tiles").values.values == std::vector<double>{3, 3, 2});
    CHECK(table_of(screen, "Bytes moved").values.at(0, 0) == table_of(screen, "Bytes moved").values.at(1, 0));
    const TileSize own = default_kernels().attention_tile;
    screen.click("tiles/preset/the kernel’s own, " + std::to_string(own.queries) + " × " +
                 std::to_string(own.keys));
    CHECK(screen.visit.state().of<tiles::State>().size == own);
    CHECK(shown(screen).grid.count() == 1);
    screen.visit.undo();
    CHECK(screen.visit.state().of<tiles::State>().size == TileSize{8, 1});
    screen.settle();
    screen.click("tiles/queries/less");
    CHECK(screen.visit.state().of<tiles::State>().size == TileSize{7, 1});
}

TEST_CASE("Tiles works on a network in training and on tensors, but not on weights alone") {
    Screen screen;
    screen.train_some();
    open_tiles(screen, training_subject);
    CHECK(screen.shows("tiles/scores/0/0"));
    CHECK(screen.shows("tiles/output/1/0"));
    screen.visit.perform(OpenSubject{tensors_subject});
    const Shape q{2, 40, 8}, v{2, 40, 4};
    drop(screen, {{"q.npy", normal_npy(q, 1)}, {"k.npy", normal_npy(q, 2)}, {"v.npy", normal_npy(v, 3)}});
    screen.visit.perform(OpenLens{"tiles"});
    screen.visit.perform(tiles::SetTileSize{{16, 8}});
    screen.visit.perform(tiles::SetTile{4});
    screen.settle();
    CHECK(screen.shows("tiles/equal"));
    screen.click("tiles/rows/more");
    CHECK(shown(screen).rows == Range{8, 16});
    screen.settle();
    CHECK(screen.shows("tiles/result/8/3"));
    screen.click("tiles/rows/less");
    CHECK(shown(screen).rows.begin == 0);
    drop(screen, {{"q.npy", normal_npy(q, 1)}, {"k.npy", normal_npy(q, 2)}});
    CHECK(screen.shows("tiles/running/0/5"));
    CHECK_FALSE(screen.shows("tiles/output/0/0"));
    drop(screen, {{"attention.npy", weights_npy({2, 5, 5})}});
    CHECK(screen.shows("missing"));
    CHECK(screen.page.notices.empty());
}

TEST_CASE("NaN in the tensors is NaN in its rows, in one sentence, and nowhere else") {
    Screen screen;
    screen.visit.perform(OpenSubject{tensors_subject});
    const Shape shape{1, 6, 4};
    Tensor q = random_tensor(shape, 1);
    q.data()[4 * 2] = not_a_number;
    q.data()[4 * 3] = infinity;
    drop(screen, {{"q.npy", write_npy(shape, q.values())},
                  {"k.npy", normal_npy(shape, 2)},
                  {"v.npy", normal_npy(shape, 3)}});
    screen.visit.perform(OpenLens{"tiles"});
    for (Index tile = 0; tile < 9; ++tile) {
        screen.visit.perform(tiles::SetTile{tile});
        screen.settle();
        CHECK(screen.shows("tiles/running/" + std::to_string(tile / 3 * 2) + "/5"));
    }
    screen.visit.perform(tiles::SetTile{5});
    screen.visit.perform(Select{{0, 0, 2, {}, {}}});
    screen.settle();
    CHECK(spoken(screen.visit) == "Tile 6 of 9: a score of “2” is NaN, and so its sum and its output are.");
    CHECK(std::isnan(explained(screen, tiles::cells::output(TileOutput::result, 2, 0)).f32));
    for (const Index query : {2, 3})  // includes infinite numbers
        for (const CellRef& cell : cells_of(shown(screen), query)) explained(screen, cell);
    CHECK(std::isfinite(explained(screen, tiles::cells::output(TileOutput::result, 1, 0)).f32));
}

TEST_CASE("with 16,384 tokens the map has blocks, and not all rows of a tile are shown") {
    const Index tokens = test::sanitized ? 4096 : 16384;
    Screen screen;
    screen.visit.perform(OpenSubject{tensors_subject});
    drop(screen, {{"q.npy", normal_npy({1, tokens, 16}, 1)},
                  {"k.npy", normal_npy({1, tokens, 16}, 2)},
                  {"v.npy", normal_npy({1, tokens, 64}, 3)}});
    screen.visit.perform(OpenLens{"tiles"});
    screen.settle();
    // The usual size, made coarser until the map has few enough blocks.
    CHECK(shown(screen).grid.size == (test::sanitized ? TileSize{32, 8} : TileSize{64, 64}));
    screen.visit.perform(tiles::SetTileSize{default_kernels().attention_tile});
    const Index across = tokens / 64, row = tokens / 96;  // tiles of 48 queries and 64 keys
    screen.visit.perform(tiles::SetTile{row * across + 32});
    screen.settle();
    CHECK(shown(screen).grid.count() == (tokens + 47) / 48 * across);
    CHECK(screen.shows("tiles/saved"));
    CHECK(screen.shows("tiles/weights/" + std::to_string(48 * row) + "/2048"));
    CHECK(ImGui::GetDrawData()->TotalVtxCount < 60'000);
    CHECK(explained(screen, tiles::cells::output(TileOutput::naive, 48 * row, 0)).operands.size() ==
          static_cast<std::size_t>(tokens));
}

TEST_CASE("the tiles that the lens opens with move fewer bytes than naive attention, and a walk keeps them") {
    Screen screen;
    open_tiles(screen, worked_subject);
    CHECK(shown(screen).grid.size == TileSize{2, 2});
    screen.open_sentence(16);
    open_tiles(screen, sentence_subject);
    const tiles::Shown now = shown(screen);
    CHECK(tiles_in(screen).cover().cost(now.grid.count()).moved() < naive_cost(*now.record).moved());
    // A walk keeps the tiles that it started with, and so does its link.
    screen.click("tiles/forward");
    CHECK(screen.visit.state().of<tiles::State>().size == now.grid.size);
    CHECK(parse_fragment("v=1&lens=tiles&tiles.tile=2").state.of<tiles::State>().size == TileSize{2, 2});
}

TEST_CASE("a click in a matrix of a tile pins its number, and one on a query’s name chooses the query") {
    Screen screen({1440, 2200});
    screen.open_sentence(6);
    open_tiles(screen, sentence_subject);
    const std::pair<const char*, CellRef> clicks[]{
        {"tiles/weights/1/0", tiles::cells::weight(1, 0)},
        {"tiles/running/1/2", tiles::cells::running(RunningNumber::factor, 1)},
        {"tiles/output/1/3", tiles::cells::output(TileOutput::after, 1, 3)},
        {"tiles/difference/1/3", tiles::cells::output(TileOutput::difference, 1, 3)}};
    for (const auto& [landmark, cell] : clicks) {
        screen.click(landmark);
        CHECK(screen.visit.state().pin == cell);
    }
    const Rect cell = rect("tiles/output/1/0");
    ImGui::GetIO().AddMousePosEvent(cell.left - 12, (cell.top + cell.bottom) / 2);
    screen.draw(2);
    ImGui::GetIO().AddMouseButtonEvent(0, true);
    screen.draw(2);
    ImGui::GetIO().AddMouseButtonEvent(0, false);
    screen.draw(2);
    CHECK(screen.visit.state().selection.query == 1);
}
