#include "lenses/heads/heads.hpp"

#include <array>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "model/explain.hpp"
#include "support/translator.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/frame/pictures.hpp"
#include "unit/lenses/heads_shown.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("Heads works for a sentence and for a network in training, and says what is missing elsewhere") {
    Screen screen;
    screen.open_sentence();
    screen.train_some();
    struct Expected {
        std::string_view subject;
        const char *shapes, *shared, *latent;
    };
    for (const auto& [subject, shapes, shared, latent] :
         {Expected{sentence_subject, "3 heads of 6", "24 numbers", "With rank 9, a token keeps 18 numbers"},
          Expected{training_subject, "2 heads of 8", "32 numbers",
                   "With rank 8, a token keeps 16 numbers"}}) {
        INFO(subject);
        screen.visit.perform(OpenSubject{subject});
        show_heads(screen);
        CHECK(screen.shows("heads/shape/10"));
        CHECK(screen.shows("heads/numbers/10/2"));
        CHECK_THAT(spoken(screen.visit), ContainsSubstring(shapes));
        show_heads(screen, {.part = heads::Part::writes});
        for (const char* part : {"heads/share/2", "heads/off", "heads/written/4/0"})
            CHECK(screen.shows(part));
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("writes most"));
        show_heads(screen, {.part = heads::Part::alike});
        for (const char* part : {"heads/alike/1/0", "heads/role/1", "heads/rows"}) CHECK(screen.shows(part));
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("most alike"));
        show_heads(screen, {.part = heads::Part::sharing});
        for (const char* part :
             {"heads/measures/4/1", "heads/said/0/1", "chart/heads-loss", "heads/change/1"})
            CHECK(screen.shows(part));
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("With 1 head of K and V, a token keeps "));
        CHECK_THAT(spoken(screen.visit), ContainsSubstring(shared));
        show_heads(screen, {.part = heads::Part::latent});
        for (const char* part : {"heads/measures/4/1", "chart/heads-loss", "heads/change/1"})
            CHECK(screen.shows(part));
        CHECK_THAT(spoken(screen.visit), ContainsSubstring(latent));
    }
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    CHECK(screen.shows("missing/sentence"));
    CHECK(screen.shows("missing/training"));
    CHECK_FALSE(screen.shows("missing/tensors"));
}

TEST_CASE("shapes are the run's, with key-value heads separate, or the tutorial’s") {
    Screen screen;
    open_model(screen, {"llama", four_heads});
    show_heads(screen);
    const heads::Model& lens = heads_in(screen.visit);
    CHECK(lens.sizes == HeadSizes{6, 6, 16, 4, 2, 4});
    const auto shapes = shapes_of(lens.sizes);
    REQUIRE(shapes.size() == shape_step_count);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        CHECK(shapes[i].step == static_cast<ShapeStep>(i));
        CHECK(shapes[i].axes.size() == shapes[i].shape.size());
        check_told(screen, heads::cells::shape(i, 0));
    }
    const Record& record = subject_in(screen.visit).attention()->trace()->attention(0).record();
    CHECK(count_of(shapes[4].shape) == record.q().size());
    CHECK(count_of(shapes[5].shape) == record.k().size());
    CHECK(count_of(shapes[8].shape) == record.output().size());
    CHECK(written_shape(shapes[7].shape) == "(1, 4, 6, 6)");
    CHECK(check_told(screen, heads::cells::shape(2, 1)).f64 == 16 * 8);
    CHECK(check_told(screen, heads::cells::shape(7, 2)).f64 == 4 * 6 * 6 * 4);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("2 heads of queries share"));
    for (const CellRef& cell :
         {heads::cells::shape(0, 1), heads::cells::shape(11, 0), heads::cells::shape(4, 2),
          heads::cells::shape(1, 3), heads::cells::share(0), heads::cells::cache(0, 0, 0)})
        CHECK_FALSE(why(screen.visit, cell));
    screen.click("heads/preset/tutorial");
    screen.settle();
    CHECK(lens.sizes == HeadSizes{6, 6, 128, 4, 4, 32});
    CHECK(check_told(screen, heads::cells::shape(1, 1)).f64 == 128 * 128);
    screen.click("heads/sizes/this model");
    CHECK_FALSE(screen.visit.state().of<heads::State>().tutorial);
}

