// Tests lens Paths: nodes and edges that explain themselves, what graphs keep, and the steps of its controls.
#include "lenses/paths/paths.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "subjects/worked/commands.hpp"
#include "support/small_families.hpp"
#include "support/translator.hpp"
#include "unit/app/support.hpp"
#include "unit/frame/pictures.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

paths::Model& paths_in(const Screen& screen) {
    return static_cast<ModelLens<paths::Model>&>(screen.visit.lens()).model();
}

void show_paths(Screen& screen, const paths::State& state = {}) {
    show_lens(screen, "paths", Set<paths::State>{state});
}

const PathCurve::Point& kept_point(const paths::Model& model, PathMeasure measure) {
    const PathCurve::Point* found = model.kept_at(measure, model.taken);
    REQUIRE(found);
    return *found;
}

// Explains the nodes and edges of the graph, and what it keeps in every way.
void check_paths(const Screen& screen) {
    const paths::Model& model = paths_in(screen);
    REQUIRE(model.has_graph());
    REQUIRE_FALSE(model.kept.edges.empty());
    for (const Index node : model.kept.nodes)
        CHECK(check_told(screen, paths::cells::node(node, PathMerge::none)).f64 ==
              Catch::Approx(model.graph->effect(node)).margin(1e-4));
    for (const PathEdge& edge : model.kept.edges)
        CHECK(check_told(screen, paths::cells::edge(edge.from, edge.to, PathMerge::none)).f64 ==
              Catch::Approx(edge.effect).margin(1e-12));
    CHECK_FALSE(why(screen.visit, paths::cells::edge(model.layout().target(), 0, PathMerge::none)));
    CHECK_FALSE(why(screen.visit, paths::cells::node(model.layout().nodes(), PathMerge::none)));
    for (std::size_t run = 0; run < path_measure_count; ++run)
        CHECK(check_told(screen, paths::cells::kept(run, model.taken)).f64 ==
              Catch::Approx(kept_point(model, static_cast<PathMeasure>(run)).value));
    CHECK(kept_point(model, PathMeasure::random).random.size() == PathProof::random_graphs);
}

}  // namespace

TEST_CASE("the graph of a logit explains itself, and whole it keeps the logit, in every family") {
    for (const SmallFamily& family : small_families) {
        CAPTURE(family.name);
        Screen screen({1440, 2400});
        open_model(screen, family);
        show_paths(screen);
        check_paths(screen);
        const paths::Model& model = paths_in(screen);
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("; random ones "));
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("Strongest chain: "));
        const std::vector<PathEdge> chain = strongest_chain(model.layout(), model.shown);
        CHECK(model.layout().node(chain.front().from).kind == PathNode::Kind::embedding);
        CHECK(chain.back().to == model.layout().target());
        for (std::size_t i = 1; i < chain.size(); ++i) CHECK(chain[i - 1].to == chain[i].from);
        for (const char* shown : {"paths/strongest/0", "chart/paths-kept", "paths/drawn"})
            CHECK(screen.shows(shown));
        CHECK_FALSE(table_of(screen, "Edges of the graph").row_labels.empty());
        CHECK_FALSE(table_of(screen, "What each node adds").row_labels.empty());
        for (const paths::Ablation each : {paths::Ablation::zero, paths::Ablation::mean}) {
            show_paths(screen, {.ablation = each});
            for (const PathMeasure measure : {PathMeasure::flow, PathMeasure::proof})
                CHECK(model.kept_at(measure, std::ssize(model.graph->edges()))->value ==
                      Catch::Approx(model.graph->value()).margin(2e-3));
        }
    }
}

TEST_CASE("Paths leads through an encoder and a decoder") {
    for (const SmallFamily& family : small_encoder_decoders) {
        CAPTURE(family.name);
        Screen screen({1440, 2400});
        open_encoder_decoder(screen.visit, family, {3, 1, 4, 1, 5, 9}, {3, 1, 4, 1, 5});
        show_paths(screen, {.share = 0.9});
        check_paths(screen);
        check_pictures(screen);
    }
}

