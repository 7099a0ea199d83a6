#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>

#include "support/effort.hpp"
#include "support/numbers.hpp"
#include "unit/app/support.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using enum MatrixId;

TEST_CASE("cells: inputs take numbers, computed ones do not") {
    const State a = default_state();
    CHECK(after(a, SetCell{{x, 0, 1}, 0.7}).worked.x.at(0, 1) == 0.7);
    CHECK(refusal(a, SetCell{{q, 0, 0}, 1}) == "That cell cannot be edited: it is computed from the inputs.");
    CHECK(refusal(a, SetCell{{x, 3, 0}, 1}) == "That cell cannot be edited: it is computed from the inputs.");
    CHECK(refusal(a, SetCell{{x, -1, 0}, 1}) ==
          "That cell cannot be edited: it is computed from the inputs.");
    CHECK(refusal(a, SetCell{{x, 0, 0}, infinity}) ==
          "X cannot hold inf: a cell holds what f32 can, up to 3.4e38.");
    CHECK(refusal(a, SetCell{{x, 0, 0}, 1e39}) ==
          "X cannot hold 1e+39: a cell holds what f32 can, up to 3.4e38.");
    const State f = opened(PresetId::information_flow);
    CHECK(after(f, SetCell{{raw, 0, 0}, -infinity}).worked.scores.at(0, 0) == -infinity);
    CHECK(refusal(f, SetCell{{raw, 0, 0}, not_a_number}) ==
          "Scores cannot hold nan: a cell holds what f32 can, up to 3.4e38, or inf or -inf.");
}

TEST_CASE("presets and lenses: what was chosen in another example is no longer chosen") {
    State s = after(default_state(), Select{{0, 0, 2, 1}});
    s = after(s, Pin{CellRef{weight, 2, 1}});
    const State b = after(s, OpenPreset{PresetId::three_tokens});
    CHECK(b.worked == preset_state(PresetId::three_tokens));
    CHECK(b.selection == Selection{});
    CHECK_FALSE(b.pin);
    const State sentence = after(s, OpenLens{LensId::sentence});
    CHECK(sentence.selection == Selection{});
    CHECK_FALSE(sentence.pin);
    CHECK(after(s, OpenLens{LensId::worked}) == s);
}

TEST_CASE("pasting replaces, and grows what must agree") {
    const State b = opened(PresetId::three_tokens);
    const State grown = after(b, PasteCells{{q, 1, 1}, {2, 2, {5, 6, 7, 8}}});
    CHECK(grown.worked.q == Matrix(3, 3, {1, 0, 0, 0, 5, 6, 1, 7, 8}));
    CHECK(grown.worked.k == Matrix(3, 3, {1, 0, 0, 0, 1, 0, 1, 1, 0}));
    CHECK(grown.worked.v == b.worked.v);
    CHECK(grown.worked.origin.kind == Origin::Kind::entered);
    const State taller = after(b, PasteCells{{k, 2, 0}, {2, 2, {9, 9, 9, 9}}});
    CHECK(taller.worked.keys() == 4);
    CHECK(taller.worked.v.rows == 4);
    CHECK(taller.worked.queries() == 3);
    CHECK(taller.worked.key_labels.back() == "t3");
    CHECK(refusal(b, PasteCells{{weight, 0, 0}, {1, 1, {1}}}) ==
          "Weights is computed here; paste into one of the inputs.");
    CHECK(refusal(b, PasteCells{{q, 0, 0}, {}}) == "The pasted text holds no numbers.");
    CHECK(refusal(b, PasteCells{{q, 3, 0}, {1, 1, {1}}}) == "There is no such cell to paste at.");
    CHECK(refusal(b, PasteCells{{q, 1, 0}, Matrix(64, 1)}) ==
          "A matrix here has 1 to 64 rows and columns, not 65.");
    CHECK(refusal(b, PasteCells{{q, 0, 0}, {1, 1, {infinity}}}) ==
          "Q cannot hold inf: a cell holds what f32 can, up to 3.4e38.");
    // No values were given, so there are none to paste over.
    CHECK(refusal(opened(PresetId::causal_row), PasteCells{{v, 0, 0}, {1, 1, {1}}}) ==
          "V is computed here; paste into one of the inputs.");
}

