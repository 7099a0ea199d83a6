// Tests a sample of texts: its queries and keys in one plane, and means over it.
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "lenses/circuits/circuits.hpp"
#include "lenses/knockout/knockout.hpp"
#include "lenses/layers/layers.hpp"
#include "support/small_families.hpp"
#include "unit/app/support.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

void open_many(Screen& screen, const char* name) {
    const auto family = std::ranges::find(small_families, std::string_view(name), &SmallFamily::name);
    const ModelFiles files = files_of(*family);
    load_files(screen.visit, "tiny", as_opened(files));
    screen.page.piece = [](std::int32_t id) { return "·w" + std::to_string(id); };
    screen.write_words(6);
}

const circuits::Model& plane_of_many(Screen& screen) {
    screen.visit.perform(OpenLens{"circuits"});
    screen.visit.perform(Set<circuits::State>{{.part = circuits::Part::plane, .corpus = true}});
    screen.settle();
    return static_cast<ModelLens<circuits::Model>&>(screen.visit.lens()).model();
}

const std::string own_texts = "apple bear cat\ndog egg fig goat hat\nink jar";

}  // namespace

TEST_CASE(
    "the plane of many texts has real scores, explains its coordinates, and is in the link and in undo") {
    for (const char* name : {"gpt2", "llama", "bert"}) {
        CAPTURE(name);
        Screen screen;
        open_many(screen, name);
        screen.visit.perform(SetCorpus{{.own = own_texts}});
        const circuits::Model& model = plane_of_many(screen);
        REQUIRE(model.corpus_plane());
        const CorpusPlane& plane = *model.corpus_plane();
        CHECK(plane.points().size() == 10);
        const CorpusRun& texts = *corpus_of(subject_in(screen.visit));
        REQUIRE(texts.traces().size() == 3);
        // Two tokens of one text have the score of that text's own run.
        for (Index i = 0; i < 10; ++i)
            for (Index j = 0; j < 10; ++j) {
                const auto &a = plane.points()[static_cast<std::size_t>(i)],
                           &b = plane.points()[static_cast<std::size_t>(j)];
                if (a.text != b.text) continue;
                const Record& record =
                    texts.traces()[static_cast<std::size_t>(a.text)]->attention(0).record();
                CHECK(std::abs(plane.score({false, i}, j) -
                               static_cast<double>(
                                   record.cell(Stage::scaled, plane.head().head, a.token, b.token))) < 1e-5);
            }
        for (Index which = 0; which < 4; ++which) {
            const auto told = why(screen.visit, circuits::cells::corpus_plane(which / 2, which % 2, 7));
            REQUIRE(told);
            const auto& places = which < 2 ? plane.plane().queries : plane.plane().keys;
            CHECK(std::abs(told->f64 - places[7][static_cast<std::size_t>(which % 2)]) < 1e-5);
        }
        CHECK_FALSE(why(screen.visit, circuits::cells::corpus_plane(0, 0, 10)));
        CHECK_THAT(spoken(screen.visit), ContainsSubstring("Of 10 tokens of 3 texts, the query of"));
        for (const char* part : {"circuits/corpus", "corpus/own", "circuits/corpus_product/0",
                                 "circuits/corpus_nearest", "circuits/colour/position"}) {
            INFO(part);
            CHECK(screen.shows(part));
        }
        const std::string link = to_fragment(screen.visit.state());
        CHECK_THAT(link, ContainsSubstring("circuits.source=texts"));
        CHECK_THAT(link, ContainsSubstring("corpus.texts="));
        CHECK(parse_fragment(link).state == screen.visit.state());
        screen.visit.undo();
        CHECK_FALSE(screen.visit.state().of<circuits::State>().corpus);
        screen.visit.undo();
        screen.visit.undo();
        CHECK(sentence_of(screen.visit.state()).corpus == Corpus{});
    }
}

TEST_CASE("generated texts depend on their seed, and so do the sampled tokens") {
    const auto points_of = [](std::uint64_t seed) {
        Screen screen;
        open_many(screen, "gpt2");
        screen.visit.perform(SetCorpus{{"", seed}});
        const circuits::Model& model = plane_of_many(screen);
        REQUIRE(model.corpus_plane());
        const CorpusRun& texts = *corpus_of(subject_in(screen.visit));
        CHECK(texts.tokens() <= CorpusRun::most_tokens);
        CHECK(texts.texts().size() > 50);
        std::vector<double> numbers{static_cast<double>(texts.texts().size()),
                                    static_cast<double>(model.corpus_plane()->points().size())};
        for (const auto& place : model.corpus_plane()->plane().queries) numbers.push_back(place[0]);
        CHECK(model.corpus_plane()->points().size() ==
              static_cast<std::size_t>(std::min(texts.tokens(), CorpusPlane::most_points)));
        return numbers;
    };
    const auto once = points_of(5);
    CHECK(once == points_of(5));
    CHECK(once != points_of(6));
}

TEST_CASE("a stopped corpus keeps the finished runs, and one without tokens says so") {
    Screen screen;
    open_many(screen, "gpt2");
    screen.visit.perform(SetCorpus{{.own = " \n "}});
    CHECK_FALSE(plane_of_many(screen).corpus_plane());
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("None of the texts has a token"));
    const auto model = sentence_in(screen.visit).model();
    CorpusRun run(model, {{{1, 2, 3}, {}, {"a", "b", "c"}, "a b c"}, {{4, 1}, {}, {"d", "a"}, "d a"}}, 1);
    while (run.traces().empty()) run.step();
    CHECK(run.progress() < 1);
    run.stop();
    CHECK(run.done());
    CHECK(run.texts().size() == 1);
    CHECK_FALSE(run.step());
}

