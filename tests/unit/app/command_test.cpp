#include <catch_amalgamated.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <regex>
#include <set>

#include "app/link.hpp"
#include "support/files.hpp"
#include "support/numbers.hpp"
#include "support/this_build.hpp"
#include "unit/app/random_commands.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using enum Stage;

TEST_CASE("inputs take numbers, computed cells do not") {
    const State a = default_state();
    CHECK(worked_of(after(a, SetCell{{x, 0, 1}, 0.7})).x.at(0, 1) == 0.7);
    CHECK(refusal(a, SetCell{{q, 0, 0}, 1}) == "That cell cannot be edited: it is computed from the inputs.");
    CHECK(refusal(a, SetCell{{x, 3, 0}, 1}) == "That cell cannot be edited: it is computed from the inputs.");
    CHECK(refusal(a, SetCell{{x, -1, 0}, 1}) ==
          "That cell cannot be edited: it is computed from the inputs.");
    CHECK(refusal(a, SetCell{{x, 0, 0}, infinity}) ==
          "X cannot hold inf: a cell holds what f32 can, up to 3.4e38.");
    CHECK(refusal(a, SetCell{{x, 0, 0}, 1e39}) ==
          "X cannot hold 1e+39: a cell holds what f32 can, up to 3.4e38.");
    const State f = opened(PresetId::information_flow);
    CHECK(worked_of(after(f, SetCell{{raw, 0, 0}, -infinity})).scores.at(0, 0) == -infinity);
    CHECK(refusal(f, SetCell{{raw, 0, 0}, not_a_number}) ==
          "Scores cannot hold nan: a cell holds what f32 can, up to 3.4e38, or inf or -inf.");
}

TEST_CASE("opening another example drops the previous selection") {
    State s = after(default_state(), Select{{0, 0, 2, 1}});
    s = after(s, Pin{RunCell{weight, 2, 1}});
    const State b = after(s, OpenPreset{PresetId::three_tokens});
    CHECK(worked_of(b) == preset_state(PresetId::three_tokens));
    CHECK(b.selection == Selection{});
    CHECK_FALSE(b.pin);
    const State sentence = after(s, OpenSubject{sentence_subject});
    CHECK(sentence.selection == Selection{});
    CHECK_FALSE(sentence.pin);
    CHECK(after(s, OpenSubject{worked_subject}) == s);
}

TEST_CASE("pasting replaces cells, and grows whatever must match") {
    const State b = opened(PresetId::three_tokens);
    const State grown = after(b, PasteCells{{q, 1, 1}, {2, 2, {5, 6, 7, 8}}});
    CHECK(worked_of(grown).q == Matrix(3, 3, {1, 0, 0, 0, 5, 6, 1, 7, 8}));
    CHECK(worked_of(grown).k == Matrix(3, 3, {1, 0, 0, 0, 1, 0, 1, 1, 0}));
    CHECK(worked_of(grown).v == worked_of(b).v);
    CHECK(worked_of(grown).origin.kind == Origin::Kind::entered);
    const State taller = after(b, PasteCells{{k, 2, 0}, {2, 2, {9, 9, 9, 9}}});
    CHECK(worked_of(taller).keys() == 4);
    CHECK(worked_of(taller).v.rows == 4);
    CHECK(worked_of(taller).queries() == 3);
    CHECK(worked_of(taller).key_labels.back() == "t3");
    CHECK(refusal(b, PasteCells{{weight, 0, 0}, {1, 1, {1}}}) ==
          "Weights is computed here; paste into one of the inputs.");
    CHECK(refusal(b, PasteCells{{q, 0, 0}, {}}) == "The pasted text holds no numbers.");
    CHECK(refusal(b, PasteCells{{q, 3, 0}, {1, 1, {1}}}) ==
          "Paste at a cell of the matrix; this one is outside.");
    CHECK(refusal(b, PasteCells{{q, 1, 0}, Matrix(64, 1)}) ==
          "A matrix here has 1 to 64 rows and columns, not 65.");
    CHECK(refusal(b, PasteCells{{q, 0, 0}, {1, 1, {infinity}}}) ==
          "Q cannot hold inf: a cell holds what f32 can, up to 3.4e38.");
    // No values were given, so there are none to paste over.
    CHECK(refusal(opened(PresetId::causal_row), PasteCells{{v, 0, 0}, {1, 1, {1}}}) ==
          "V is computed here; paste into one of the inputs.");
}