TEST_CASE("each head's output explains itself and adds up to the attention’s output, in every family") {
    for (const SmallFamily& family : small_families) {
        CAPTURE(family.name);
        Screen screen;
        open_model(screen, family);
        screen.visit.perform(Select{{1, 0, 3, {}, {}}});
        show_heads(screen, {.part = heads::Part::writes});
        const heads::Model& lens = heads_in(screen.visit);
        const HeadWrites& w = lens.writes();
        double shares = 0;
        for (Index part = 0; part <= w.heads; ++part) {
            const double share = w.share(part);
            CHECK(check_told(screen, heads::cells::share(part)).f64 == share);
            CHECK(check_told(screen, heads::cells::norm(part)).f64 == w.norm(part));
            shares += share;
        }
        CHECK(shares == Catch::Approx(1).epsilon(1e-5));
        CHECK(check_told(screen, heads::cells::error()).f64 == w.off_by());
        const auto trace = subject_in(screen.visit).attention()->trace();
        const auto whole = trace->attention(1).run.attention_output.matrix();
        for (const Index component : {Index{0}, w.d_model - 1}) {
            double sum = 0;
            const bool biased = trace->attention(1).half.attention_out.bias.size() > 0;
            for (Index part = 0; part < w.heads; ++part)
                sum += check_told(screen, heads::cells::written(part, component)).f64;
            // The bias is a number in the model's files.
            if (biased) sum += why(screen.visit, heads::cells::written(w.heads, component))->f64;
            CHECK(sum == Catch::Approx(static_cast<double>(whole(3, component))).margin(1e-5));
            check_told(screen, heads::cells::written(w.heads + 1, component));
            check_told(screen, heads::cells::written(w.heads + 2, component));
        }
        for (const CellRef& cell :
             {heads::cells::written(w.heads + 3, 0), heads::cells::written(0, w.d_model),
              heads::cells::share(w.heads + 1), heads::cells::similarity(0, 0, 0)})
            CHECK_FALSE(why(screen.visit, cell));
    }
}

TEST_CASE("the heads' similarity explains itself, in the order of the clusters, and each head has its role") {
    Screen screen;
    open_model(screen, {"llama", four_heads});
    for (const bool outputs : {false, true})
        for (const bool all : {false, true}) {
            CAPTURE(outputs, all);
            show_heads(screen, {.part = heads::Part::alike, .outputs = outputs, .all_layers = all});
            const heads::Model& lens = heads_in(screen.visit);
            REQUIRE(lens.compared());
            const Index heads = all ? 8 : 4;
            REQUIRE(lens.alike().heads() == heads);
            CHECK(std::ssize(lens.clusters.kept()->merges) == heads - 1);
            CHECK(lens.order() == leaf_order(lens.clusters.kept()->merges, heads));
            const auto tables = lens_in(screen.visit).tables(subject_in(screen.visit));
            REQUIRE(tables.size() == 2);
            for (Index r = 0; r < heads; ++r)
                for (Index c = 0; c < heads; ++c) {
                    const Index a = lens.order()[static_cast<std::size_t>(r)],
                                b = lens.order()[static_cast<std::size_t>(c)];
                    const Explained why = check_told(screen, heads::cells::similarity(outputs, a, b));
                    CHECK(why.f64 == Catch::Approx(tables[0].values.at(r, c)).margin(1e-6));
                }
            for (Index head = 0; head < heads; ++head) {
                const heads::Role role = heads::role_of(lens, subject_in(screen.visit), head);
                CHECK_FALSE(role.name.empty());
                CHECK(check_told(screen, heads::cells::role(head)).f64 == role.score);
            }
            CHECK_FALSE(why(screen.visit, heads::cells::role(heads)));
            CHECK_FALSE(why(screen.visit, heads::cells::similarity(0, heads, 0)));
            CHECK_FALSE(why(screen.visit, heads::cells::similarity(0, 0, heads)));
        }
    screen.click("heads/alike/2/1");
    const heads::Model& lens = heads_in(screen.visit);
    CHECK(subject_in(screen.visit).chosen_head() == lens.alike().head(lens.order()[2]));
}