TEST_CASE(
    "heads are replaced by their mean over many texts, together and one by one, matching a manual run") {
    for (const char* name : {"gpt2", "llama", "bert"}) {
        CAPTURE(name);
        Screen screen;
        open_many(screen, name);
        screen.visit.perform(SetCorpus{{.own = own_texts}});
        screen.visit.perform(OpenLens{"knockout"});
        screen.visit.perform(Set<knockout::State>{{.removal = knockout::Removal::texts}});
        screen.settle();
        const auto& lens = static_cast<ModelLens<knockout::Model>&>(screen.visit.lens()).model();
        REQUIRE(lens.removals());
        for (int i = 0; i < 20 && !lens.removals()->done(); ++i) screen.settle();  // slow under sanitizers
        REQUIRE(lens.removals()->done());
        CHECK(screen.shows("corpus/seed") == false);
        CHECK(screen.shows("corpus/own"));
        const auto unchanged = sentence_in(screen.visit).run()->run;
        const CorpusRun& texts = *corpus_of(subject_in(screen.visit));
        // The mean of the second head's output in the first layer, over all ten tokens.
        const Index width = unchanged->attention(0).record().d_v();
        std::vector<float> means;
        for (Index c = 0; c < width; ++c) {
            double sum = 0;
            for (const auto& trace : texts.traces())
                for (Index row = 0; row < trace->tokens(); ++row)
                    sum += static_cast<double>(trace->attention(0).record().output().heads().head(1)(row, c));
            means.push_back(static_cast<float>(sum / 10));
        }
        auto forward = ForwardPass::start_with(
            {{.attention = 0, .edit = {.head = 1, .operation = Operation::set, .values = means}}}, unchanged);
        REQUIRE(forward);
        const auto by_hand = *forward->finish();
        CHECK(std::abs(*lens.removals()->logit_drop({0, 1}) - (loss_in(*unchanged, lens.target->loss) -
                                                               loss_in(*by_hand, lens.target->loss))) < 1e-6);

        screen.visit.perform(ChangeRun{{.at = {.site = Site::head_output, .attention = 0, .head = 1},
                                        .operation = Operation::mean_of_texts}});
        screen.settle();
        const auto changed = sentence_in(screen.visit).run()->run;
        REQUIRE(changed->interventions().size() == 1);
        for (Index c = 0; c < width; ++c)
            CHECK(changed->attention(0).record().output().heads().head(1)(2, c) ==
                  Catch::Approx(means[static_cast<std::size_t>(c)]).margin(1e-6));
        const std::string link = to_fragment(screen.visit.state());
        CHECK_THAT(link, ContainsSubstring("mean_of_texts"));
        CHECK_THAT(link, ContainsSubstring("knockout.removal=texts"));
        CHECK(parse_fragment(link).state == screen.visit.state());
    }
}

TEST_CASE(
    "a lens's result about a head, an edge or the stream offers that intervention, and the lens stays") {
    Screen screen;
    open_many(screen, "gpt2");
    screen.visit.perform(OpenLens{"knockout"});
    screen.settle();
    screen.visit.perform(Pin{knockout::cells::head_ablation(1, 1)});
    screen.draw(3);
    screen.click("change/mean");
    screen.settle();
    screen.settle();
    CHECK(screen.visit.state().lens == "knockout");
    const auto changed = [&] {
        const auto& changes = sentence_of(screen.visit.state()).changes.all;
        CHECK(changes.size() == 1);
        return changes.empty() ? RunChange{} : changes.front();
    };
    CHECK(changed() == RunChange{.at = {.site = Site::head_output, .attention = 1, .head = 1},
                                 .operation = Operation::mean});
    // A head that already outputs its mean loses nothing by outputting it.
    screen.visit.perform(Set<knockout::State>{{.removal = knockout::Removal::mean}});
    screen.settle();
    const auto& lens = static_cast<ModelLens<knockout::Model>&>(screen.visit.lens()).model();
    REQUIRE(lens.removals());
    CHECK(std::abs(*lens.removals()->logit_drop({1, 1})) < 1e-5);
    screen.visit.perform(DropChange{});
    screen.visit.perform(Set<knockout::State>{{.part = knockout::Part::edges}});
    screen.settle();
    screen.visit.perform(Pin{knockout::cells::edge_ablation(2)});
    screen.draw(3);
    screen.click("change/zero");
    screen.settle();
    CHECK(changed().at.site == Site::mask);
    CHECK(changed().at.column == 2);
    screen.visit.perform(DropChange{});
    screen.visit.perform(OpenLens{"layers"});
    screen.settle();
    screen.settle();
    screen.visit.perform(Pin{layers::cells::norm(2)});
    screen.draw(3);
    CHECK(screen.shows("change/add"));
    screen.click("change/zero");
    screen.settle();
    CHECK(changed().at.site == Site::resid_pre);
    CHECK(changed().at.attention == 1);
    CHECK(screen.visit.state().lens == "layers");
}