TEST_CASE("Paths keeps the fewest edges through which a share of the logit flows") {
    Screen screen({1440, 2400});
    open_family(screen, "gpt2");
    show_paths(screen);
    const paths::Model& model = paths_in(screen);
    std::size_t before = 0;
    for (const double share : {0.1, 0.5, 0.9}) {
        show_paths(screen, {.share = share});
        CAPTURE(share);
        CHECK(kept_share(*model.graph, kept_point(model, PathMeasure::flow).value) >= share);
        CHECK(model.kept.edges.size() >= before);
        before = model.kept.edges.size();
        if (const auto* fewer = model.kept_at(PathMeasure::flow, model.taken - 1))
            CHECK(kept_share(*model.graph, fewer->value) < share);
    }
    CHECK(before > 1);
    const std::string link = to_fragment(screen.visit.state());
    CHECK_THAT(link, ContainsSubstring("paths.share=0.9"));
    CHECK(parse_fragment(link).state == screen.visit.state());
    for (const char* bad : {"v=1&paths.share=0", "v=1&paths.share=1.1", "v=1&paths.share=most"})
        CHECK_FALSE(parse_fragment(bad).note.empty());
    // The slider and the line in the curve set the same share.
    const auto share = [&] { return screen.visit.state().of<paths::State>().share; };
    screen.click("paths/share");
    screen.settle();
    CHECK(share() == Catch::Approx(0.5).margin(0.1));
    screen.visit.undo();
    CHECK(share() == 0.9);
}

TEST_CASE("merged nodes and edges of Paths are sums of those that they stand for") {
    for (const char* family : {"gpt2", "llama"}) {
        CAPTURE(family);
        Screen screen({1440, 2400});
        open_family(screen, family);
        show_paths(screen, {.raise = 7, .over = 2, .share = 0.9});
        const paths::Model& model = paths_in(screen);
        const std::size_t edges = model.shown.edges.size();
        for (const PathMerge merge : {PathMerge::tokens, PathMerge::heads}) {
            show_paths(screen, {.raise = 7, .over = 2, .share = 0.9, .merge = merge});
            CHECK(model.kept.edges.size() == edges);
            CHECK(model.shown.edges.size() < edges);
            double sum = 0;
            for (const PathEdge& edge : model.shown.edges) {
                sum += edge.effect;
                CHECK(check_told(screen, model.cell_of(edge)).f64 == Catch::Approx(edge.effect).margin(1e-9));
            }
            for (const PathEdge& edge : model.kept.edges) sum -= edge.effect;
            CHECK(sum == Catch::Approx(0).margin(1e-6));
            for (const Index node : model.shown.nodes)
                CHECK(check_told(screen, model.cell_of(node)).f64 ==
                      Catch::Approx(model.effect(node)).margin(1e-4));
            CHECK(std::ssize(table_of(screen, "Edges of the graph").row_labels) ==
                  std::ssize(model.shown.edges));
            check_pictures(screen);
            const Index head = *std::ranges::find_if(model.shown.nodes, [&](Index node) {
                return model.layout().node(node).kind == PathNode::Kind::head;
            });
            screen.click("paths/graph/" + std::to_string(head));
            CHECK(screen.visit.state().pin == model.cell_of(head));
            const std::string link = to_fragment(screen.visit.state());
            CHECK(parse_fragment(link).state == screen.visit.state());
        }
        screen.click("paths/merged/nothing");
        screen.settle();
        CHECK(model.shown.edges == model.kept.edges);
        screen.visit.undo();
        CHECK(screen.visit.state().of<paths::State>().merge == PathMerge::heads);
    }
}

TEST_CASE("a head in Paths leads to why it attends to its strongest key, and to its weights") {
    for (const char* way : {"paths/why", "paths/weights"}) {
        Screen screen({1440, 2400});
        open_family(screen, "gpt2");
        show_paths(screen, {.raise = 7, .over = 2, .share = 0.9});
        const paths::Model& model = paths_in(screen);
        const Index node = *std::ranges::find_if(model.kept.nodes, [&](Index each) {
            return model.layout().node(each).kind == PathNode::Kind::head;
        });
        const PathNode head = model.layout().node(node);
        const Selection wanted = *model.head_at(node);
        CHECK(wanted.query == head.token);
        screen.click(way);
        CHECK(screen.visit.state().lens == "paths");
        screen.click("paths/graph/" + std::to_string(node));
        CHECK(screen.visit.state().selection == wanted);
        screen.click(way);
        screen.settle();
        const State& state = screen.visit.state();
        CHECK(state.lens == (way == std::string("paths/why") ? lens_of_scores() : usual_lens(state)));
        CHECK(state.selection == wanted);
    }
}

