#include "parts/saving.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/heads/head_maps.hpp"
#include "io/csv.hpp"
#include "io/npy.hpp"
#include "parts/svg.hpp"
#include "support/translator.hpp"
#include "unit/app/saved_heads.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::parts;
using namespace attn::test;

namespace {

constexpr std::array<std::string_view, 8> odd_words{"the",   "cat, sat", "\"on\"", "a",
                                                    "<mat>", "",         "& saw",  "-1"};
const std::vector<std::string> odd_pieces(odd_words.begin(), odd_words.end());

struct TextVisit {
    FakePage page;
    Visit visit{page};
    TextVisit() {
        load_tiny_model(visit);
        visit.perform(OpenSubject{sentence_subject});
        visit.text_typed(Box::first, "x");
        visit.tokens({Box::first, "x", {3, 1, 4, 1, 5, 9, 2, 6}, odd_pieces, 8});
        work();
        REQUIRE(sentence_in(visit).run());
    }
    void work() {
        while (visit.work(1000)) {
        }
    }
    TextRun& run() const { return *sentence_in(visit).run(); }
    Saving::Window window(Stage stage) const {
        return {map_of(run().run, 1, 2, stage, Sink::shown), {2, 7}, {1, 6}};
    }
};

// Returns the window's cells as Record computes them.
std::vector<float> expected(const TextVisit& v, Stage stage) {
    std::vector<float> cells(25);
    v.run().record_at(1).stage(stage, 2, {2, 7}, {1, 6}, cells);
    if (stage != Stage::weight)
        for (std::size_t i = 0; i < cells.size(); ++i)
            if (1 + i % 5 > 2 + i / 5) cells[i] = masked_cell;  // causal
    return cells;
}

}  // namespace

TEST_CASE("the window's numbers are saved as .npy, equal to the Record's") {
    TextVisit v;
    for (const auto& [map, stage] :
         {std::pair(Stage::weight, Stage::weight), {Stage::scaled, Stage::scaled}}) {
        v.visit.save(Saving::npy(v.window(map), "layer-1-head-2"));
        CHECK(v.visit.progress());
        v.work();
        CHECK_FALSE(v.visit.progress());
        CHECK(v.page.downloaded == "layer-1-head-2.npy");
        const auto array = parse_npy(v.page.downloaded_bytes);
        REQUIRE(array);
        CHECK(array->shape == Shape{5, 5});
        const auto cells = expected(v, stage);
        CHECK(std::ranges::equal(array->bytes, std::as_bytes(std::span(cells))));
    }
}

TEST_CASE("the window's numbers are saved as CSV under the names of its tokens") {
    TextVisit v;
    v.visit.save(Saving::csv(v.window(Stage::weight), odd_pieces, odd_pieces, "weights"));
    v.work();
    CHECK(v.page.downloaded == "weights.csv");
    const auto csv = CsvReading(v.page.downloaded_bytes).finish();
    REQUIRE(csv);
    CHECK(csv->row_labels == std::vector(odd_pieces.begin() + 2, odd_pieces.begin() + 7));
    CHECK(csv->column_labels == std::vector(odd_pieces.begin() + 1, odd_pieces.begin() + 6));
    CHECK(std::ranges::equal(csv->values.values(), expected(v, Stage::weight)));
}

TEST_CASE("all heads are saved in one archive that says what it holds") {
    TextVisit v;
    v.visit.save(Saving::all_heads(all_heads(v.run(), {})));
    v.work();
    CHECK(v.page.downloaded == "attention-weight.npz");
    const SavedHeads archive = read_saved_heads(v.page.downloaded_bytes);
    CHECK(archive.shape == Shape{2, 3, 8, 8});
    std::vector<float> cells;
    for (Index layer = 0; layer < 2; ++layer)
        for (Index head = 0; head < 3; ++head)
            for (Index q = 0; q < 8; ++q) {
                const auto row = v.run().record_at(layer).weights(head, q);
                cells.insert(cells.end(), row.begin(), row.end());
            }
    CHECK(archive.attention == cells);
    CHECK(archive.ids == std::vector<std::int64_t>{3, 1, 4, 1, 5, 9, 2, 6});
    CHECK(archive.about["model"] == "tiny");
    CHECK(archive.about["stage"] == "weight");
    CHECK(archive.about["tensors"]["attention"] == std::vector<std::string>{"layer", "head", "query", "key"});
    CHECK(archive.about["tensors"]["ids"] == std::vector<std::string>{"token"});
    CHECK(archive.about["tokens"] == odd_pieces);
}

