// Tests the heads of a user's own tensors: measuring, ordering and saving them all at once.
#include "app/link.hpp"
#include "io/csv.hpp"
#include "parts/saving.hpp"
#include "runs/merged_heads.hpp"
#include "subjects/tensors/own_tensors.hpp"
#include "unit/app/saved_heads.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::parts;
using namespace attn::test;

TEST_CASE("heads of finished weights and of Q and K are measured, with tokens by all scores", "[tensors]") {
    TensorsVisit v;
    v.drop({{"attention.npy", weights_npy({2, 3, 6, 6})},
            {"tokens.json", text_file(R"(["a", "b", "a", "c", "b", "a"])")}});
    REQUIRE(v.open());
    const std::vector<std::int32_t> ids{0, 1, 0, 2, 1, 0};
    const auto all_scores = [&](std::span<const std::int32_t> names) {
        const HeadOverview& heads = *v.open()->overview();
        REQUIRE(heads.done());
        for (Index layer = 0; layer < heads.layers(); ++layer)
            for (Index head = 0; head < heads.heads(); ++head) {
                HeadScoring scoring(v.open()->maps({.stage = Stage::weight})(layer, head), names);
                while (scoring.step()) {
                }
                const auto& found = heads.scores({layer, head});
                REQUIRE(found);
                CHECK(found->entropy == scoring.scores().entropy);
                CHECK(found->first_token == scoring.scores().first_token);
                if (names.empty()) continue;
                CHECK(found->previous_token == scoring.scores().previous_token);
                CHECK(found->duplicate_token == scoring.scores().duplicate_token);
                CHECK(found->induction == scoring.scores().induction);
            }
    };
    CHECK(v.open()->overview()->measures(HeadScore::induction));
    all_scores(ids);
    CHECK(v.open()->overview()->extent() > 0);

    v.drop({{"attention.npy", weights_npy({3, 5, 5})}});
    CHECK_FALSE(v.open()->overview()->measures(HeadScore::induction));
    CHECK(v.open()->overview()->measures(HeadScore::previous_token));
    all_scores({});

    v.drop({{"q.npy", normal_npy({2, 4, 3}, 1)}, {"k.npy", normal_npy({2, 6, 3}, 2)}});
    REQUIRE_FALSE(v.open()->finished());
    CHECK_FALSE(v.open()->overview()->measures(HeadScore::previous_token));
    CHECK_FALSE(v.open()->overview()->measures(HeadScore::distance));
    CHECK(v.open()->overview()->measures(HeadScore::entropy));
    all_scores({});
}

TEST_CASE("the order and the flow of a user's own heads are in the link", "[tensors]") {
    const std::string link = "v=1&subject=tensors&sorted=entropy,first&edges=0.5,columns,0.1,1.2";
    const auto parsed = parse_fragment(link);
    CHECK(parsed.note.empty());
    CHECK(looks_of(parsed.state, tensors_subject).heads ==
          HeadsChoice{HeadScore::entropy, HeadScore::first_token});
    CHECK(looks_of(parsed.state, tensors_subject).flow ==
          FlowChoice{0.5f, FlowForm::columns, {{0, 1}, {1, 2}}});
    CHECK(to_fragment(parsed.state) == link);
    CHECK(looks_of(parsed.state, sentence_subject).heads == HeadsChoice{});
    // These heads do not belong to the other files.
    CHECK(looks_of(after(parsed.state, OpenTensors{{"other.npy"}}), tensors_subject).flow.heads.empty());
    CHECK(refusal(parsed.state, SetFlow{{.mass = 2}, tensors_subject}) ==
          "The share of a row lies between 0 and 1.");
    CHECK(refusal(parsed.state, SetHeads{{{}, HeadScore::entropy}, tensors_subject}) ==
          "Choose a horizontal score first.");
}

TEST_CASE("a user's own heads are saved, with queries and keys under their own names", "[tensors]") {
    const std::vector<float> values = random_weights(2 * 3 * 4, 5, 7);
    const std::vector<std::string> keys{"a", "b", "c", "d", "é"};
    TensorsVisit v;
    v.drop({{"attention.npy", write_npy({2, 3, 4, 5}, values)},
            {"keys.json", text_file(R"(["a", "b", "c", "d", "é"])")}});
    REQUIRE(v.open());
    const Saving::Window window{v.open()->map(1, 2, {}), {1, 4}, {2, 5}};
    v.visit.save(Saving::csv(window, v.open()->query_names(), v.open()->key_names(), "weights"));
    v.work();
    const auto csv = CsvReading(v.page.downloaded_bytes).finish();
    REQUIRE(csv);
    CHECK(csv->row_labels == std::vector<std::string>{"1", "2", "3"});
    CHECK(csv->column_labels == std::vector<std::string>{"c", "d", "é"});
    CHECK(std::ranges::equal(csv->values.values(), cells_of(*window.map, {{1, 4}, {2, 5}})));

    v.visit.save(Saving::all_heads(all_heads(*v.open(), {.stage = Stage::scaled})));
    v.work();
    CHECK(v.page.downloaded == "attention-weight.npz");  // the file has nothing else
    const SavedHeads archive = read_saved_heads(v.page.downloaded_bytes);
    CHECK(archive.shape == Shape{2, 3, 4, 5});
    CHECK(archive.attention == values);
    CHECK_FALSE(archive.ids);
    CHECK(archive.about == nlohmann::json{{"from", "attention.npy"},
                                          {"stage", "weight"},
                                          {"first key", "sink"},
                                          {"masked", "0"},
                                          {"tensors", {{"attention", {"layer", "head", "query", "key"}}}},
                                          {"key tokens", keys}});
}