TEST_CASE(
    "encoders and encoder–decoders share and compress their keys and values, whichever attention is chosen") {
    for (const SmallFamily& family : small_encoder_decoders) {
        CAPTURE(family.name);
        Screen screen;
        open_encoder_decoder(screen.visit, family, {5, 9, 13, 7, 1}, {4, 11, 6, 8});
        const ModelConfig& config = sentence_in(screen.visit).model()->config();
        for (const Index layer : {Index{0}, config.layers, config.attentions() - 1}) {
            CAPTURE(layer);
            screen.visit.perform(Select{{layer, 1, {}, {}, {}}});
            for (Index part = 0; part < heads::part_count; ++part) {
                show_heads(screen, {.part = static_cast<heads::Part>(part), .all_layers = true});
                CHECK_FALSE(spoken(screen.visit).empty());
                CHECK_FALSE(screen.frame.tables().empty());
            }
            CHECK(heads_in(screen.visit).runs().last()->changes.size() ==
                  static_cast<std::size_t>(config.attentions()));
            CHECK(std::isfinite(heads_in(screen.visit).runs().last()->loss));
        }
    }
    Screen screen;
    open_family(screen, "bert");
    show_heads(screen, {.part = heads::Part::sharing});
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("The loss of this text goes from"));
    // With one key-value head, there is nothing left to share.
    Screen shared;
    open_family(shared, "llama");
    show_heads(shared, {.part = heads::Part::sharing});
    CHECK_THAT(spoken(shared.visit), ContainsSubstring("share it already"));
    CHECK_FALSE(shared.shows("heads/kv"));
}

TEST_CASE("Heads' settings are in the link and in undo, and impossible ones are refused") {
    Screen screen;
    screen.open_sentence();
    show_heads(screen);
    screen.click("heads/part/how alike");
    screen.settle();
    CHECK(screen.visit.state().of<heads::State>().part == heads::Part::alike);
    screen.click("heads/alike/what they write");
    CHECK(screen.visit.state().of<heads::State>().outputs);
    screen.visit.undo();
    CHECK_FALSE(screen.visit.state().of<heads::State>().outputs);
    const heads::State wanted{.part = heads::Part::latent,
                              .tutorial = true,
                              .outputs = true,
                              .all_layers = true,
                              .kv_heads = 2,
                              .rank = 7};
    show_heads(screen, wanted);
    const std::string link = to_fragment(screen.visit.state());
    CHECK_THAT(
        link, ContainsSubstring("heads.part=latent&heads.sizes=tutorial&heads.alike=outputs&heads.layers=all&"
                                "heads.kv=2&heads.rank=7"));
    CHECK(parse_fragment(link).state == screen.visit.state());
    for (const char* bad : {"v=1&heads.part=mirror", "v=1&heads.kv=-2", "v=1&heads.rank=x",
                            "v=1&heads.rank=100001", "v=1&heads.alike=", "v=1&heads.sizes=2"})
        CHECK_FALSE(parse_fragment(bad).note.empty());
    CHECK_FALSE(apply(default_state(), Set<heads::State>{{.kv_heads = -1}}));
    CHECK_FALSE(apply(default_state(), Set<heads::State>{{.rank = heads::setting_limit + 1}}));
}

TEST_CASE("Heads' tables match what it shows, and a click on a picture pins the number it names") {
    Screen screen({1440, 2600});
    screen.open_sentence();
    const auto pin = [&] { return screen.visit.state().pin; };
    show_heads(screen);
    const heads::Model& lens = heads_in(screen.visit);
    check_pictures(screen);
    // Batch, heads, tokens and the components of a head.
    const HeadSizes& sizes = lens.sizes;
    const std::array<double, 4> split{1, static_cast<double>(sizes.heads), static_cast<double>(sizes.queries),
                                      static_cast<double>(sizes.head_dim)};
    const Table shapes = table_shown(screen, "heads/shapes");
    for (Index axis = 0; axis < 4; ++axis)
        CHECK(shapes.values.at(static_cast<Index>(ShapeStep::split_q), axis) ==
              split[static_cast<std::size_t>(axis)]);
    screen.click("heads/shape/4");
    CHECK(pin() == heads::cells::shape(4, 0));

    show_heads(screen, {.part = heads::Part::writes});
    check_pictures(screen);
    CHECK(table_shown(screen, "heads/share").values.at(1, 1) == lens.writes().share(1));
    CHECK(table_shown(screen, "heads/written").values.at(2, 1) == lens.writes().part(1)[2]);
    screen.click("heads/share/1");
    CHECK(pin() == heads::cells::share(1));

    show_heads(screen, {.part = heads::Part::alike});
    check_pictures(screen);
    CHECK(table_shown(screen, "heads/alike").values.at(1, 0) ==
          lens.similarity(lens.order()[1], lens.order()[0]));
    screen.click("heads/role/2");
    CHECK(pin() == heads::cells::role(lens.order()[2]));

    show_heads(screen, {.part = heads::Part::sharing});
    check_pictures(screen);
    CHECK(table_shown(screen, "heads/change").values.at(1, 0) ==
          Catch::Approx(lens.runs().last()->changes[1]));
    screen.click("heads/measures/2/1");
    CHECK(pin() == heads::cells::cache(0, heads::CacheMeasure::loss, lens.runs().last_setting()));
}

