#include "lenses/order/order.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/linalg/vectors.hpp"
#include "app/copied.hpp"
#include "app/link.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/frame/screen.hpp"
#include "unit/lenses/order_screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

constexpr std::array all_schemes{PositionScheme::none,   PositionScheme::learned, PositionScheme::sinusoidal,
                                 PositionScheme::rotary, PositionScheme::alibi,   PositionScheme::buckets};

}  // namespace

TEST_CASE("Order works for every subject that has q and k of its tokens, and names them") {
    Screen screen;
    screen.open_sentence();
    screen.train_some();
    for (const std::string_view subject : {worked_subject, sentence_subject, training_subject}) {
        INFO(subject);
        screen.visit.perform(OpenSubject{subject});
        open_order(screen);
        for (const char* part : {"order/token/0", "order/after/0/0", "order/before/0/0", "order/off/0",
                                 "order/scheme-numbers/5/3", "order/score/0/0", "order/dial/0",
                                 "chart/order-distance", "chart/order-length", "chart/order-wavelength"})
            CHECK(screen.shows(part));
        CHECK(spoken(screen.visit).starts_with("Drag a word to see what the order changes without "));
    }
    screen.visit.perform(OpenSubject{worked_subject});
    screen.visit.perform(OpenPreset{*preset_by_key("hello-scores")});
    screen.settle();
    CHECK(lens_in(screen.visit).missing(subject_in(screen.visit)));
}

TEST_CASE("a dragged token takes its output along, and undo restores it") {
    Screen screen;
    open_order(screen);
    const Record& record = worked_in(screen.visit).run().record;
    drag(screen, "order/token/0", "order/token/2");
    CHECK(now(screen.visit).order == std::vector<Index>{1, 2, 0});
    CHECK(spoken(screen.visit).starts_with("Without positions, every output moved along with its token"));
    for (Index token = 0; token < 3; ++token)
        for (Index b = 0; b < 4; ++b) {
            const auto found = why(screen.visit, order::cells::output(order::TokenOrder::permuted, token, b));
            REQUIRE(found);
            // The example has no mask and no positions: its outputs are the record's, wherever the token is.
            CHECK(found->f64 ==
                  Catch::Approx(static_cast<double>(record.output().heads().head(0)(token, b))).margin(1e-6));
        }
    CHECK(f64(screen.visit, order::cells::largest_output_change(0)) < 1e-15);
    for (const PositionScheme scheme : all_schemes)
        if (scheme != PositionScheme::none)
            CHECK(f64(screen.visit, order::cells::largest_output_change(scheme)) > 1e-4);
    screen.visit.undo();
    CHECK(now(screen.visit).order.empty());
    screen.draw(2);
    screen.click("order/preset/swap");
    CHECK(now(screen.visit).order == std::vector<Index>{2, 1, 0});
    screen.draw(2);
    screen.click("order/preset/shift");
    CHECK(now(screen.visit).scheme == PositionScheme::rotary);
    screen.draw(2);
    screen.click("order/preset/own");
    CHECK(now(screen.visit) == order::State{});
}

TEST_CASE("Order's settings are in the link and in undo") {
    Screen screen;
    open_order(screen);
    change(screen, [](order::State& o) {
        o = {.scheme = PositionScheme::alibi,
             .order = {2, 0, 1},
             .first = 3,
             .key_order = {1, 0},
             .first_key = 4,
             .masked = true,
             .interleaved = true,
             .shift = 77,
             .turn = 5,
             .reach = 32,
             .mean = true,
             .trained = 512,
             .factor = 8,
             .far = 700,
             .pair = 1,
             .seed = 9};
    });
    const std::string link = to_fragment(screen.visit.state());
    CHECK(
        link ==
        "v=1&lens=order&order.positions=alibi&order.shift=77&order.factor=8&order.trained=512&order.mask=own&"
        "order.turn=5&order.seed=9&order.keys=1,0&order.tokens=2,0,1&order.first=3&order.first_key=4&"
        "order.far=700&order.pair=1&order.reach=32&order.content=mean&order.pairs=interleaved");
    CHECK(parse_fragment(link).state == screen.visit.state());
    screen.visit.undo();
    CHECK(now(screen.visit) == order::State{});
    for (const char* bad :
         {"v=1&order.positions=x", "v=1&order.tokens=0,0", "v=1&order.tokens=1,2", "v=1&order.shift=-1",
          "v=1&order.shift=1000001", "v=1&order.reach=0", "v=1&order.factor=65", "v=1&order.mask=no",
          "v=1&order.first=-1", "v=1&order.first_key=-1", "v=1&order.keys=1,1", "v=1&order.far=-1",
          "v=1&order.pair=-1", "v=1&order.seed=-1"})
        CHECK_FALSE(parse_fragment(bad).note.empty());
    // Tokens in their original order are not a reordering.
    CHECK(after(default_state(), Set<order::State>{{.order = {0, 1, 2}}}).of<order::State>().order.empty());
    CHECK(order::with_moved({0, 1, 2, 3}, 0, 2) == std::vector<Index>{1, 2, 0, 3});
    CHECK(order::with_moved({0, 1, 2, 3}, 3, 1) == std::vector<Index>{0, 3, 1, 2});
}

