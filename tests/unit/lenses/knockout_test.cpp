#include "lenses/knockout/knockout.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/linalg/rank_correlation.hpp"
#include "app/link.hpp"
#include "parts/text_pairs.hpp"
#include "support/translator.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/frame/pictures.hpp"
#include "unit/lenses/knockout_by_hand.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using namespace attn::app::knockout::cells;
using Catch::Matchers::ContainsSubstring;

namespace {

// The words of write_words are 0, 1, 2, 3, 4, 0.
void add_twin(Screen& screen, const std::vector<std::int32_t>& ids = {0, 1, 7, 3, 4, 0}) {
    screen.visit.perform(Compare{Comparison{.text = "other words"}});
    std::vector<std::string> pieces;
    for (const std::int32_t id : ids) pieces.push_back("other" + std::to_string(id));
    screen.visit.tokens({Box::second, "other words", ids, pieces, std::ssize(ids)});
    screen.settle();
}

void check_head_falls(const Visit& visit, const std::shared_ptr<const Trace>& twin = nullptr) {
    const knockout::Model& lens = knockout_in(visit);
    REQUIRE(lens.removals());
    REQUIRE(lens.removals()->done());
    const knockout::Removal removal = visit.state().of<knockout::State>().removal;
    std::vector<double> falls, direct;
    for (Index layer = 0; layer < lens.removals()->attentions(); ++layer)
        for (Index head = 0; head < lens.removals()->heads(); ++head) {
            CAPTURE(layer, head);
            Intervention change{.attention = layer, .edit = {.head = head}};
            if (removal == knockout::Removal::mean) change.edit.operation = Operation::mean;
            if (twin) {
                change.edit.operation = Operation::patch;
                change.from = {twin};
            }
            // A run has the same bits however it is divided into slices.
            CHECK(*lens.removals()->logit_drop({layer, head}) ==
                  Catch::Approx(-moved_by_hand(*lens.target, change)).margin(1e-12));
            if (const auto adds = lens.removals()->direct({layer, head})) {
                falls.push_back(*lens.removals()->logit_drop({layer, head}));
                direct.push_back(*adds);
            }
        }
    REQUIRE(lens.agreement());
    CHECK(lens.agreement()->direct == rank_correlation(falls, direct));
    CHECK(std::abs(lens.agreement()->look) <= 1 + 1e-12);
}

}  // namespace

TEST_CASE("Knock-out works for a sentence and for a network in training, in all its parts") {
    Screen screen;
    screen.open_sentence();
    screen.train_some();
    for (const std::string_view subject : {sentence_subject, training_subject}) {
        INFO(subject);
        screen.visit.perform(OpenSubject{subject});
        show_knockout(screen);
        for (const char* part :
             {"knockout/fall/0/0", "knockout/direct/1/1", "knockout/look/1/1", "knockout/agreement"}) {
            INFO(part);
            CHECK(screen.shows(part));
        }
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("ithout "));
        show_knockout(screen, {.part = knockout::Part::edges});
        const std::string corner = "0/0";
        for (const std::string& part : {std::string("knockout/strongest/0"), std::string("knockout/off_by"),
                                        "knockout/estimate/" + corner, "knockout/weights/" + corner}) {
            INFO(part);
            CHECK(screen.shows(part));
        }
        CHECK(spoken(screen.visit).starts_with("If "));
        show_knockout(screen, {.part = knockout::Part::patching});
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("There is no second text."));
        screen.bring("knockout/second");
        CHECK(screen.shows("knockout/second") == (subject == sentence_subject));
    }
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    CHECK(screen.shows("missing/sentence"));
    CHECK(screen.page.notices.empty());
}