TEST_CASE("a stage of all heads is saved as shown, without the first key if that is hidden") {
    TextVisit v;
    const TextRun& run = v.run();
    for (const MapChoice& choice : {MapChoice{.stage = Stage::scaled, .sink = Sink::hidden},
                                    MapChoice{.stage = Stage::projected, .sink = Sink::renormalised}}) {
        v.visit.save(Saving::all_heads(all_heads(run, choice)));
        v.work();
        const SavedHeads archive = read_saved_heads(v.page.downloaded_bytes);
        std::vector<float> cells;
        for (Index layer = 0; layer < 2; ++layer)
            for (Index head = 0; head < 3; ++head)
                for (const float cell : cells_of(*map_of(run.run, layer, head, choice.stage, choice.sink)))
                    cells.push_back(cell == masked_cell && !is_signed(choice.stage) ? 0 : cell);
        CHECK(archive.attention == cells);
        CHECK(archive.about["masked"] == (is_signed(choice.stage) ? "-inf" : "0"));
        CHECK(archive.about["first key"] == (is_signed(choice.stage) ? "sink" : "renormalised"));
    }
    CHECK(v.page.downloaded == "attention-projected.npz");
}

TEST_CASE("anything too large to be saved is refused in a sentence") {
    TextVisit v;
    const auto record = Record::run(Tensor({1, 2100, 1}), Tensor({1, 2100, 1}), Tensor({1, 2100, 1}), {});
    REQUIRE(record);
    const Saving::Window window{
        stage_map(std::make_shared<const Record>(*record), 0, Stage::weight), {0, 2100}, {0, 2100}};
    const std::vector<std::string> names(2100, "a");
    v.visit.save(Saving::csv(window, names, names, "weights"));
    CHECK(v.page.notices.back() ==
          "The window has 2100 × 2100 cells, and at most 4194304 are saved like this; zoom in, or save it as "
          ".npy.");
    AllHeads all{.map = [&](Index, Index) { return window.map; },
                 .layers = 8,
                 .heads = 6,
                 .instead = "save one head's window"};
    v.visit.save(Saving::all_heads(all));
    CHECK(v.page.notices.back() ==
          "8 × 6 heads over 2100 tokens take 846 MB, more than a browser tab has to spare; save one head's "
          "window.");
    CHECK_FALSE(v.visit.progress());
}

TEST_CASE("a map as SVG has a shape and a number for each cell, and its text is escaped") {
    const std::vector<float> cells{0.25f, masked_cell, 0.5f, 0.125f};
    const std::vector<std::string> queries{"<a>", "&\"'"}, keys{"x\ny", "z"};
    const std::string svg =
        svg_of(SvgMap{.queries = queries,
                      .keys = keys,
                      .cells = {cells.data(), 2, 2, 2},
                      .colour = [](float v) { return v == masked_cell ? 0x101010u : 0xf0f0f0u; },
                      .decimals = 3,
                      .title = "layer 0 < 1",
                      .ink = {0xffffff, 0x000000, 0x808080}});
    const auto count = [&](std::string_view part) {
        int found = 0;
        for (auto at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) ++found;
        return found;
    };
    CHECK(count("<rect") == 5);  // including the background
    CHECK(count("#101010") == 1);
    CHECK(count("#f0f0f0") == 3);
    for (const char* text : {">0.250<", ">0.500<", ">0.125<", ">&lt;a&gt;<", ">&amp;&quot;&apos;<", ">x y<",
                             "<title>layer 0 &lt; 1</title>"})
        CHECK(count(text) == 1);
    CHECK(count("<text") == 1 + 2 + 2 + 3 + 2);
}