TEST_CASE("a RoPE model's original order under its own mask and RoPE gives its run") {
    Screen screen;
    screen.train_some();
    open_order(screen);
    for (const HeadIndex head : {HeadIndex{0, 0}, HeadIndex{1, 1}}) {
        screen.visit.perform(Select{{head.layer, head.head, {}, {}, {}}});
        change(screen,
               [](order::State& o) { o = {.scheme = PositionScheme::rotary, .first = 0, .masked = true}; });
        const order::Model& model = order_in(screen.visit);
        REQUIRE(model.content);
        CHECK(model.content->from() == UnplacedRows::From::unturned);
        const auto record = subject_in(screen.visit).attention()->record(head.layer);
        const auto* runs = model.run(PositionScheme::rotary);
        REQUIRE(runs);
        for (Index token = 0; token < runs->after.queries(); ++token)
            for (Index b = 0; b < record->d_v(); ++b)
                CHECK(runs->after.record.output().heads().head(0)(token, b) ==
                      Catch::Approx(record->output().heads().head(head.head)(token, b)).margin(2e-6));
        for (Index token = 0; token < runs->after.queries(); ++token)
            for (Index a = 0; a < record->d_k(); ++a)
                CHECK(runs->after.record.q().heads().head(0)(token, a) ==
                      Catch::Approx(record->q().heads().head(head.head)(token, a)).margin(2e-6));
    }
}

TEST_CASE("if q and k already contain positions, Order leads to the layer that can do without") {
    Screen screen;
    screen.open_sentence();
    screen.visit.perform(Select{{1, 2, {}, {}, {}}});
    open_order(screen);
    REQUIRE(order_in(screen.visit).content->from() == UnplacedRows::From::inside);
    CHECK(spoken(screen.visit)
              .starts_with("Drag a word to see what the order changes without adding positions."));
    screen.click("order/first-layer");
    screen.settle();
    CHECK(screen.visit.state().selection.layer == 0);
    CHECK(order_in(screen.visit).content->from() == UnplacedRows::From::embedding);
    CHECK_FALSE(screen.shows("order/first-layer"));
}