TEST_CASE("the drop without a head matches a separate run, in any family") {
    for (const char* name : {"gpt2", "gemma2", "mixtral", "bert"}) {
        CAPTURE(name);
        Screen screen;
        open_family(screen, name);
        for (const knockout::Removal removal : {knockout::Removal::zero, knockout::Removal::mean}) {
            show_knockout(screen, {.removal = removal});
            const knockout::Model& lens = knockout_in(screen.visit);
            REQUIRE(lens.target);
            CHECK(lens.target->loss.raise == sentence_in(screen.visit).next_tokens().candidates.front().id);
            CHECK_FALSE(lens.target->loss.over);
            check_head_falls(screen.visit);
        }
    }
    for (const SmallFamily& family : small_encoder_decoders) {
        CAPTURE(family.name);
        Screen screen;
        open_encoder_decoder(screen.visit, family, {5, 9, 13, 7, 1}, {4, 11, 6, 8});
        show_knockout(screen);
        check_head_falls(screen.visit);
        // An encoder's heads reach the logit only through others.
        CHECK_FALSE(knockout_in(screen.visit).removals()->direct({0, 0}));
    }
}

TEST_CASE(
    "with a counterfactual the target is what distinguishes the two, and heads and vectors are patched from "
    "it") {
    Screen screen;
    screen.open_sentence();
    add_twin(screen);
    show_knockout(screen, {.removal = knockout::Removal::twin});
    // It can be typed here.
    CHECK(sentence_in(screen.visit).lower_box(Box::second));
    const auto twin = second_of(subject_in(screen.visit))->trace();
    const knockout::Model& lens = knockout_in(screen.visit);
    REQUIRE(lens.target);
    const auto likeliest = [](const Trace& trace) {
        const Tensor logits = trace.logits({trace.tokens() - 1, trace.tokens()});
        return static_cast<std::int32_t>(std::ranges::max_element(logits.values()) - logits.values().begin());
    };
    const std::int32_t here = likeliest(*lens.target->trace), there = likeliest(*twin);
    CHECK(lens.target->loss.raise == here);
    CHECK(lens.target->loss.over == (here == there ? std::nullopt : std::optional(there)));
    check_head_falls(screen.visit, twin);
    for (const bool back : {false, true})
        for (const Site site : knockout::patch_sites) {
            CAPTURE(back, info(site).name);
            show_knockout(screen, {.part = knockout::Part::patching, .site = site, .back = back});
            const LogitTarget into{back ? twin : lens.target->trace, lens.target->loss};
            const auto from = back ? lens.target->trace : twin;
            REQUIRE(lens.patches());
            CHECK(lens.patches()->value() == target_by_hand(*into.trace, into.loss));
            CHECK(lens.patches()->other() == target_by_hand(*from, into.loss));
            for (Index layer = 0; layer < 2; ++layer)
                for (Index token = 0; token < 6; ++token) {
                    const Intervention change{.attention = layer,
                                              .site = site,
                                              .edit = {.rows = {token}, .operation = Operation::patch},
                                              .from = {from}};
                    REQUIRE(lens.patches()->moved(layer, token));
                    CHECK(*lens.patches()->moved(layer, token) ==
                          Catch::Approx(moved_by_hand(into, change)).margin(1e-12));
                    if (token < 2) CHECK(*lens.patches()->moved(layer, token) == 0);
                }
            CHECK(screen.shows("knockout/patch/1/5"));
            const std::string source = back ? "the first text" : "the second text";
            CHECK(spoken(screen.visit)
                      .starts_with(site == Site::resid_pre ? "With the residual of " + source
                                                           : "Taken from " + source));
        }
    add_twin(screen, {0, 1, 7});
    show_knockout(screen, {.removal = knockout::Removal::twin});
    CHECK(spoken(screen.visit) ==
          "The second text has 3 tokens and this one 6. To take numbers from one to the other, both need as "
          "many: "
          "change one of them.");
    CHECK(lens_in(screen.visit).tables(subject_in(screen.visit)).empty());
}