TEST_CASE("resizing: every matrix along the axis follows, labels and painted cells too") {
    State a = after(default_state(), PaintMask{1, 2, false});
    a = after(a, Resize{Axis::queries, 4});
    CHECK(a.worked.x.rows == 4);
    CHECK(a.worked.x.at(3, 0) == 0);
    CHECK(a.worked.query_labels == std::vector<std::string>{"cat", "sat", "mat", "t3"});
    CHECK(a.worked.key_labels == a.worked.query_labels);
    CHECK(a.worked.mask.painted == std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1});
    CHECK(after(a, Resize{Axis::queries, 3}).worked.mask.painted ==
          std::vector<std::uint8_t>{1, 1, 1, 1, 1, 0, 1, 1, 1});
    CHECK(after(a, Resize{Axis::keys, 4}) == a);
    const WorkedState wide = after(a, Resize{Axis::d_model, 5}).worked;
    CHECK(wide.x.cols == 5);
    for (const Matrix* w : {&wide.w_q, &wide.w_k, &wide.w_v}) CHECK(w->rows == 5);
    const WorkedState keyed = after(a, Resize{Axis::d_k, 2}).worked;
    CHECK(keyed.w_q == Matrix(4, 2, {1, 0, 0, 1, 0, 0, 0, 0}));
    CHECK(keyed.w_k == keyed.w_q);
    CHECK(keyed.w_v.cols == 4);
    CHECK(after(a, Resize{Axis::d_v, 1}).worked.w_v.cols == 1);

    const State c = opened(PresetId::hello_query);
    CHECK(after(c, Resize{Axis::queries, 2}).worked.query_labels == std::vector<std::string>{"Hello", "t1"});
    CHECK(after(c, Resize{Axis::keys, 3}).worked.v.rows == 3);
    CHECK(refusal(c, Resize{Axis::d_model, 3}) == "This example has no such dimension to change.");
    CHECK(refusal(opened(PresetId::causal_row), Resize{Axis::d_v, 3}) ==
          "This example has no such dimension to change.");
    CHECK(refusal(c, Resize{Axis::keys, 0}) == "A matrix here has 1 to 64 rows and columns, not 0.");
    CHECK(refusal(c, Resize{Axis::keys, 65}) == "A matrix here has 1 to 64 rows and columns, not 65.");
}

TEST_CASE("resizing lets go of what no longer exists") {
    State a = after(default_state(), Select{{0, 0, 2, 2}});
    a = after(a, Pin{CellRef{weight, 2, 0}});
    const State grown = after(a, Resize{Axis::queries, 4});
    CHECK(grown.pin == a.pin);
    CHECK(grown.selection == a.selection);
    const State shrunk = after(a, Resize{Axis::queries, 2});
    CHECK_FALSE(shrunk.pin);
    CHECK_FALSE(shrunk.selection.query);
}

TEST_CASE("removing one token or component") {
    State a = after(default_state(), PaintMask{1, 2, false});
    a = after(a, RemoveAt{Axis::queries, 0});
    CHECK(a.worked.x == Matrix(2, 4, {0.3, 0.9, 0.1, 0.4, 0.6, 0.2, 0.7, 0.3}));
    CHECK(a.worked.query_labels == std::vector<std::string>{"sat", "mat"});
    CHECK(a.worked.key_labels == a.worked.query_labels);
    CHECK(a.worked.mask.painted == std::vector<std::uint8_t>{1, 0, 1, 1});
    const WorkedState narrow = after(a, RemoveAt{Axis::d_model, 1}).worked;
    CHECK(narrow.x == Matrix(2, 3, {0.3, 0.1, 0.4, 0.6, 0.7, 0.3}));
    CHECK(narrow.w_v == Matrix(3, 4, {1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}));

    State c = after(opened(PresetId::hello_query), PaintMask{0, 1, false});
    c = after(c, RemoveAt{Axis::keys, 0});
    CHECK(c.worked.k == Matrix(1, 3, {0.12, 0.19, -0.08}));
    CHECK(c.worked.v == Matrix(1, 3, {0.14, 0.12, 0.18}));
    CHECK(c.worked.query_labels == std::vector<std::string>{"Hello"});
    CHECK(c.worked.key_labels == std::vector<std::string>{"World"});
    CHECK(c.worked.mask.painted == std::vector<std::uint8_t>{0});
    CHECK(refusal(c, RemoveAt{Axis::keys, 0}) ==
          "The last row or column stays: attention needs at least one.");
    CHECK(refusal(c, RemoveAt{Axis::d_k, 3}) == "There is no row or column 3.");
    CHECK(refusal(c, RemoveAt{Axis::d_k, -1}) == "There is no row or column -1.");
    CHECK(refusal(c, RemoveAt{Axis::d_model, 0}) == "There is no row or column 0.");
}