TEST_CASE("a flow as SVG has a path for each edge, from its query to its key") {
    const std::vector<std::string> names{"the", "cat", "<s>"};
    const std::vector<SvgFlow::Series> series{
        {.edges = {{2, 0, 0.25f, 0.75f}, {2, 2, 0.75f, 0}}, .colour = 0x123456, .name = "layer 0 · head 1"}};
    for (const FlowForm form : {FlowForm::arcs, FlowForm::columns}) {
        const std::string svg = svg_of(SvgFlow{.form = form,
                                               .queries = names,
                                               .keys = names,
                                               .shown_queries = {0, 3},
                                               .shown_keys = {0, 3},
                                               .series = series,
                                               .title = "flow",
                                               .ink = {0xffffff, 0x000000, 0x808080}});
        CHECK(svg.find("stroke=\"#123456\"") != std::string::npos);
        CHECK(svg.find("<title>&lt;s&gt; → the 0.2500</title>") != std::string::npos);
        CHECK(svg.find("<title>&lt;s&gt; → &lt;s&gt; 0.7500</title>") != std::string::npos);
        const bool loop = svg.find("A5 ") != std::string::npos;
        CHECK(loop == (form == FlowForm::arcs));
        CHECK(svg.ends_with("</svg>\n"));
        // Cropped to the first two words, it contains neither the third nor its loop, but the edge that leads
        // there.
        const std::string cropped = svg_of(SvgFlow{.form = form,
                                                   .queries = names,
                                                   .keys = names,
                                                   .shown_queries = {0, 2},
                                                   .shown_keys = {0, 2},
                                                   .series = series,
                                                   .title = "flow",
                                                   .ink = {0xffffff, 0x000000, 0x808080}});
        CHECK(cropped.find(">cat</text>") != std::string::npos);
        CHECK(cropped.find(">&lt;s&gt;</text>") == std::string::npos);
        CHECK(cropped.find("<title>&lt;s&gt; → the 0.2500</title>") != std::string::npos);
        CHECK(cropped.find("<title>&lt;s&gt; → &lt;s&gt; 0.7500</title>") == std::string::npos);
        CHECK(cropped.find("<clipPath") != std::string::npos);
    }
}

TEST_CASE("a cross-attention head, whose queries and keys belong to two texts, is saved with both") {
    FakePage page;
    page.piece = [](std::int32_t id) { return "·w" + std::to_string(id); };
    Visit visit(page);
    open_encoder_decoder(visit, small_encoder_decoders.front(), {5, 9, 13, 7, 1}, {4, 11, 6});
    const ModelConfig& config = sentence_in(visit).model()->config();
    const Index first = config.layers + config.decoder_layers, layers = config.decoder_layers;
    visit.perform(Select{{first + 1, 1, {}, {}, {}}});
    Attention& cross = *subject_in(visit).attention();
    const Trace& trace = *cross.trace();
    const MapPointer map = cross.map(first + 1, 1, {});
    const Saving::Window window{map, {0, 4}, {1, 5}};  // all queries, and all keys but the first
    const Record& record = trace.attention(first + 1).record();
    std::vector<float> cells(16);
    record.stage(Stage::weight, 1, window.queries, window.keys, cells);

    visit.save(Saving::npy(window, "cross"));
    finish(visit);
    const auto array = parse_npy(page.downloaded_bytes);
    REQUIRE(array);
    CHECK(array->shape == Shape{4, 4});
    CHECK(std::ranges::equal(array->bytes, std::as_bytes(std::span(cells))));

    visit.save(Saving::csv({map, {0, 4}, {0, 5}}, cross.query_names(), cross.key_names(), "cross"));
    finish(visit);
    const auto csv = CsvReading(page.downloaded_bytes).finish();
    REQUIRE(csv);
    CHECK(csv->row_labels == cross.query_names());
    CHECK(csv->column_labels == cross.key_names());
    CHECK(csv->values.shape() == Shape{4, 5});

    visit.save(Saving::all_heads(all_heads(cross, {})));
    finish(visit);
    const SavedHeads archive = read_saved_heads(page.downloaded_bytes);
    CHECK(archive.shape == Shape{layers, config.heads, 4, 5});
    std::vector<float> all;
    for (Index layer = first; layer < first + layers; ++layer)
        for (Index head = 0; head < config.heads; ++head)
            for (Index query = 0; query < 4; ++query)
                for (const float weight : trace.attention(layer).record().weights(head, query))
                    all.push_back(weight);
    CHECK(archive.attention == all);
    CHECK(archive.about["layers"] == "cross 0 to cross 1");

    const std::string svg = svg_of(SvgMap{.queries = cross.query_names(),
                                          .keys = part(cross.key_names(), window.keys),
                                          .cells = {cells.data(), 4, 4, 4},
                                          .colour = [](float) { return 0xf0f0f0u; },
                                          .title = "cross",
                                          .ink = {0xffffff, 0x000000, 0x808080}});
    for (const char* name : {">·w4<", ">·w6<", ">·w9<", ">·w1<"}) CHECK(svg.find(name) != std::string::npos);
    CHECK(svg.find(">·w5<") == std::string::npos);
}