TEST_CASE("every number of Knock-out explains itself, and its calculation ends in its f64") {
    Screen screen;
    open_family(screen, "gpt2");
    add_twin(screen);
    // Gradients and values in f32 reach 20.
    const auto check = [&](const CellRef& cell) { check_told(screen, cell, 3e-5, 3e-5); };
    for (const knockout::Removal removal :
         {knockout::Removal::zero, knockout::Removal::mean, knockout::Removal::twin}) {
        show_knockout(screen, {.removal = removal});
        for (const CellKind* kind : {&head_ablation, &direct_effect, &max_weight}) check((*kind)(1, 1));
        check(direct_effect(0, 2));
        for (const CellRef& cell : {head_ablation(2, 0), head_ablation(0, 2), direct_effect(0, 3),
                                    edge_ablation(0), patching(0, 0), edge_estimate(1, 0)})
            CHECK_FALSE(why(screen.visit, cell));
    }
    show_knockout(screen, {.part = knockout::Part::edges});
    for (const Index key : {0, 3}) {
        check(edge_ablation(key));
        check(strongest_edge(key));
        check(edge_estimate(4, key));
    }
    for (const CellRef& cell : {edge_ablation(6), strongest_edge(100), edge_estimate(2, 4),
                                edge_estimate(6, 0), head_ablation(0, 0)})
        CHECK_FALSE(why(screen.visit, cell));
    show_knockout(screen, {.part = knockout::Part::patching});
    check(patching(1, 5));
    CHECK_FALSE(why(screen.visit, patching(2, 5)));
    CHECK_FALSE(why(screen.visit, patching(0, 6)));
}

TEST_CASE("Knock-out's settings are in the link and in undo, and impossible ones are refused") {
    Screen screen;
    screen.open_sentence();
    show_knockout(screen);
    screen.click("knockout/removal/mean");
    screen.settle();
    CHECK(screen.visit.state().of<knockout::State>().removal == knockout::Removal::mean);
    screen.visit.undo();
    CHECK(screen.visit.state().of<knockout::State>().removal == knockout::Removal::zero);
    const knockout::State wanted{.part = knockout::Part::patching,
                                 .removal = knockout::Removal::twin,
                                 .raise = 7,
                                 .over = 3,
                                 .site = Site::mlp_output,
                                 .back = true};
    show_knockout(screen, wanted);
    const std::string link = to_fragment(screen.visit.state());
    CHECK_THAT(link, ContainsSubstring("knockout.part=patching&knockout.removal=twin&knockout.target=7,3&"
                                       "knockout.site=mlp_output&knockout.into=second"));
    CHECK(parse_fragment(link).state == screen.visit.state());
    // A link may name a token that this model lacks.
    show_knockout(screen, {.raise = 5000});
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("Token 5000 is outside the vocabulary"));
    screen.click("knockout/likeliest");
    screen.settle();
    CHECK(knockout_in(screen.visit).removals());
    for (const knockout::State& bad : {knockout::State{.over = 3}, knockout::State{.raise = 3, .over = 3},
                                       knockout::State{.raise = -1}, knockout::State{.site = Site::q}})
        CHECK_FALSE(apply(default_state(), Set<knockout::State>{bad}));
    for (const char* bad : {"v=1&knockout.part=all", "v=1&knockout.removal=", "v=1&knockout.target=x",
                            "v=1&knockout.target=1,2,3", "v=1&knockout.target=", "v=1&knockout.site=q",
                            "v=1&knockout.into=third"})
        CHECK_FALSE(parse_fragment(bad).note.empty());
}

TEST_CASE("a token is typed as the target, and the query is chosen, without leaving Knock-out") {
    Screen screen;
    screen.open_sentence();
    show_knockout(screen, {.raise = 3, .over = 7});
    const auto asked = [&] { return screen.visit.state().of<knockout::State>(); };
    screen.click("knockout/token");
    screen.type("w17");
    screen.settle();
    CHECK(asked() == knockout::State{.raise = 17, .over = 7});
    CHECK(knockout_in(screen.visit).target->loss.raise == 17);
    screen.type("99");
    screen.settle();
    CHECK(asked().raise == 17);
    CHECK(screen.shows("knockout/fault"));
    show_knockout(screen, {.part = knockout::Part::edges, .raise = 17});
    screen.click("knockout/query/less");
    screen.settle();
    CHECK(screen.visit.state().selection.query == 4);
    CHECK(std::ssize(knockout_in(screen.visit).cuts()->keys()) == 5);
}