TEST_CASE("every number of Order explains itself, and its calculation ends in its f64") {
    Screen screen;
    screen.open_sentence();
    screen.train_some();
    for (const std::string_view subject : {worked_subject, sentence_subject, training_subject})
        for (const PositionScheme scheme : all_schemes)
            for (const bool masked : {false, true}) {
                screen.visit.perform(OpenSubject{subject});
                open_order(screen);
                const Index n = order_in(screen.visit).queries.size();
                change(screen, [&](order::State& o) {
                    o = {.scheme = scheme,
                         .masked = masked,
                         .shift = 3,
                         .turn = 2,
                         .reach = 32,
                         .mean = masked};
                    o.order = order::order_of({}, n);
                    std::ranges::reverse(o.order);
                });
                std::vector<CellRef> cells{order::cells::output(order::TokenOrder::original, 0, 1),
                                           order::cells::output(order::TokenOrder::permuted, 0, 1),
                                           order::cells::output_change(0),
                                           order::cells::score(0, 1),
                                           order::cells::score(1, 0),
                                           order::cells::rotary_pair(0)};
                for (Index s = 0; s < std::ssize(order_in(screen.visit).offered()); ++s) {
                    cells.push_back(order::cells::largest_output_change(s));
                    cells.push_back(order::cells::equal_scores(s));
                    cells.push_back(order::cells::largest_score_change(s, order::Precision::f32));
                    cells.push_back(order::cells::largest_score_change(s, order::Precision::f64));
                    cells.push_back(order::cells::score_at_distance(s, 7));
                }
                for (std::size_t kind = 0; kind < length_scalings; ++kind) {
                    cells.push_back(order::cells::extrapolated_score(kind, 50));
                    cells.push_back(order::cells::wavelength(kind, 0));
                }
                for (const CellRef& cell : cells) {
                    INFO(subject << ", scheme " << static_cast<int>(scheme) << ", " << write_cell(cell));
                    const auto found = why(screen.visit, cell);
                    REQUIRE(found);
                    CHECK_FALSE(found->title.empty());
                    CHECK_FALSE(found->provenance.empty());
                    // A shift changes scores only by rounding, of which f32 has more.
                    if (!cell.is(order::cells::largest_score_change))
                        CHECK(found->f32 == Catch::Approx(found->f64).epsilon(2e-5).margin(2e-5));
                    check_calculated(*found);
                    CHECK_FALSE(copied(*found, Dialect::numpy).empty());
                }
                CHECK_FALSE(why(screen.visit, order::cells::output_change(1000)));
                CHECK_FALSE(why(screen.visit, order::cells::score_at_distance(0, 900'000)));
            }
}

TEST_CASE("the operands of a score in the original order lead to the head's q and k") {
    Screen screen;
    screen.train_some();
    open_order(screen);
    change(screen, [](order::State& o) { o.scheme = PositionScheme::rotary; });
    const auto score = why(screen.visit, order::cells::score(0, 1));
    REQUIRE(score);
    for (const auto& operand : score->operands) {
        REQUIRE(operand.left_at);
        CHECK(operand.left_at->cell.is(Stage::q));
        const auto there = subject_in(screen.visit).explain_at(*operand.left_at);
        REQUIRE(there);
        CHECK(there->f32 == Catch::Approx(operand.left).margin(1e-5));
    }
    change(screen, [](order::State& o) { o.scheme = PositionScheme::none; });
    const auto plain = why(screen.visit, order::cells::score(0, 1));
    REQUIRE(plain);
    for (const auto& operand : plain->operands) {
        REQUIRE(operand.right_at);
        CHECK(operand.right_at->cell.is(Stage::k_pre_rope));
        const auto there = subject_in(screen.visit).explain_at(*operand.right_at);
        REQUIRE(there);
        CHECK(there->f32 == Catch::Approx(operand.right).margin(1e-5));
    }
}

TEST_CASE("an output before the move leads to the head's own weights and values, if they are the same") {
    Screen screen;
    screen.train_some();
    open_order(screen);
    change(screen,
           [](order::State& o) { o = {.scheme = PositionScheme::rotary, .first = 0, .masked = true}; });
    const auto output = why(screen.visit, order::cells::output(order::TokenOrder::original, 3, 0));
    REQUIRE(output);
    for (const auto& operand : output->operands) {
        REQUIRE(operand.left_at);
        REQUIRE(operand.right_at);
        const auto weight = subject_in(screen.visit).explain_at(*operand.left_at),
                   value = subject_in(screen.visit).explain_at(*operand.right_at);
        REQUIRE(weight);
        REQUIRE(value);
        CHECK(weight->f64 == Catch::Approx(operand.left).margin(1e-6));
        CHECK(value->f32 == Catch::Approx(operand.right).margin(1e-6));
    }
    change(screen, [](order::State& o) { o.masked = false; });
    const auto before = why(screen.visit, order::cells::output(order::TokenOrder::original, 3, 0));
    for (const auto& operand : before->operands) CHECK_FALSE(operand.left_at);
}

TEST_CASE("distances and lengths are the scores they claim to be, and their slices end") {
    Screen screen;
    open_order(screen);
    order::Model& model = order_in(screen.visit);
    const DistanceCurves& distances = model.curves().distances;
    CHECK(distances.done());
    const std::vector<double> q = model.content->row(Stage::q, 2), k = model.content->row(Stage::k, 0);
    const double plain = dot(q, k) / 2;  // d_k = 4
    for (Index d = 0; d <= 128; ++d) {
        const auto at = static_cast<std::size_t>(d);
        CHECK(distances.scores(PositionScheme::none)[at] == Catch::Approx(plain).epsilon(1e-7));
        // The only head has the ALiBi slope 2⁻⁸.
        CHECK(distances.scores(PositionScheme::alibi)[at] ==
              Catch::Approx(plain - static_cast<double>(d) / 256).epsilon(1e-7));
        // Components 0 and 2 are a pair that rotates by 1, 1 and 3 one that rotates by 1/100.
        const auto turned = [&](std::size_t a, double angle) {
            return (q[a] * k[a] + q[a + 2] * k[a + 2]) * std::cos(angle) +
                   (q[a] * k[a + 2] - q[a + 2] * k[a]) * std::sin(angle);
        };
        const auto distance = static_cast<double>(d);
        CHECK(distances.scores(PositionScheme::rotary)[at] ==
              Catch::Approx((turned(0, distance) + turned(1, distance / 100)) / 2).margin(1e-7));
    }
    const LengthCurves& lengths = model.curves().lengths;
    CHECK(lengths.done());
    CHECK(lengths.first_distance(24) == 2048);  // a quarter of 4 · 2,048
    for (const Index d : {0, 1, 77})
        CHECK(lengths.score(0, d) ==
              Catch::Approx(distances.scores(PositionScheme::rotary)[static_cast<std::size_t>(d)])
                  .margin(1e-9));
    // Linear scaling treats a distance as a fourth of it.
    CHECK(lengths.score(1, 300) == Catch::Approx(distances.scores(PositionScheme::rotary)[75]).margin(1e-9));
    // YaRN's scores at distance 0 are larger by its temperature.
    const double m = 0.1 * std::log(4.0) + 1;
    CHECK(lengths.score(3, 0) == Catch::Approx(m * m * lengths.score(0, 0)).epsilon(1e-12));
}

TEST_CASE("Order says what is wrong with its tokens, and stays") {
    Screen screen;
    Tensor q = random_tensor({14, 4}, 1);
    q.values()[4] = not_a_number;  // belongs to token 1
    put(screen.visit, {{"q.npy", write_npy({14, 4}, q.values())},
                       {"k.npy", normal_npy({14, 4}, 2)},
                       {"v.npy", normal_npy({14, 3}, 3)}});
    screen.settle();
    REQUIRE(screen.visit.state().subject == tensors_subject);
    open_order(screen);
    CHECK(screen.shows("order/refused"));
    CHECK(spoken(screen.visit).find("NaN or infinite") != std::string::npos);
    CHECK_FALSE(why(screen.visit, order::cells::output_change(0)));
    CHECK(lens_in(screen.visit).tables(subject_in(screen.visit)).empty());
    // Only twelve tokens are in view, and the last ones are good.
    for (int i = 0; i < 2; ++i) screen.click("order/first/more");
    screen.settle();
    CHECK(now(screen.visit).first == 2);
    CHECK_FALSE(screen.shows("order/refused"));
    CHECK(f64(screen.visit, order::cells::equal_scores(0)) == 144);
}

TEST_CASE("a learned table ends, and positions beyond it are left out") {
    Screen screen;
    open_order(screen);
    change(screen, [](order::State& o) { o.scheme = PositionScheme::learned; });
    CHECK_FALSE(order_in(screen.visit).run(PositionScheme::learned)->shifted);
    CHECK_FALSE(why(screen.visit, order::cells::equal_scores(PositionScheme::learned)));
    change(screen, [](order::State& o) { o.shift = 500; });
    CHECK(order_in(screen.visit).run(PositionScheme::learned)->shifted);
    CHECK(f64(screen.visit,
              order::cells::largest_score_change(PositionScheme::learned, order::Precision::f64)) > 0.01);
    for (const PositionScheme scheme : {PositionScheme::none, PositionScheme::alibi, PositionScheme::buckets})
        CHECK(f64(screen.visit, order::cells::equal_scores(scheme)) == 9);
}

TEST_CASE("the pictures of Order have tables of what they show, and a click pins its number") {
    Screen screen({1440, 3000});
    screen.open_sentence(5);
    open_order(screen);
    change(screen, [](order::State& o) { o.order = {1, 0, 2, 3, 4}; });
    const Reordering& runs = *order_in(screen.visit).run(PositionScheme::none);
    const Table tokens = table_of(screen, "Tokens in this order"),
                after = table_of(screen, "Outputs in this order"),
                scores = table_of(screen, "Scores in this order"),
                dials = table_of(screen, "What each pair adds");
    CHECK(tokens.row_labels == std::vector<std::string>{"word1", "word0", "word2", "word3", "word4"});
    CHECK(tokens.values.at(1, 0) == 0);
    CHECK(tokens.values.at(1, 1) == 1);
    // The outputs of token 0, which is at place 1.
    CHECK(after.values.at(0, 2) == runs.after.outputs[static_cast<std::size_t>(after.values.cols + 2)]);
    CHECK(scores.row_labels == tokens.row_labels);
    CHECK(scores.values.at(1, 3) == runs.after.scores[5 + 3]);
    CHECK(dials.values.at(0, 4) == Catch::Approx(f64(screen.visit, order::cells::rotary_pair(0))));
    CHECK(table_of(screen, "How far each output").values.at(0, 0) ==
          static_cast<double>(static_cast<float>(runs.carried.f32[0])));
    table_of(screen, "Score over distance");
    table_of(screen, "Outputs before");
    table_of(screen, "Wavelength of each pair");
    const std::pair<const char*, CellRef> clicks[]{
        {"order/after/1/2", order::cells::output(order::TokenOrder::permuted, 1, 2)},
        {"order/scheme-numbers/2/0", order::cells::largest_output_change(PositionScheme::sinusoidal)},
        {"order/score/3/1", order::cells::score(3, 1)},
        {"order/off/4", order::cells::output_change(4)},
        {"order/dial/1", order::cells::rotary_pair(1)}};
    for (const auto& [landmark, cell] : clicks) {
        screen.click(landmark);
        CHECK(screen.visit.state().pin == cell);
    }
}