TEST_CASE("on a phone every part of Heads is available, one below the other") {
    Screen screen({390, 760});
    screen.open_sentence();
    show_heads(screen);
    CHECK(screen.shows("heads/shape/10"));
    CHECK(rect("heads/shape/1").top > rect("heads/shape/0").bottom);
    CHECK(rect("heads/numbers/0/0").top > rect("heads/shape/10").bottom);
    show_heads(screen, {.part = heads::Part::alike});
    CHECK(rect("heads/role/0").top > rect("heads/alike/1/1").bottom);
    show_heads(screen, {.part = heads::Part::sharing});
    CHECK(rect("chart/heads-loss").top > rect("heads/measures/4/1").bottom);
}

TEST_CASE("a cell of Heads offers the intervention that it stands for") {
    Screen screen;
    open_family(screen, "llama");
    screen.visit.perform(Select{{1, 1, 3, {}}});
    const auto part = [&](const CellRef& cell) { return check_told(screen, cell).part; };
    const auto is = [](const std::optional<RunPart>& part, const RunPart& expected) {
        return part && part->site == expected.site && part->attention == expected.attention &&
               part->head == expected.head && part->row == expected.row && part->column == expected.column;
    };
    show_heads(screen, {});
    for (const auto& [step, site] :
         {std::pair(ShapeStep::split_k, Site::k), std::pair(ShapeStep::v, Site::v),
          std::pair(ShapeStep::q, Site::q), std::pair(ShapeStep::weights, Site::weight),
          std::pair(ShapeStep::outputs, Site::head_output), std::pair(ShapeStep::joined, Site::head_output),
          std::pair(ShapeStep::written, Site::attention_output)})
        CHECK(is(part(heads::cells::shape(step, 0)), {.site = site, .attention = 1}));
    CHECK_FALSE(part(heads::cells::shape(ShapeStep::input, 0)));
    CHECK_FALSE(part(heads::cells::shape(ShapeStep::q, 1)));  // weights of the model
    show_heads(screen, {.tutorial = true});
    CHECK_FALSE(part(heads::cells::shape(ShapeStep::outputs, 0)));  // not numbers of this run

    show_heads(screen, {.part = heads::Part::writes});
    const Index heads = heads_in(screen.visit).writes().heads;
    for (const CellKind* kind : {&heads::cells::written, &heads::cells::norm, &heads::cells::share})
        CHECK(is(part((*kind)(0)), {Site::head_output, 1, 0, 3, {}}));
    CHECK(is(part(heads::cells::written(heads + 1, 5)), {Site::attention_output, 1, {}, 3, 5}));
    CHECK(is(part(heads::cells::written(heads + 2, 5)), {Site::attention_output, 1, {}, 3, 5}));

    show_heads(screen, {.part = heads::Part::alike});
    CHECK(is(part(heads::cells::similarity(0, 0, 1)), {Site::weight, 1, 0, {}, {}}));
    CHECK(is(part(heads::cells::role(1)), {Site::head_output, 1, 1, {}, {}}));
    show_heads(screen, {.part = heads::Part::alike, .outputs = true});
    CHECK(is(part(heads::cells::similarity(1, 1, 0)), {Site::head_output, 1, 1, {}, {}}));

    show_heads(screen, {.part = heads::Part::latent});
    CHECK(is(part(heads::cells::output_error(1, 1, heads_in(screen.visit).setting())),
             {.site = Site::attention_output, .attention = 1}));
    CHECK_FALSE(part(heads::cells::cache(1, 0, 1)));
}

TEST_CASE("in Heads a head is ablated at its number, and the lens stays") {
    Screen screen;
    open_family(screen, "llama");
    screen.visit.perform(Select{{1, 1, 3, {}}});
    show_heads(screen, {.part = heads::Part::writes});
    screen.visit.perform(Pin{heads::cells::norm(0)});
    screen.draw(3);
    screen.click("change/zero");
    screen.settle();
    screen.settle();
    CHECK(screen.visit.state().lens == "heads");
    const HeadWrites& after = heads_in(screen.visit).writes();
    CHECK(after.norm(0) == 0);
    CHECK(after.norm(1) > 0);
    const auto& done = subject_in(screen.visit).attention()->trace()->interventions();
    REQUIRE(done.size() == 1);
    CHECK(done.front().site == Site::head_output);
    CHECK(done.front().edit.head == 0);
    CHECK(done.front().edit.rows == std::vector<Index>{3});
}