TEST_CASE(
    "if not all tokens fit, those up to the chosen one are patched, starting with the first that differs") {
    Screen screen;
    // Uses rotary positions, whose number its file leaves at 2,048.
    open_family(screen, "falcon");
    screen.write_words(40);
    std::vector<std::int32_t> other(sentence_in(screen.visit).attention()->trace()->ids().begin(),
                                    sentence_in(screen.visit).attention()->trace()->ids().end());
    other[3] = 7;
    add_twin(screen, other);
    show_knockout(screen, {.part = knockout::Part::patching});
    const knockout::Model& lens = knockout_in(screen.visit);
    REQUIRE(lens.patches());
    CHECK(lens.patches()->tokens() == Range{16, 40});
    screen.visit.perform(Select{{0, 0, 20, {}, {}}});
    screen.settle();
    CHECK(lens.patches()->tokens() == Range{3, 27});
    screen.bring("knockout/query/more");
    CHECK(screen.shows("knockout/query/more"));
}

TEST_CASE("a click chooses a head, which can be ablated permanently; a preset opens two texts") {
    Screen screen;
    screen.open_sentence();
    show_knockout(screen);
    screen.click("knockout/fall/1/2");
    CHECK(screen.visit.state().selection.layer == 1);
    CHECK(screen.visit.state().selection.head == 2);
    CHECK(screen.visit.state().pin == head_ablation(1, 2));
    screen.settle();
    const double without = knockout_in(screen.visit).removals()->value() -
                           *knockout_in(screen.visit).removals()->logit_drop({1, 2});
    const LogitLoss loss = knockout_in(screen.visit).target->loss;
    screen.click("knockout/off");
    screen.settle();
    // The most likely token may be a different one now.
    screen.visit.perform(Set<knockout::State>{{.raise = loss.raise}});
    screen.settle();
    CHECK(knockout_in(screen.visit).removals()->value() == Catch::Approx(without).margin(1e-12));
    CHECK(*knockout_in(screen.visit).removals()->logit_drop({1, 2}) == 0);
    show_knockout(screen, {.part = knockout::Part::edges});
    CHECK(knockout_in(screen.visit).cuts());
    // The edges of an ablated head have no effect, and the estimates agree.
    REQUIRE(knockout_in(screen.visit).head_cuts());
    REQUIRE(knockout_in(screen.visit).head_cuts()->off());
    CHECK(knockout_in(screen.visit).head_cuts()->off()->worst == 0);
    CHECK_FALSE(screen.shows("knockout/no_estimate"));
    // Weights changed after the softmax no longer add up to 1.
    screen.visit.perform(ChangeRun{{.at = {.site = Site::weight, .attention = 1, .head = 2},
                                    .operation = Operation::scale,
                                    .value = 2}});
    screen.settle();
    screen.settle();
    CHECK(knockout_in(screen.visit).cuts());
    CHECK_FALSE(knockout_in(screen.visit).head_cuts());
    CHECK(screen.shows("knockout/no_estimate"));
    screen.click("knockout/preset/pronoun");
    CHECK(screen.visit.state().lens == "knockout");
    CHECK(sentence_of(screen.visit.state()).text == parts::text_pairs[0].text);
    REQUIRE(sentence_of(screen.visit.state()).compared);
    CHECK(sentence_of(screen.visit.state()).compared->text == parts::text_pairs[0].counterfactual);
}