TEST_CASE("a preset of Paths opens the translator, whose participle agrees with a noun far before it") {
    Screen screen({1440, 2400});
    open_translator(screen.visit, screen.page);
    show_lens(screen, "paths", Set<paths::State>{{}});
    screen.page.piece = translator_piece;
    screen.click("paths/preset/agreement");
    split_boxes(screen.visit, screen.page);
    for (const Box box : {Box::third, Box::fourth}) split(screen.visit, box, screen.page.lower.at(box).text);
    screen.settle();
    const paths::Model& model = paths_in(screen);
    CHECK(screen.visit.state().lens == "paths");
    CHECK(model.target_name(subject_in(screen.visit)) == "“entendue” over “entendu”");
    REQUIRE(model.lacking.empty());
    CHECK(model.row.tokens.front().id == model.of.loss->raise);
    CHECK(model.graph->value() > 3);
    // In the counterfactual, with a masculine noun, the other form wins.
    const auto second = model.of.counterfactual->logits({model.row.row, model.row.row + 1});
    CHECK(loss_of(second.values(), *model.of.loss) < -3);
    // With everything else from that text, the graph alone still prefers the right form.
    CHECK(kept_point(model, PathMeasure::proof).value > 0);
    CHECK(kept_point(model, PathMeasure::random).value < -3);
    check_paths(screen);
}

TEST_CASE("Paths asks about a chosen token or a difference") {
    Screen screen({1440, 2400});
    open_family(screen, "gpt2");
    show_paths(screen);
    const paths::Model& model = paths_in(screen);
    const std::int32_t likeliest = model.of.loss->raise;
    show_paths(screen, {.raise = 7, .over = 2, .share = 0.9});
    CHECK(model.of.loss->raise == 7);
    CHECK(model.graph->value() ==
          Catch::Approx(static_cast<double>(model.row.logits.values()[7] - model.row.logits.values()[2])));
    check_paths(screen);
    check_pictures(screen);
    // A node chooses its head and pins its number.
    const auto head = std::ranges::find_if(
        model.kept.nodes, [&](Index node) { return model.layout().node(node).kind == PathNode::Kind::head; });
    REQUIRE(head != model.kept.nodes.end());
    const PathNode node = model.layout().node(*head);
    const CellRef cell = paths::cells::node(*head, PathMerge::none);
    screen.click("paths/graph/" + std::to_string(*head));
    screen.settle();
    CHECK(screen.visit.state().pin == cell);
    CHECK(subject_in(screen.visit).chosen_head() == HeadIndex{node.number, node.head});
    screen.hover("paths/graph/" + std::to_string(model.layout().target()));

    const std::string link = to_fragment(screen.visit.state());
    CHECK_THAT(link, ContainsSubstring("paths.target=7,2"));
    CHECK(parse_fragment(link).state == screen.visit.state());
    CHECK_THAT(refusal(screen.visit.state(), Set<paths::State>{{.over = 2}}),
               ContainsSubstring("two different tokens"));
    show_paths(screen);
    CHECK(model.of.loss->raise == likeliest);
    show_paths(screen, {.raise = 1'000'000});
    CHECK_FALSE(model.refused.empty());
    CHECK(spoken(screen.visit) == model.refused);
    screen.click("paths/likeliest");
    screen.settle();
    CHECK(model.refused.empty());
}

TEST_CASE("Paths replaces the rest by a second text, or says that there is none") {
    Screen screen({1440, 2400});
    open_family(screen, "llama");
    show_paths(screen, {.ablation = paths::Ablation::counterfactual});
    const paths::Model& model = paths_in(screen);
    CHECK_FALSE(model.lacking.empty());
    CHECK(screen.shows("paths/second"));
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("With all else held, "));
    CHECK_FALSE(model.kept_at(PathMeasure::proof, model.taken));
    screen.visit.perform(Together{{Compare{Comparison{.text = "other words"}}, OpenLens{"paths"}}});
    screen.visit.tokens({Box::second, "other words", {0, 1, 7, 3, 4, 0}, {"a", "b", "c", "d", "e", "f"}, 6});
    screen.settle();
    CHECK(model.lacking.empty());
    check_paths(screen);
}

TEST_CASE("Paths needs a model, and shows one in training") {
    Screen screen;
    screen.visit.perform(OpenSubject{worked_subject});
    screen.visit.perform(OpenLens{"paths"});
    screen.settle();
    CHECK(screen.shows("missing"));
    screen.train_some();
    show_paths(screen);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("; random ones "));
}