TEST_CASE("another source keeps the weights and what the example shows") {
    const State a = after(default_state(), SetTemperature{0.7});
    const State given = after(a, SetSource{Source::qkv});
    CHECK(given.worked.q == a.worked.x);
    CHECK(given.worked.x.empty());
    CHECK(given.worked.w_q.empty());
    CHECK(weights(given.worked) == weights(a.worked));
    const State scores = after(given, SetSource{Source::scores});
    CHECK(std::abs(scores.worked.scores.at(0, 0) - 0.965) < 2e-16);
    CHECK(scores.worked.v == a.worked.x);
    CHECK(scores.worked.temperature == 0.7);
    CHECK_FALSE(scores.worked.scale_by_sqrt_d);
    const auto before = weights(a.worked), now = weights(scores.worked);
    for (std::size_t i = 0; i < now.size(); ++i) CHECK(now[i] == Catch::Approx(before[i]).margin(1e-6));
    const State from_scores = after(scores, SetSource{Source::qkv});
    CHECK(from_scores.worked.q == scores.worked.scores);
    CHECK(from_scores.worked.k == identity(3, 3));
    CHECK(weights(from_scores.worked) == now);
    const State back = after(given, SetSource{Source::projections});
    CHECK(back.worked.x == a.worked.x);
    CHECK(back.worked.w_q == identity(4, 4));
    CHECK(after(a, SetSource{Source::projections}) == a);

    const std::string square =
        "X gives one query and one key a token, so it needs as many queries as keys and Q, K, V to "
        "start from; this example has another shape.";
    CHECK(refusal(scores, SetSource{Source::projections}) == square);
    CHECK(refusal(opened(PresetId::hello_query), SetSource{Source::projections}) == square);
    const State infinite = after(opened(PresetId::information_flow), SetCell{{raw, 0, 0}, -infinity});
    CHECK(refusal(infinite, SetSource{Source::qkv}) == "That cannot be the new source: Q cannot hold -inf.");
    State large = after(default_state(), SetCell{{x, 0, 0}, 1e20});
    large = after(large, SetCell{{w_q, 0, 0}, 1e20});
    CHECK(refusal(large, SetSource{Source::qkv}) == "That cannot be the new source: Q cannot hold 1e+40.");
}

TEST_CASE("generated numbers keep the shape and can be had again") {
    const State a = after(default_state(), Generate{42});
    CHECK(a.worked.source == Source::qkv);
    CHECK(a.worked.q.rows == 3);
    CHECK(a.worked.q.cols == 4);
    CHECK(a.worked.q.at(0, 0) == Catch::Approx(0.4967141530112327).epsilon(1e-15));
    CHECK(a.worked.origin == Origin{Origin::Kind::generated, 42, 3, 3, 4, 4});
    CHECK(after(a, Generate{42}) == a);
    CHECK(after(opened(PresetId::hello_query), Generate{1}).worked.v.rows == 2);
    // Without values there is no d_v to keep.
    const State d = after(opened(PresetId::causal_row), Generate{1});
    CHECK(d.worked.q.cols == 4);
    CHECK(d.worked.v.cols == 4);
    CHECK_FALSE(after(after(default_state(), Pin{CellRef{x, 0, 0}}), Generate{1}).pin);
}