TEST_CASE("layers in separate files are saved as one archive, with stored −∞ unchanged", "[tensors]") {
    constexpr float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> first{0.5f, -inf, 0.5f, 1}, second{1, 0, -inf, 1};
    TensorsVisit v;
    v.drop({{"attn_0.npy", write_npy({2, 2}, first)},
            {"attn_1.npy", write_npy({2, 2}, second)},
            {"tokens.json", text_file(R"(["a", "b"])")}});
    REQUIRE(v.open());
    REQUIRE(v.open()->layers() == 2);
    v.visit.save(Saving::all_heads(all_heads(*v.open(), {})));
    v.work();
    SavedHeads archive = read_saved_heads(v.page.downloaded_bytes);
    CHECK(archive.attention == std::vector<float>{0.5f, -inf, 0.5f, 1, 1, 0, -inf, 1});
    CHECK(archive.about["tokens"] == std::vector<std::string>{"a", "b"});
    v.visit.save(Saving::all_heads(all_heads(*v.open(), {.sink = Sink::hidden})));
    v.work();
    archive = read_saved_heads(v.page.downloaded_bytes);
    CHECK(archive.attention == std::vector<float>{0, -inf, 0, 1, 0, 0, 0, 1});
    CHECK(archive.about["first key"] == "nosink");
}

TEST_CASE("a file being saved stays the same when the rule changes and the set is closed", "[tensors]") {
    TensorsVisit v;
    v.drop({{"q.npy", normal_npy({2, 3, 4}, 1)},
            {"k.npy", normal_npy({2, 5, 4}, 2)},
            {"v.npy", normal_npy({2, 5, 4}, 3)}});
    REQUIRE(v.open());
    v.visit.perform(SetTensorRule{{TensorRule::Causal::with_past, false}});
    v.work();
    for (const Stage stage : {Stage::raw, Stage::contribution}) {
        std::vector<float> cells;
        for (const Index head : {0, 1})
            for (const float cell : cells_of(*v.open()->maps({.stage = stage})(0, head)))
                cells.push_back(cell == masked_cell && !is_signed(stage) ? 0 : cell);
        v.visit.save(Saving::all_heads(all_heads(*v.open(), {.stage = stage})));
        v.visit.perform(SetTensorRule{{TensorRule::Causal::none, true}});
        if (stage == Stage::contribution) tensors_in(v.visit).close();
        v.work();
        const SavedHeads archive = read_saved_heads(v.page.downloaded_bytes);
        CHECK(archive.shape == Shape{1, 2, 3, 5});
        CHECK(archive.attention == cells);
        CHECK(archive.about["from"] == "Q, K and V of q.npy, k.npy, v.npy");
        CHECK(archive.about["causal"] == "with a past");
        CHECK(archive.about["scale"] == "none");
        CHECK_FALSE(archive.about.contains("tokens"));
        v.visit.undo();
        v.work();
    }
}

TEST_CASE("means over heads follow the rule", "[tensors]") {
    TensorsVisit v;
    v.drop({{"q.npy", normal_npy({2, 4, 4}, 1)}, {"k.npy", normal_npy({2, 4, 4}, 2)}});
    REQUIRE(v.open());
    for (const auto causal : {TensorRule::Causal::none, TensorRule::Causal::aligned}) {
        v.visit.perform(SetTensorRule{{causal, false}});
        v.work();
        TensorSet& set = *v.open();
        const auto means = set.merged_heads().means(set, {});
        REQUIRE(means);
        while (means->step_maps() || means->step_scores()) continue;
        double first = 0, all = 0;
        const MapPointer map = set.shown_maps({.mean = HeadMean::layer})(0, 0);
        for (Index query = 0; query < 4; ++query)
            for (Index key = 0; key < 4; ++key) {
                const float weight = map->cell(query, key);
                if (weight == masked_cell) continue;
                all += static_cast<double>(weight);
                if (key == 0) first += static_cast<double>(weight);
            }
        const auto& scores = means->scores({0, 0});
        REQUIRE(scores);
        CHECK_THAT(scores->first_token, WithinAbs(first / all, 1e-6));  // 16 cells of f32
    }
}