TEST_CASE("resizing changes every matrix along the axis, labels and painted cells") {
    State a = after(default_state(), PaintMask{1, 2, false});
    a = after(a, Resize{Axis::queries, 4});
    CHECK(worked_of(a).x.rows == 4);
    CHECK(worked_of(a).x.at(3, 0) == 0);
    CHECK(worked_of(a).query_labels == std::vector<std::string>{"cat", "sat", "mat", "t3"});
    CHECK(worked_of(a).key_labels == worked_of(a).query_labels);
    CHECK(worked_of(a).mask.painted ==
          std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1});
    CHECK(worked_of(after(a, Resize{Axis::queries, 3})).mask.painted ==
          std::vector<std::uint8_t>{1, 1, 1, 1, 1, 0, 1, 1, 1});
    CHECK(after(a, Resize{Axis::keys, 4}) == a);
    const WorkedState wide = worked_of(after(a, Resize{Axis::d_model, 5}));
    CHECK(wide.x.cols == 5);
    for (const Matrix* w : {&wide.w_q, &wide.w_k, &wide.w_v}) CHECK(w->rows == 5);
    const WorkedState keyed = worked_of(after(a, Resize{Axis::d_k, 2}));
    CHECK(keyed.w_q == Matrix(4, 2, {1, 0, 0, 1, 0, 0, 0, 0}));
    CHECK(keyed.w_k == keyed.w_q);
    CHECK(keyed.w_v.cols == 4);
    CHECK(worked_of(after(a, Resize{Axis::d_v, 1})).w_v.cols == 1);

    const State c = opened(PresetId::hello_query);
    CHECK(worked_of(after(c, Resize{Axis::queries, 2})).query_labels ==
          std::vector<std::string>{"Hello", "t1"});
    CHECK(worked_of(after(c, Resize{Axis::keys, 3})).v.rows == 3);
    CHECK(refusal(c, Resize{Axis::d_model, 3}) == "This example has no such dimension to change.");
    CHECK(refusal(opened(PresetId::causal_row), Resize{Axis::d_v, 3}) ==
          "This example has no such dimension to change.");
    CHECK(refusal(c, Resize{Axis::keys, 0}) == "A matrix here has 1 to 64 rows and columns, not 0.");
    CHECK(refusal(c, Resize{Axis::keys, 65}) == "A matrix here has 1 to 64 rows and columns, not 65.");
}

TEST_CASE("resizing drops whatever no longer exists") {
    State a = after(default_state(), Select{{0, 0, 2, 2}});
    a = after(a, Pin{RunCell{weight, 2, 0}});
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
    CHECK(worked_of(a).x == Matrix(2, 4, {0.3, 0.9, 0.1, 0.4, 0.6, 0.2, 0.7, 0.3}));
    CHECK(worked_of(a).query_labels == std::vector<std::string>{"sat", "mat"});
    CHECK(worked_of(a).key_labels == worked_of(a).query_labels);
    CHECK(worked_of(a).mask.painted == std::vector<std::uint8_t>{1, 0, 1, 1});
    const WorkedState narrow = worked_of(after(a, RemoveAt{Axis::d_model, 1}));
    CHECK(narrow.x == Matrix(2, 3, {0.3, 0.1, 0.4, 0.6, 0.7, 0.3}));
    CHECK(narrow.w_v == Matrix(3, 4, {1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}));

    State c = after(opened(PresetId::hello_query), PaintMask{0, 1, false});
    c = after(c, RemoveAt{Axis::keys, 0});
    CHECK(worked_of(c).k == Matrix(1, 3, {0.12, 0.19, -0.08}));
    CHECK(worked_of(c).v == Matrix(1, 3, {0.14, 0.12, 0.18}));
    CHECK(worked_of(c).query_labels == std::vector<std::string>{"Hello"});
    CHECK(worked_of(c).key_labels == std::vector<std::string>{"World"});
    CHECK(worked_of(c).mask.painted == std::vector<std::uint8_t>{0});
    CHECK(refusal(c, RemoveAt{Axis::keys, 0}) ==
          "The last row or column stays: attention needs at least one.");
    CHECK(refusal(c, RemoveAt{Axis::d_k, 3}) == "There is no row or column 3.");
    CHECK(refusal(c, RemoveAt{Axis::d_k, -1}) == "There is no row or column -1.");
    CHECK(refusal(c, RemoveAt{Axis::d_model, 0}) == "There is no row or column 0.");
}