TEST_CASE("scale, temperature and soft cap") {
    const State a = default_state();
    CHECK_FALSE(after(a, SetScaling{false}).worked.scale_by_sqrt_d);
    CHECK(refusal(opened(PresetId::information_flow), SetScaling{true}) ==
          "Given scores have no d_k to be scaled by.");
    CHECK(after(a, SetTemperature{0.01}).worked.temperature == 0.01);
    CHECK(refusal(a, SetTemperature{0}) == "The temperature 0 is outside 0.01 to 100.");
    CHECK(refusal(a, SetTemperature{101}) == "The temperature 101 is outside 0.01 to 100.");
    CHECK(refusal(a, SetTemperature{not_a_number}) == "The temperature nan is outside 0.01 to 100.");
    CHECK(after(a, SetSoftcap{30}).worked.softcap == 30);
    CHECK(after(a, SetSoftcap{0}).worked.softcap == 0);
    CHECK(refusal(a, SetSoftcap{-1}) == "The soft cap -1 is neither 0 (off) nor from 0.01 to 1000.");
    CHECK(refusal(a, SetSoftcap{1e-300}) == "The soft cap 1e-300 is neither 0 (off) nor from 0.01 to 1000.");
    // T divides the scores: half of it doubles them.
    const auto run = run_worked(after(a, SetTemperature{0.5}).worked);
    REQUIRE(run);
    CHECK(run->matrix(a.worked, scaled).at(0, 0) == Catch::Approx(1.93).margin(1e-6));
}

TEST_CASE("masks hide what they say") {
    const auto hidden = [](const State& s) {
        std::string cells;
        for (const double w : weights(s.worked)) cells += w == 0 ? 'x' : '.';
        return cells;
    };
    const State a = default_state();
    CHECK(hidden(a) == ".........");
    const State causal = after(a, SetMask{WorkedMask::Kind::causal, 0, 0, 0});
    CHECK(hidden(causal) == ".xx..x...");
    CHECK(hidden(after(a, SetMask{WorkedMask::Kind::causal, 1, 0, 0})) == "..x......");
    CHECK(hidden(after(a, SetMask{WorkedMask::Kind::causal, -1, 0, 0})) == "xxx.xx..x");
    CHECK(hidden(after(a, SetMask{WorkedMask::Kind::window, 0, 1, 0})) == ".xx..xx..");
    // Painting starts from the mask of before.
    const State painted = after(causal, PaintMask{0, 2, true});
    CHECK(hidden(painted) == ".x...x...");
    CHECK(hidden(after(painted, PaintMask{2, 0, false})) == ".x...xx..");
    CHECK(after(painted, SetMask{WorkedMask::Kind::painted, 0, 0, 0}) == painted);
    CHECK(after(painted, SetMask{WorkedMask::Kind::none, 0, 0, 0}) == a);
    // A row that sees nothing is zero.
    const auto run = run_worked(after(a, SetMask{WorkedMask::Kind::causal, -3, 0, 0}).worked);
    REQUIRE(run);
    for (const double value : run->matrix(a.worked, output).values) CHECK(value == 0);
    const std::string wide = "A mask reaches at most 64 tokens here.";
    CHECK(refusal(a, SetMask{WorkedMask::Kind::causal, 65, 0, 0}) == wide);
    CHECK(refusal(a, SetMask{WorkedMask::Kind::causal, std::numeric_limits<Index>::min(), 0, 0}) == wide);
    CHECK(refusal(a, SetMask{WorkedMask::Kind::window, 0, -1, 0}) == wide);
    CHECK(refusal(a, PaintMask{3, 0, true}) == "That cell lies outside the mask.");
    CHECK(refusal(a, PaintMask{0, -1, true}) == "That cell lies outside the mask.");
}