TEST_CASE("the buttons that ablate and restore a head stay under the pointer") {
    Screen screen;
    screen.open_sentence();
    show_knockout(screen);
    screen.visit.perform(Select{{1, 2, {}, {}, {}}});
    screen.settle();
    const Rect before = rect("knockout/off");
    for (int times = 0; times < 2; ++times) {
        screen.click("knockout/off");
        for (int i = 0; i < 200 && (screen.visit.work(1) || screen.visit.busy()); ++i) screen.draw();
        screen.draw(2);
        const Rect now = rect("knockout/off");
        CHECK(now.left == before.left);
        CHECK(now.right == before.right);
        CHECK(std::abs(now.top - before.top) < 1.5f);
    }
    CHECK(sentence_of(screen.visit.state()).changes.all.empty());
}

TEST_CASE("two tokens that look alike are distinguished in the lists of Knock-out") {
    Screen screen;
    screen.open_sentence();
    screen.page.piece = [](std::int32_t id) {
        return id == 1 ? std::string("or") : id == 2 || id == 3 ? "·or" : "·w" + std::to_string(id);
    };
    Subject& subject = subject_in(screen.visit);
    const Vocabulary vocabulary;
    CHECK(vocabulary.names(subject, std::array{0, 1, 2, 4}) ==
          std::vector<std::string>{"“w0”", "“or”", "“·or”", "“w4”"});
    CHECK(vocabulary.names(subject, std::array{1, 2, 3}) ==
          std::vector<std::string>{"“or”", "“or”, token 2", "“or”, token 3"});
}

TEST_CASE("Knock-out's tables match what it shows, and a click on a picture pins the number it names") {
    Screen screen({1440, 2600});
    screen.open_sentence();
    add_twin(screen);
    const auto pin = [&] { return screen.visit.state().pin; };
    show_knockout(screen);
    const knockout::Model& lens = knockout_in(screen.visit);
    check_pictures(screen);
    CHECK(table_shown(screen, "knockout/fall").values.at(1, 2) == *lens.removals()->logit_drop({1, 2}));
    CHECK(table_shown(screen, "knockout/direct").values.at(1, 2) == *lens.removals()->direct({1, 2}));
    CHECK(table_shown(screen, "knockout-agreement").values.rows ==
          lens.removals()->attentions() * lens.removals()->heads());
    screen.click("knockout/look/1/1");
    CHECK(pin() == knockout::cells::max_weight(1, 1));

    show_knockout(screen, {.part = knockout::Part::edges});
    check_pictures(screen);
    CHECK(table_shown(screen, "knockout/row").values.at(3, 1) == *lens.cuts()->logit_drop(3));
    const Table strongest = table_shown(screen, "knockout/strongest");
    CHECK(strongest.values.at(1, 1) == -lens.head_cuts()->exact()[1]);
    screen.click("knockout/strongest/1");
    CHECK(pin() == knockout::cells::strongest_edge(1));
    screen.click("knockout/row/1/2");
    CHECK(pin() == knockout::cells::edge_ablation(2));
    CHECK(screen.visit.state().selection.key == 2);
    screen.click("knockout/estimate/3/1");
    CHECK(pin() == knockout::cells::edge_estimate(3, 1));

    show_knockout(screen, {.part = knockout::Part::patching});
    check_pictures(screen);
    CHECK(table_shown(screen, "knockout/patch").values.at(1, 5) == *lens.patches()->moved(1, 5));
    screen.click("knockout/patch/1/5");
    CHECK(pin() == knockout::cells::patching(1, 5));
}

TEST_CASE("on a phone all of Knock-out is available") {
    Screen screen({390, 760});
    screen.open_sentence();
    add_twin(screen);
    for (const knockout::Part part :
         {knockout::Part::heads, knockout::Part::edges, knockout::Part::patching}) {
        show_knockout(screen, {.part = part});
        CHECK(screen.shows(part == knockout::Part::heads   ? "knockout/look/1/2"
                           : part == knockout::Part::edges ? "knockout/strongest/3"
                                                           : "knockout/patch/0/0"));
    }
}