TEST_CASE("another source keeps the weights and the example's numbers") {
    const State a = after(default_state(), SetTemperature{0.7});
    const State given = after(a, SetSource{Source::qkv});
    CHECK(worked_of(given).q == worked_of(a).x);
    CHECK(worked_of(given).x.empty());
    CHECK(worked_of(given).w_q.empty());
    CHECK(weights(worked_of(given)) == weights(worked_of(a)));
    const State scores = after(given, SetSource{Source::scores});
    CHECK(std::abs(worked_of(scores).scores.at(0, 0) - 0.965) < 2e-16);
    CHECK(worked_of(scores).v == worked_of(a).x);
    CHECK(worked_of(scores).temperature == 0.7);
    CHECK_FALSE(worked_of(scores).scale_by_sqrt_d);
    const auto before = weights(worked_of(a)), now = weights(worked_of(scores));
    for (std::size_t i = 0; i < now.size(); ++i) CHECK(now[i] == Catch::Approx(before[i]).margin(1e-6));
    const State from_scores = after(scores, SetSource{Source::qkv});
    CHECK(worked_of(from_scores).q == worked_of(scores).scores);
    CHECK(worked_of(from_scores).k == identity(3, 3));
    CHECK(weights(worked_of(from_scores)) == now);
    const State back = after(given, SetSource{Source::projections});
    CHECK(worked_of(back).x == worked_of(a).x);
    CHECK(worked_of(back).w_q == identity(4, 4));
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

TEST_CASE("generated numbers keep the shape and are reproducible") {
    const State a = after(default_state(), Generate{42});
    CHECK(worked_of(a).source == Source::qkv);
    CHECK(worked_of(a).q.rows == 3);
    CHECK(worked_of(a).q.cols == 4);
    CHECK(worked_of(a).q.at(0, 0) == Catch::Approx(0.4967141530112327).epsilon(1e-15));
    CHECK(worked_of(a).origin == Origin{Origin::Kind::generated, 42, 3, 3, 4, 4});
    CHECK(after(a, Generate{42}) == a);
    CHECK(worked_of(after(opened(PresetId::hello_query), Generate{1})).v.rows == 2);
    // Without values there is no d_v to keep.
    const State d = after(opened(PresetId::causal_row), Generate{1});
    CHECK(worked_of(d).q.cols == 4);
    CHECK(worked_of(d).v.cols == 4);
    CHECK_FALSE(after(after(default_state(), Pin{RunCell{x, 0, 0}}), Generate{1}).pin);
}

TEST_CASE("scale, temperature and soft cap") {
    const State a = default_state();
    CHECK_FALSE(worked_of(after(a, SetScaling{false})).scale_by_sqrt_d);
    CHECK(refusal(opened(PresetId::information_flow), SetScaling{true}) ==
          "Given scores have no d_k to be scaled by.");
    CHECK(worked_of(after(a, SetTemperature{0.01})).temperature == 0.01);
    CHECK(refusal(a, SetTemperature{0}) == "The temperature 0 is outside 0.01 to 100.");
    CHECK(refusal(a, SetTemperature{101}) == "The temperature 101 is outside 0.01 to 100.");
    CHECK(refusal(a, SetTemperature{not_a_number}) == "The temperature nan is outside 0.01 to 100.");
    CHECK(worked_of(after(a, SetSoftcap{30})).softcap == 30);
    CHECK(worked_of(after(a, SetSoftcap{0})).softcap == 0);
    CHECK(refusal(a, SetSoftcap{-1}) == "The soft cap -1 is neither 0 (off) nor from 0.01 to 1000.");
    CHECK(refusal(a, SetSoftcap{1e-300}) == "The soft cap 1e-300 is neither 0 (off) nor from 0.01 to 1000.");
    // T divides the scores, so halving it doubles them.
    const auto run = run_worked(worked_of(after(a, SetTemperature{0.5})));
    REQUIRE(run);
    CHECK(run->matrix(worked_of(a), scaled).at(0, 0) == Catch::Approx(1.93).margin(1e-6));
}

TEST_CASE("masks hide the cells they should") {
    const auto hidden = [](const State& s) {
        std::string cells;
        for (const double w : weights(worked_of(s))) cells += w == 0 ? 'x' : '.';
        return cells;
    };
    const State a = default_state();
    CHECK(hidden(a) == ".........");
    const State causal = after(a, SetMask{WorkedMask::Kind::causal, 0, 0, 0});
    CHECK(hidden(causal) == ".xx..x...");
    CHECK(hidden(after(a, SetMask{WorkedMask::Kind::causal, 1, 0, 0})) == "..x......");
    CHECK(hidden(after(a, SetMask{WorkedMask::Kind::causal, -1, 0, 0})) == "xxx.xx..x");
    CHECK(hidden(after(a, SetMask{WorkedMask::Kind::window, 0, 1, 0})) == ".xx..xx..");
    // Painting starts from the mask that was in force.
    const State painted = after(causal, PaintMask{0, 2, true});
    CHECK(hidden(painted) == ".x...x...");
    CHECK(hidden(after(painted, PaintMask{2, 0, false})) == ".x...xx..");
    CHECK(after(painted, SetMask{WorkedMask::Kind::painted, 0, 0, 0}) == painted);
    CHECK(after(painted, SetMask{WorkedMask::Kind::none, 0, 0, 0}) == a);
    // The output of a row that sees nothing is zero.
    const auto run = run_worked(worked_of(after(a, SetMask{WorkedMask::Kind::causal, -3, 0, 0})));
    REQUIRE(run);
    for (const double value : run->matrix(worked_of(a), output).values) CHECK(value == 0);
    const std::string wide = "A mask reaches at most 64 tokens here.";
    CHECK(refusal(a, SetMask{WorkedMask::Kind::causal, 65, 0, 0}) == wide);
    CHECK(refusal(a, SetMask{WorkedMask::Kind::causal, std::numeric_limits<Index>::min(), 0, 0}) == wide);
    CHECK(refusal(a, SetMask{WorkedMask::Kind::window, 0, -1, 0}) == wide);
    CHECK(refusal(a, PaintMask{3, 0, true}) == "That cell lies outside the mask.");
    CHECK(refusal(a, PaintMask{0, -1, true}) == "That cell lies outside the mask.");
}

TEST_CASE("a token of X is both a query and a key; otherwise these have labels of their own") {
    const WorkedState a = worked_of(after(default_state(), SetLabel{true, 1, "slept"}));
    CHECK(a.query_labels[1] == "slept");
    CHECK(a.key_labels[1] == "slept");
    const State c = opened(PresetId::hello_query);
    const WorkedState keyed = worked_of(after(c, SetLabel{true, 0, "Bye"}));
    CHECK(keyed.key_labels[0] == "Bye");
    CHECK(keyed.query_labels[0] == "Hello");
    CHECK(refusal(c, SetLabel{false, 1, "World"}) == "Choose one of the tokens; this one does not exist.");
    CHECK(refusal(c, SetLabel{false, 0, std::string(65, 'x')}) ==
          "A token's name is UTF-8 of at most 64 bytes.");
    CHECK(refusal(c, SetLabel{false, 0, "\xff"}) == "A token's name is UTF-8 of at most 64 bytes.");
}

TEST_CASE("the sentence and its selection") {
    const State s = after(default_state(), OpenSubject{sentence_subject});
    CHECK(sentence_of(after(s, SetText{"The cat"})).text == "The cat");
    CHECK(refusal(s, SetText{"\xc3"}) == "The text is not UTF-8.");
    State chosen = after(s, Select{{3, 5, 700, 2}});
    CHECK(after(chosen, SetModel{"tiny"}).selection == Selection{});
    chosen.edit<SentenceState>().model = "tiny";
    CHECK(after(chosen, SetModel{"tiny"}) == chosen);
    CHECK(refusal(s, SetModel{std::string(201, 'm')}) == "A model's name is UTF-8 of at most 200 bytes.");
    const Bookmark place{4, 7, {0, 13}, {3, 10}};
    CHECK(looks_of(after(s, AddBookmark{place}), sentence_subject).bookmarks == std::vector{place});
    CHECK(looks_of(after(after(s, AddBookmark{place}), AddBookmark{place}), sentence_subject).bookmarks ==
          std::vector{place});
    CHECK(
        looks_of(after(after(s, AddBookmark{place}), RemoveBookmark{0}), sentence_subject).bookmarks.empty());
    CHECK(!apply(s, RemoveBookmark{0}));
    CHECK(!apply(s, AddBookmark{{0, 0, {5, 5}, {0, 1}}}));
    CHECK(!apply(s, AddBookmark{{-1, 0, {0, 1}, {0, 1}}}));
    State full = s;
    for (Index i = 0; i < static_cast<Index>(bookmark_limit); ++i)
        full = after(full, AddBookmark{{0, 0, {i, i + 1}, {0, 1}}});
    CHECK(!apply(full, AddBookmark{place}));
    const State marked = after(s, AddBookmark{place, tensors_subject});
    CHECK(looks_of(marked, tensors_subject).bookmarks == std::vector{place});
    CHECK(looks_of(marked, sentence_subject).bookmarks.empty());
    CHECK(after(marked, RemoveBookmark{0, tensors_subject}) == s);
    CHECK(!apply(marked, RemoveBookmark{1, tensors_subject}));
    CHECK(looks_of(after(s, SetMap{{.stage = Stage::contribution}}), sentence_subject).map.stage ==
          Stage::contribution);
    const HeadsChoice by_induction{HeadScore::induction, {}};
    CHECK(looks_of(after(s, SetHeads{by_induction}), sentence_subject).heads == by_induction);
    CHECK(refusal(s, SetHeads{{{}, HeadScore::induction}}) == "Choose a horizontal score first.");
    const FlowChoice flow{0.5f, FlowForm::columns, {{1, 0}, {0, 2}}};
    CHECK(looks_of(after(s, SetFlow{flow}), sentence_subject).flow == flow);
    CHECK(looks_of(after(after(s, SetFlow{flow}), SetModel{"another"}), sentence_subject).flow.heads.empty());
    CHECK(refusal(s, SetFlow{{.mass = 1.5f}}) == "The share of a row lies between 0 and 1.");
    CHECK(refusal(s, SetFlow{{.heads = {{0, 1}, {2, 3}, {0, 1}}}}) ==
          "Choose a head of the model; this one does not exist.");
    CHECK(refusal(s, SetFlow{{.heads = {{0, -1}}}}) ==
          "Choose a head of the model; this one does not exist.");
    std::vector<HeadIndex> many(flow_heads_limit);
    for (Index i = 0; i < std::ssize(many); ++i) many[static_cast<std::size_t>(i)].head = i;
    CHECK(refusal(s, SetFlow{{.heads = many}}) == "The flow shows at most 8 heads at once.");
    many.pop_back();
    CHECK(looks_of(after(s, SetFlow{{.heads = many}}), sentence_subject).flow.heads == many);
    CHECK(sentence_of(after(s, SetSampling{{0, 0, 1, 9}})).sampling == SamplingState{0, 0, 1, 9});
    for (const SamplingState& bad :
         {SamplingState{-1, 0, 1, 0}, SamplingState{1, -1, 1, 0}, SamplingState{1, 0, 0, 0}})
        CHECK(
            refusal(s, SetSampling{bad}) ==
            "Sampling takes a temperature from 0 to 100, a top-k of 0 or more and a top-p above 0 up to 1.");
    CHECK(refusal(s, Select{{-1, 0, {}, {}}}) == "Choose a row and a column of the matrix.");
    CHECK(refusal(s, Select{{0, 0, position_limit, {}}}) == "Choose a row and a column of the matrix.");
    CHECK(refusal(default_state(), Select{{0, 0, 3, {}}}) == "Choose a row and a column of the matrix.");
    CHECK(after(s, Pin{RunCell{weight, 500, 400}}).pin == RunCell{weight, 500, 400});
    CHECK(refusal(s, Pin{RunCell{x, 0, 0}}) == "Choose a cell on screen to pin; this one does not exist.");
    CHECK(refusal(default_state(), Pin{RunCell{weight, 3, 0}}) ==
          "Choose a cell on screen to pin; this one does not exist.");
    CHECK(refusal(opened(PresetId::causal_row), Pin{RunCell{output, 0, 0}}) ==
          "Choose a cell on screen to pin; this one does not exist.");
}

TEST_CASE("a lens's own number is pinned while that lens is open") {
    State opened_lens = after(opened(PresetId::cat_sat_mat), OpenLens{"softmax"});
    const CellRef number = (*lens_of(opened_lens).cells.front())(1, 1);
    const State pinned = after(opened_lens, Pin{number});
    CHECK(pinned.pin == number);
    CHECK(parse_fragment(to_fragment(pinned)).state == pinned);
    CHECK(after(pinned, Select{{0, 0, 1, 1}}).pin == number);
    CHECK(after(pinned, OpenLens{pinned.lens}).pin == number);
    for (const LensEntry& other : lens_list())
        if (other.key != pinned.lens) CHECK_FALSE(after(pinned, OpenLens{other.key}).pin);
    constexpr const char* refused = "Choose a cell on screen to pin; this one does not exist.";
    CHECK(refusal(pinned, Pin{(*lens_of(pinned).cells.front())(1, 99)}) == refused);
    CHECK(refusal(default_state(), Pin{number}) == refused);
}

TEST_CASE("the status line says what was done") {
    const State a = default_state();
    CHECK(Command(SetCell{{x, 0, 1}, 0.7}).describe(a) == "X[cat, 1] 0.5 → 0.7");
    CHECK(Command(Resize{Axis::queries, 4}).describe(a) == "tokens 3 → 4");
    CHECK(Command(RemoveAt{Axis::d_k, 1}).describe(a) == "removed 1 of d_k");
    CHECK(Command(OpenPreset{PresetId::causal_row}).describe(a) == "example D");
    CHECK(Command(PasteCells{{x, 0, 0}, Matrix(2, 3)}).describe(a) == "pasted 2×3 into X");
    CHECK(Command(SetTemperature{0.5}).describe(a) == "temperature 0.5");
    CHECK(Command(SetSoftcap{0}).describe(a) == "no soft cap");
    CHECK(Command(SetMask{WorkedMask::Kind::causal, -1, 0, 0}).describe(a) == "causal mask, offset -1");
    CHECK(Command(SetMask{WorkedMask::Kind::window, 0, 2, 1}).describe(a) == "window of 2 before, 1 after");
    CHECK(Command(PaintMask{0, 1, false}).describe(a) == "hid Masked[cat, sat]");
    CHECK(Command(SetSource{Source::scores}).describe(a) == "from scores");
    CHECK(Command(SetScaling{true}).describe(a) == "scale 1/√d_k");
    CHECK(Command(SetHeads{}).describe(a) == "heads by layer");
    CHECK(Command(SetHeads{{HeadScore::first_token, HeadScore::distance}}).describe(a) ==
          "heads by first token and distance");
    RandomCommands commands(1);
    for (int i = 0; i < 2000; ++i) (void)Command(commands.next(a)).describe(a);
}

TEST_CASE("random commands cover every kind that the house declares") {
    std::set<std::string> declared;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir() / "web")) {
        if (entry.path().extension() != ".hpp") continue;
        const auto bytes = read_file(entry.path());
        const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        static const std::regex parts(
            R"re(\n(?:struct|class) (\w+)[^;\n]*\{|\n    Status apply\((?:app::)?State& \w*\) const;)re");
        std::string last;
        for (std::sregex_iterator it(text.begin(), text.end(), parts), end; it != end; ++it)
            if ((*it)[1].matched)
                last = (*it)[1];
            else
                declared.insert(last);
    }
    const std::vector<std::string> names = RandomCommands::names();
    CHECK(std::set<std::string>(names.begin(), names.end()) == declared);
}

TEST_CASE("any commands in any order leave a State that is valid and runs") {
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(300 / thinned); ++seed) {
        RandomCommands commands(seed);
        State s = default_state();
        for (int step = 0; step < 60; ++step) {
            const Command command = commands.next(s);
            auto next = app::apply(s, command);
            if (!next) {
                REQUIRE(next.error().message.ends_with('.'));
                continue;
            }
            INFO("seed " << seed << ", step " << step << ", " << command.describe(s));
            s = *std::move(next);
            check_valid(s);
            if (step % 10 == 0) REQUIRE(run_worked(worked_of(s)));
        }
    }
}