TEST_CASE("labels: a token of X is a query and a key, elsewhere they have their own") {
    const WorkedState a = after(default_state(), SetLabel{true, 1, "slept"}).worked;
    CHECK(a.query_labels[1] == "slept");
    CHECK(a.key_labels[1] == "slept");
    const State c = opened(PresetId::hello_query);
    const WorkedState keyed = after(c, SetLabel{true, 0, "Bye"}).worked;
    CHECK(keyed.key_labels[0] == "Bye");
    CHECK(keyed.query_labels[0] == "Hello");
    CHECK(refusal(c, SetLabel{false, 1, "World"}) == "There is no such token.");
    CHECK(refusal(c, SetLabel{false, 0, std::string(65, 'x')}) ==
          "A token's name is UTF-8 of at most 64 bytes.");
    CHECK(refusal(c, SetLabel{false, 0, "\xff"}) == "A token's name is UTF-8 of at most 64 bytes.");
}

TEST_CASE("the sentence and what is chosen in it") {
    const State s = after(default_state(), OpenLens{LensId::sentence});
    CHECK(after(s, SetText{"The cat"}).sentence.text == "The cat");
    CHECK(refusal(s, SetText{"\xc3"}) == "The text is not UTF-8.");
    State chosen = after(s, Select{{3, 5, 700, 2}});
    CHECK(after(chosen, SetModel{"tiny"}).selection == Selection{});
    chosen.sentence.model = "tiny";
    CHECK(after(chosen, SetModel{"tiny"}) == chosen);
    CHECK(refusal(s, SetModel{std::string(201, 'm')}) == "A model's name is UTF-8 of at most 200 bytes.");
    const Bookmark place{4, 7, {0, 13}, {3, 10}};
    CHECK(after(s, AddBookmark{place}).sentence.bookmarks == std::vector{place});
    CHECK(after(after(s, AddBookmark{place}), AddBookmark{place}).sentence.bookmarks == std::vector{place});
    CHECK(after(after(s, AddBookmark{place}), RemoveBookmark{0}).sentence.bookmarks.empty());
    CHECK(!apply(s, RemoveBookmark{0}));
    CHECK(!apply(s, AddBookmark{{0, 0, {5, 5}, {0, 1}}}));
    CHECK(!apply(s, AddBookmark{{-1, 0, {0, 1}, {0, 1}}}));
    State full = s;
    for (Index i = 0; i < static_cast<Index>(bookmark_limit); ++i)
        full = after(full, AddBookmark{{0, 0, {i, i + 1}, {0, 1}}});
    CHECK(!apply(full, AddBookmark{place}));
    const State marked = after(s, AddTensorBookmark{place});
    CHECK(marked.tensors.bookmarks == std::vector{place});
    CHECK(marked.sentence.bookmarks.empty());
    CHECK(after(marked, RemoveTensorBookmark{0}) == s);
    CHECK(!apply(marked, RemoveTensorBookmark{1}));
    CHECK(after(s, SetMap{{.stage = MapStage::contribution}}).sentence.map.stage == MapStage::contribution);
    const HeadsChoice by_induction{HeadScore::induction, {}};
    CHECK(after(s, SetHeads{by_induction}).sentence.heads == by_induction);
    CHECK(refusal(s, SetHeads{{{}, HeadScore::induction}}) ==
          "Heads are scattered over two scores; the one across is missing.");
    const FlowChoice flow{0.5f, FlowForm::columns, {{1, 0}, {0, 2}}};
    CHECK(after(s, SetFlow{flow}).sentence.flow == flow);
    CHECK(after(after(s, SetFlow{flow}), SetModel{"another"}).sentence.flow.heads.empty());
    CHECK(refusal(s, SetFlow{{.mass = 1.5f}}) == "The share of a row lies between 0 and 1.");
    CHECK(refusal(s, SetFlow{{.heads = {{0, 1}, {2, 3}, {0, 1}}}}) == "There is no such head to show.");
    CHECK(refusal(s, SetFlow{{.heads = {{0, -1}}}}) == "There is no such head to show.");
    std::vector<HeadIndex> many(flow_heads_limit);
    for (Index i = 0; i < std::ssize(many); ++i) many[static_cast<std::size_t>(i)].head = i;
    CHECK(refusal(s, SetFlow{{.heads = many}}) == "The flow shows at most 8 heads at once.");
    many.pop_back();
    CHECK(after(s, SetFlow{{.heads = many}}).sentence.flow.heads == many);
    CHECK(after(s, SetSampling{{0, 0, 1, 9}}).sentence.sampling == SamplingState{0, 0, 1, 9});
    for (const SamplingState& bad :
         {SamplingState{-1, 0, 1, 0}, SamplingState{1, -1, 1, 0}, SamplingState{1, 0, 0, 0}})
        CHECK(
            refusal(s, SetSampling{bad}) ==
            "Sampling takes a temperature from 0 to 100, a top-k of 0 or more and a top-p above 0 up to 1.");
    CHECK(refusal(s, Select{{-1, 0, {}, {}}}) == "There is no such row or column to choose.");
    CHECK(refusal(s, Select{{0, 0, position_limit, {}}}) == "There is no such row or column to choose.");
    CHECK(refusal(default_state(), Select{{0, 0, 3, {}}}) == "There is no such row or column to choose.");
    CHECK(after(s, Pin{CellRef{weight, 500, 400}}).pin == CellRef{weight, 500, 400});
    CHECK(refusal(s, Pin{CellRef{x, 0, 0}}) == "There is no such cell to pin.");
    CHECK(refusal(default_state(), Pin{CellRef{weight, 3, 0}}) == "There is no such cell to pin.");
    CHECK(refusal(opened(PresetId::causal_row), Pin{CellRef{output, 0, 0}}) ==
          "There is no such cell to pin.");
}

TEST_CASE("the status line says what was done") {
    const State a = default_state();
    CHECK(describe(a, SetCell{{x, 0, 1}, 0.7}) == "X[cat, 1] 0.5 → 0.7");
    CHECK(describe(a, Resize{Axis::queries, 4}) == "tokens 3 → 4");
    CHECK(describe(a, RemoveAt{Axis::d_k, 1}) == "removed 1 of d_k");
    CHECK(describe(a, OpenPreset{PresetId::causal_row}) == "example D");
    CHECK(describe(a, PasteCells{{x, 0, 0}, Matrix(2, 3)}) == "pasted 2×3 into X");
    CHECK(describe(a, SetTemperature{0.5}) == "temperature 0.5");
    CHECK(describe(a, SetSoftcap{0}) == "no soft cap");
    CHECK(describe(a, SetMask{WorkedMask::Kind::causal, -1, 0, 0}) == "causal mask, offset -1");
    CHECK(describe(a, SetMask{WorkedMask::Kind::window, 0, 2, 1}) == "window of 2 before, 1 after");
    CHECK(describe(a, PaintMask{0, 1, false}) == "hid Masked[cat, sat]");
    CHECK(describe(a, SetSource{Source::scores}) == "from scores");
    CHECK(describe(a, SetScaling{true}) == "scale 1/√d_k");
    CHECK(describe(a, SetHeads{}) == "heads by layer");
    CHECK(describe(a, SetHeads{{HeadScore::first_token, HeadScore::distance}}) ==
          "heads by first token and distance");
    RandomCommands commands(1);
    for (int i = 0; i < 2000; ++i) (void)describe(a, commands.next(a));
}

TEST_CASE("any commands in any order leave a State that is valid and runs") {
    for (std::uint64_t seed = 0; seed < 300 / thinned; ++seed) {
        RandomCommands commands(seed);
        State s = default_state();
        for (int step = 0; step < 60; ++step) {
            const Command command = commands.next(s);
            auto next = app::apply(s, command);
            if (!next) {
                REQUIRE(next.error().message.ends_with('.'));
                continue;
            }
            s = *std::move(next);
            INFO("seed " << seed << ", step " << step << ", command " << command.index());
            check_valid(s);
            if (step % 10 == 0) REQUIRE(run_worked(s.worked));
        }
    }
}
