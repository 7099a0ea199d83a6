// Tensors of one's own in a visit: what is opened, asked, refused, kept and saved.
#include "app/own_tensors.hpp"

#include <cmath>

#include "app/explained.hpp"
#include "app/saving.hpp"
#include "app/table.hpp"
#include "app/url.hpp"
#include "io/csv.hpp"
#include "io/npy.hpp"
#include "io/zip_writer.hpp"
#include "tensor/random.hpp"
#include "unit/app/saved_heads.hpp"
#include "unit/app/support.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

using Bytes = std::vector<std::byte>;
using Drop = std::vector<std::pair<std::string, Bytes>>;

Bytes text(std::string_view words) {
    const auto bytes = as_bytes(words);
    return {bytes.begin(), bytes.end()};
}

// Rows that sum to one to within a float's rounding.
std::vector<float> weights(Index rows, Index columns, std::uint64_t seed) {
    Random random(seed);
    std::vector<float> out;
    for (Index row = 0; row < rows; ++row) {
        std::vector<double> values;
        double sum = 0;
        for (Index column = 0; column < columns; ++column) sum += values.emplace_back(random.uniform());
        for (const double value : values) out.push_back(static_cast<float>(value / sum));
    }
    return out;
}

std::vector<float> normal(Index count, std::uint64_t seed) {
    Random random(seed);
    std::vector<float> out;
    for (Index i = 0; i < count; ++i) out.push_back(static_cast<float>(random.normal()));
    return out;
}

Bytes npy(const Shape& shape, std::span<const float> values) { return write_npy(shape, values); }
Bytes weights_npy(const Shape& shape, std::uint64_t seed = 1) {
    Index rows = 1;
    for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) rows *= shape[axis];
    return npy(shape, weights(rows, shape.back(), seed));
}
// The same numbers as float64.
Bytes as_f64(const Shape& shape, std::span<const float> values) {
    Bytes bytes = npy(shape, values);
    const auto header = parse_npy_header(bytes, bytes.size());
    bytes.resize(static_cast<std::size_t>(header->data_offset));
    bytes[static_cast<std::size_t>(std::ranges::search(bytes, as_bytes("<f4")).begin() - bytes.begin()) + 2] =
        std::byte{'8'};
    for (const float value : values) {
        const auto wide = static_cast<double>(value) / 3;  // more digits than a float has
        const auto raw = std::as_bytes(std::span(&wide, 1));
        bytes.insert(bytes.end(), raw.begin(), raw.end());
    }
    return bytes;
}

struct TensorsVisit {
    FakePage page;
    Session session{page};

    const TensorSet* open() { return session.tensors().open(); }
    const State& state() { return session.state(); }
    void drop(const Drop& files) {
        for (const auto& [name, bytes] : files) {
            auto to = session.tensors().buffer(name, bytes.size());
            REQUIRE(to);
            std::ranges::copy(bytes, *to);
        }
        session.tensors().arrived();
        work();
    }
    void work() {
        for (int i = 0; i < 10'000; ++i)
            if (!session.work(10)) return;
        FAIL("the work does not end");
    }
    void answer(const std::string& question, const std::string& answer) {
        session.tensors().answer(question, answer);
        work();
    }
    float cell(Index layer, Index head, Index query, Index key) {
        return session.tensors().open()->map(layer, head, state().tensors.map)->cell(query, key);
    }
    std::string refusal() {
        REQUIRE(page.notices.size() == 1);
        const std::string said = page.notices[0];
        page.notices.clear();
        CHECK(said.ends_with('.'));
        CHECK_THAT(said, !ContainsSubstring("\n"));
        return said;
    }
};

// Weights of one head in double: softmax(q kᵀ · scale + bias) over the keys that `allows`.
std::vector<double> reference(std::span<const float> q, std::span<const float> k, Index d, double scale,
                              auto allows) {
    const Index queries = std::ssize(q) / d, keys = std::ssize(k) / d;
    std::vector<double> out;
    for (Index i = 0; i < queries; ++i) {
        double sum = 0;
        std::vector<double> row;
        for (Index j = 0; j < keys; ++j) {
            double score = 0;
            for (Index a = 0; a < d; ++a)
                score += static_cast<double>(q[static_cast<std::size_t>(i * d + a)]) *
                         static_cast<double>(k[static_cast<std::size_t>(j * d + a)]);
            row.push_back(allows(i, j) ? std::exp(score * scale) : 0);
            sum += row.back();
        }
        for (const double e : row) out.push_back(e / sum);
    }
    return out;
}

}  // namespace

TEST_CASE("finished weights open with their tokens, layer by layer and head by head", "[tensors]") {
    const std::vector<float> values = weights(2 * 3 * 4, 5, 7);
    const Bytes file = npy({2, 3, 4, 5}, values);
    TensorsVisit v;
    v.drop({{"attention.npy", file}, {"keys.json", text(R"(["a", "b", "c", "d", "é"])")}});
    REQUIRE(v.open());
    CHECK(v.page.notices.empty());
    CHECK(v.open()->title() == "attention.npy");
    CHECK(v.open()->summary() == "2 layers × 3 heads · 4 queries × 5 keys · float32");
    CHECK(v.open()->query_names() == std::vector<std::string>{"0", "1", "2", "3"});
    CHECK(v.open()->key_names() == std::vector<std::string>{"a", "b", "c", "d", "é"});
    CHECK(v.open()->remarks().empty());
    CHECK(v.state().lens == LensId::tensors);
    CHECK(v.state().tensors.files == std::vector<std::string>{"attention.npy", "keys.json"});
    const auto at = [&](Index layer, Index head, Index query, Index key) {
        return values[static_cast<std::size_t>(((layer * 3 + head) * 4 + query) * 5 + key)];
    };
    CHECK(v.cell(1, 2, 3, 4) == at(1, 2, 3, 4));
    CHECK(v.cell(0, 1, 2, 0) == at(0, 1, 2, 0));

    // Where a number lies in its file: 4 bytes each behind the header.
    v.session.perform(Select{{1, 2, 3, 4}});
    const auto why = explain_cell(v.session, {MatrixId::weight, 3, 4});
    REQUIRE(why);
    CHECK(why->title == "Weights[\"3\", \"é\"]");
    CHECK(why->provenance == "layer 1, head 2 · loaded from attention.npy");
    CHECK(why->f32 == static_cast<double>(at(1, 2, 3, 4)));
    const auto header = parse_npy_header(file, file.size());
    CHECK_THAT(why->note,
               ContainsSubstring("Stored as float32 at byte " +
                                 std::to_string(header->data_offset + 4 * 119) + " of attention.npy: "));
    CHECK_FALSE(explain_cell(v.session, {MatrixId::raw, 3, 4}));
    CHECK_FALSE(explain_cell(v.session, {MatrixId::weight, 4, 0}));
    CHECK_THAT(table_json(v.session), ContainsSubstring("Weights of attention.npy, layer 1, head 2"));

    // Every head small: here a texel is a cell.
    const attn::Thumbnails& small = v.open()->overview()->maps();
    CHECK(small.exact() == 6);
    CHECK(small.strongest()(1 * 4 + 3, 2 * 5 + 4) == at(1, 2, 3, 4));
}

TEST_CASE("heads of finished weights and of Q and K are measured, with tokens by all scores", "[tensors]") {
    TensorsVisit v;
    v.drop({{"attention.npy", weights_npy({2, 3, 6, 6})},
            {"tokens.json", text(R"(["a", "b", "a", "c", "b", "a"])")}});
    REQUIRE(v.open());
    const std::vector<std::int32_t> ids{0, 1, 0, 2, 1, 0};
    const auto all_scores = [&](std::span<const std::int32_t> names) {
        const HeadOverview& heads = *v.open()->overview();
        REQUIRE(heads.done());
        for (Index layer = 0; layer < heads.layers(); ++layer)
            for (Index head = 0; head < heads.heads(); ++head) {
                HeadScoring scoring(v.open()->make_map(layer, head, MapStage::weight), names);
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

    v.drop({{"q.npy", npy({2, 4, 3}, normal(24, 1))}, {"k.npy", npy({2, 6, 3}, normal(36, 2))}});
    REQUIRE_FALSE(v.open()->finished());
    CHECK_FALSE(v.open()->overview()->measures(HeadScore::previous_token));
    CHECK_FALSE(v.open()->overview()->measures(HeadScore::distance));
    CHECK(v.open()->overview()->measures(HeadScore::entropy));
    all_scores({});
}

TEST_CASE("the order and the flow of one's own heads are in the link", "[tensors]") {
    const std::string link = "v=1&lens=tensors&sorted=entropy,first&edges=0.5,columns,0.1,1.2";
    const auto parsed = parse_fragment(link);
    CHECK(parsed.note.empty());
    CHECK(parsed.state.tensors.heads == HeadsChoice{HeadScore::entropy, HeadScore::first_token});
    CHECK(parsed.state.tensors.flow == FlowChoice{0.5f, FlowForm::columns, {{0, 1}, {1, 2}}});
    CHECK(to_fragment(parsed.state) == link);
    CHECK(parsed.state.sentence.heads == HeadsChoice{});
    // Heads of other files are not these.
    CHECK(after(parsed.state, OpenTensors{{"other.npy"}}).tensors.flow.heads.empty());
    CHECK(refusal(parsed.state, SetTensorFlow{{.mass = 2}}) == "The share of a row lies between 0 and 1.");
    CHECK(refusal(parsed.state, SetTensorHeads{{{}, HeadScore::entropy}}) ==
          "Heads are scattered over two scores; the one across is missing.");
}

TEST_CASE("the heads of one's own are saved, queries and keys under their own names", "[tensors]") {
    const std::vector<float> values = weights(2 * 3 * 4, 5, 7);
    const std::vector<std::string> keys{"a", "b", "c", "d", "é"};
    TensorsVisit v;
    v.drop(
        {{"attention.npy", npy({2, 3, 4, 5}, values)}, {"keys.json", text(R"(["a", "b", "c", "d", "é"])")}});
    REQUIRE(v.open());
    const Saving::Window window{v.session.tensors().open()->map(1, 2, {}), {1, 4}, {2, 5}};
    v.session.save(Saving::csv(window, v.open()->query_names(), v.open()->key_names(), "weights"));
    v.work();
    const auto csv = CsvReading(v.page.downloaded_bytes).finish();
    REQUIRE(csv);
    CHECK(csv->row_labels == std::vector<std::string>{"1", "2", "3"});
    CHECK(csv->column_labels == std::vector<std::string>{"c", "d", "é"});
    CHECK(std::ranges::equal(csv->values.values(), cells_of(*window.map, {{1, 4}, {2, 5}})));

    v.session.save(Saving::all_heads(all_heads(*v.open(), {.stage = MapStage::scaled})));
    v.work();
    CHECK(v.page.downloaded == "attention-weight.npz");  // which is all that they have
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

TEST_CASE("a layer a file is saved as one archive, −∞ that is stored as that", "[tensors]") {
    constexpr float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> first{0.5f, -inf, 0.5f, 1}, second{1, 0, -inf, 1};
    TensorsVisit v;
    v.drop({{"attn_0.npy", npy({2, 2}, first)},
            {"attn_1.npy", npy({2, 2}, second)},
            {"tokens.json", text(R"(["a", "b"])")}});
    REQUIRE(v.open());
    REQUIRE(v.open()->layers() == 2);
    v.session.save(Saving::all_heads(all_heads(*v.open(), {})));
    v.work();
    SavedHeads archive = read_saved_heads(v.page.downloaded_bytes);
    CHECK(archive.attention == std::vector<float>{0.5f, -inf, 0.5f, 1, 1, 0, -inf, 1});
    CHECK(archive.about["tokens"] == std::vector<std::string>{"a", "b"});
    v.session.save(Saving::all_heads(all_heads(*v.open(), {.sink = Sink::hidden})));
    v.work();
    archive = read_saved_heads(v.page.downloaded_bytes);
    CHECK(archive.attention == std::vector<float>{0, -inf, 0, 1, 0, 0, 0, 1});
    CHECK(archive.about["first key"] == "nosink");
}

TEST_CASE("what is being saved stays what it was when the rule changes and the set is closed", "[tensors]") {
    TensorsVisit v;
    v.drop({{"q.npy", npy({2, 3, 4}, normal(24, 1))},
            {"k.npy", npy({2, 5, 4}, normal(40, 2))},
            {"v.npy", npy({2, 5, 4}, normal(40, 3))}});
    REQUIRE(v.open());
    v.session.perform(SetTensorRule{{TensorRule::Causal::with_past, false}});
    v.work();
    for (const MapStage stage : {MapStage::raw, MapStage::contribution}) {
        std::vector<float> cells;
        for (const Index head : {0, 1})
            for (const float cell : cells_of(*v.open()->make_map(0, head, stage)))
                cells.push_back(cell == masked_cell && !is_signed(stage) ? 0 : cell);
        v.session.save(Saving::all_heads(all_heads(*v.open(), {.stage = stage})));
        v.session.perform(SetTensorRule{{TensorRule::Causal::none, true}});
        if (stage == MapStage::contribution) v.session.close_tensors();
        v.work();
        const SavedHeads archive = read_saved_heads(v.page.downloaded_bytes);
        CHECK(archive.shape == Shape{1, 2, 3, 5});
        CHECK(archive.attention == cells);
        CHECK(archive.about["from"] == "Q, K and V of q.npy, k.npy, v.npy");
        CHECK(archive.about["causal"] == "with a past");
        CHECK(archive.about["scale"] == "none");
        CHECK_FALSE(archive.about.contains("tokens"));
        v.session.undo();
        v.work();
    }
}

TEST_CASE("tokens of queries and of keys are merged to their own words", "[tensors]") {
    constexpr Index queries = 4, keys = 7;
    const std::vector<float> values = weights(2 * 3 * queries, keys, 6);
    TensorsVisit v;
    v.drop({{"attention.npy", npy({2, 3, queries, keys}, values)},
            {"queries.json", text(R"([" did", "n", "'t", " go"])")},
            {"keys.json", text(R"(["The", " anim", "al", " didn", "'t", " go", "."])")}});
    REQUIRE(v.open());
    const TensorSet& set = *v.open();
    REQUIRE(set.has_words());
    CHECK(set.query_words().names == std::vector<std::string>{"didn't", "go"});
    CHECK(set.key_words().names == std::vector<std::string>{"The", "animal", "didn't", "go", "."});
    CHECK_FALSE(set.shows_words({}));
    v.session.perform(SetTensorMap{{.unit = Unit::words}});
    v.session.perform(Select{{1, 2, {}, {}}});
    CHECK(v.page.url.ends_with("&shown=weight,words"));
    const MapPointer map = v.session.tensors().open()->map(1, 2, v.state().tensors.map);
    REQUIRE(map->queries() == 2);
    REQUIRE(map->keys() == 5);
    const auto of_head = std::span(values).subspan(5 * queries * keys);
    for (Index i = 0; i < 2; ++i)
        for (Index j = 0; j < 5; ++j) {
            const Range rows = set.query_words().of(i), columns = set.key_words().of(j);
            double sum = 0;
            for (Index q = rows.begin; q < rows.end; ++q)
                for (Index k = columns.begin; k < columns.end; ++k)
                    sum += static_cast<double>(of_head[static_cast<std::size_t>(q * keys + k)]);
            const double mean = sum / static_cast<double>(rows.size());
            CAPTURE(i, j);
            CHECK_THAT(static_cast<double>(map->cell(i, j)), WithinAbs(mean, 6e-8));  // rounded once
            const auto why = explain_cell(v.session, {MatrixId::weight, i, j, false, true});
            REQUIRE(why);
            CHECK(why->f64 == Catch::Approx(mean).epsilon(1e-15));
            CHECK(why->f32 == static_cast<double>(map->cell(i, j)));
            CHECK(why->provenance == "layer 1, head 2 · loaded from attention.npy");
            CHECK(std::ssize(why->operands) == rows.size() * columns.size());
        }
    CHECK(explain_cell(v.session, {MatrixId::weight, 0, 1, false, true})->title ==
          "Weights[\"didn't\", \"animal\"]");
    CHECK(explain_cell(v.session, {MatrixId::weight, 0, 1, false, true})->operands[0].name == "did→anim");
    CHECK_FALSE(explain_cell(v.session, {MatrixId::weight, 2, 0, false, true}));
    const std::string table = table_json(v.session);
    CHECK_THAT(table, ContainsSubstring("Weights between words of attention.npy, layer 1, head 2"));
    CHECK_THAT(table, ContainsSubstring(R"(["The","animal","didn't","go","."])"));

    // All heads of them, which have the words that the map has.
    v.session.save(Saving::all_heads(all_heads(set, v.state().tensors.map)));
    v.work();
    const SavedHeads archive = read_saved_heads(v.page.downloaded_bytes);
    CHECK(archive.shape == Shape{2, 3, 2, 5});
    CHECK(std::ranges::equal(std::span(archive.attention).last(10), cells_of(*map)));
    CHECK(archive.about["tensors"]["attention"] ==
          std::vector<std::string>{"layer", "head", "query word", "key word"});
    CHECK(archive.about["query words"] == set.query_words().names);
    CHECK(archive.about["tokens of a query word"] == std::vector<int>{3, 1});
    CHECK(archive.about["key words"] == set.key_words().names);
    CHECK(archive.about["tokens of a key word"] == std::vector<int>{1, 2, 2, 1, 1});
    CHECK(archive.about["query tokens"].size() == 4);

    // Another set has fewer words.
    v.session.perform(Pin{CellRef{MatrixId::weight, 1, 4, false, true}});
    CHECK(v.state().pin);
    v.drop({{"attention.npy", weights_npy({2, 3, queries, keys})}});
    CHECK_FALSE(v.state().pin);
}

TEST_CASE("a side without tokens keeps its positions, and tokens that are words are left alone",
          "[tensors]") {
    const Drop files{{"q.npy", npy({3, 2}, normal(6, 1))}, {"k.npy", npy({4, 2}, normal(8, 2))}};
    const auto opened_with = [&](std::string_view keys) {
        auto v = std::make_unique<TensorsVisit>();
        Drop all = files;
        if (!keys.empty()) all.push_back({"tokens.json", text(keys)});
        v->drop(all);
        v->session.perform(SetTensorMap{{.unit = Unit::words}});
        REQUIRE(v->open());
        return v;
    };
    const auto one_side = opened_with(R"(["a", " b", "c", " d"])");
    CHECK(one_side->open()->has_words());
    CHECK(one_side->open()->query_words().names == std::vector<std::string>{"0", "1", "2"});
    CHECK(one_side->open()->key_words().names == std::vector<std::string>{"a", "bc", "d"});
    const MapPointer tokens = one_side->open()->make_map(0, 0, MapStage::weight);
    for (Index i = 0; i < 3; ++i) {
        CHECK(one_side->cell(0, 0, i, 0) == tokens->cell(i, 0));
        CHECK(one_side->cell(0, 0, i, 2) == tokens->cell(i, 3));
        CHECK_THAT(
            static_cast<double>(one_side->cell(0, 0, i, 1)),
            WithinAbs(static_cast<double>(tokens->cell(i, 1)) + static_cast<double>(tokens->cell(i, 2)),
                      6e-8));
    }
    one_side->session.perform(SetTensorMap{{.sink = app::Sink::renormalised, .unit = Unit::words}});
    CHECK(one_side->cell(0, 0, 2, 0) == masked_cell);
    CHECK_THAT(static_cast<double>(one_side->cell(0, 0, 2, 1) + one_side->cell(0, 0, 2, 2)),
               WithinAbs(1, 2e-7));  // two roundings of at most 6e-8
    // Of scores there are no sums.
    CHECK_FALSE(one_side->open()->shows_words({.stage = MapStage::raw, .unit = Unit::words}));

    for (const std::string_view keys : {"", R"(["a", " b", " c", " d"])"}) {
        const auto none = opened_with(keys);
        CHECK_FALSE(none->open()->has_words());
        CHECK_FALSE(none->open()->shows_words(none->state().tensors.map));
        CHECK(none->session.tensors().open()->map(0, 0, none->state().tensors.map)->keys() == 4);
    }
    CHECK_FALSE(explain_cell(opened_with("")->session, {MatrixId::weight, 0, 0, false, true}));
}

TEST_CASE("a number of float64 is explained to its last digit", "[tensors]") {
    TensorsVisit v;
    const std::vector<float> values = weights(3, 3, 2);
    v.drop({{"attention.npy", as_f64({3, 3}, values)}});
    REQUIRE(v.open());
    const auto why = explain_cell(v.session, {MatrixId::weight, 1, 2});
    REQUIRE(why);
    CHECK(why->f64 == static_cast<double>(values[5]) / 3);
    CHECK(why->f32 == static_cast<double>(static_cast<float>(why->f64)));
    CHECK(v.open()->remarks().size() == 1);  // the rows sum to a third
    CHECK_THAT(v.open()->remarks()[0], ContainsSubstring("3 of 3 rows are not of sum one"));
}

TEST_CASE("an archive's tensors are named by what they are called there", "[tensors]") {
    const Bytes q = npy({4, 2}, normal(8, 1)), k = npy({5, 2}, normal(10, 2));
    const std::vector<ZipFile> entries{{"q.npy", q}, {"k.npy", k}};
    TensorsVisit v;
    v.drop({{"run.npz", write_zip(entries)}});
    REQUIRE(v.open());
    CHECK(v.open()->title() == "Q and K of run.npz");
    CHECK(v.open()->summary() == "1 head · 4 queries × 5 keys · d_k 2 · float32");
    const auto why = explain_cell(v.session, {MatrixId::weight, 0, 0});
    REQUIRE(why);
    CHECK_THAT(why->note, ContainsSubstring("of run.npz"));
    CHECK(why->operands.size() == 2);
}

TEST_CASE("Q and K become weights under the rule that is chosen", "[tensors]") {
    constexpr Index d = 8, queries = 6, keys = 9;
    const std::vector<float> q = normal(2 * queries * d, 3), k = normal(2 * keys * d, 4);
    TensorsVisit v;
    v.drop({{"q.npy", npy({2, queries, d}, q)}, {"k.npy", npy({2, keys, d}, k)}});
    REQUIRE(v.open());
    CHECK(v.open()->title() == "Q and K of q.npy, k.npy");
    const auto compare = [&](double scale, auto allows) {
        const std::span head_q = std::span(q).subspan(queries * d), head_k = std::span(k).subspan(keys * d);
        const std::vector<double> expected = reference(head_q, head_k, d, scale, allows);
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys; ++j) {
                const float found = v.cell(0, 1, i, j);
                if (!allows(i, j))
                    CHECK(found == masked_cell);
                else  // a weight is at most 1: some roundings of 6e-8
                    CHECK_THAT(static_cast<double>(found),
                               WithinAbs(expected[static_cast<std::size_t>(i * keys + j)], 1e-6));
            }
    };
    using Causal = TensorRule::Causal;
    compare(1 / std::sqrt(8.0), [](Index, Index) { return true; });
    v.session.perform(SetTensorRule{{Causal::aligned, true}});
    v.work();
    compare(1 / std::sqrt(8.0), [](Index i, Index j) { return j <= i; });
    v.session.perform(SetTensorRule{{Causal::with_past, false}});
    v.work();
    compare(1, [](Index i, Index j) { return j <= i + keys - queries; });
    CHECK(v.page.url.ends_with("&rule=past,unscaled"));
    v.session.undo();
    v.session.undo();
    v.work();
    compare(1 / std::sqrt(8.0), [](Index, Index) { return true; });

    v.session.perform(SetTensorMap{{.stage = MapStage::raw}});
    v.session.perform(Select{{0, 1, {}, {}}});
    const auto why = explain_cell(v.session, {MatrixId::raw, 2, 3});
    REQUIRE(why);
    CHECK_THAT(static_cast<double>(v.cell(0, 1, 2, 3)), WithinAbs(why->f64, 1e-5));
    CHECK(why->provenance == "head 1 · computed here from Q and K");
    CHECK(why->operands.size() == 8);
    // Without V there are no contributions.
    CHECK(v.open()->stage_for(MapStage::contribution) == MapStage::weight);
    CHECK(v.open()->stage_for(MapStage::masked) == MapStage::scaled);
}

TEST_CASE("V gives contributions, a mask says what its numbers mean", "[tensors]") {
    const Bytes q = npy({3, 2}, normal(6, 1)), k = npy({3, 2}, normal(6, 2)),
                values = npy({3, 4}, normal(12, 3));
    const Bytes mask = npy({3, 3}, std::vector<float>{1, 0, 0, 1, 1, 0, 1, 1, 1});
    TensorsVisit v;
    v.drop({{"q.npy", q}, {"k.npy", k}, {"v.npy", values}, {"mask.npy", mask}});
    REQUIRE(v.session.tensors().opening());
    CHECK(v.state().lens == LensId::tensors);
    const auto questions = v.session.tensors().opening()->questions();
    REQUIRE(questions.size() == 1);
    CHECK(questions[0].id == "mask meaning");
    v.answer("mask meaning", "allowed");
    REQUIRE(v.open());
    CHECK(v.open()->has_values());
    CHECK(v.open()->title() == "Q, K, V and mask of q.npy, k.npy, v.npy, mask.npy");
    CHECK(v.cell(0, 0, 0, 0) == 1);
    CHECK(v.cell(0, 0, 0, 1) == masked_cell);
    const float weight = v.cell(0, 0, 2, 1);
    v.session.perform(SetTensorMap{{.stage = MapStage::contribution}});
    const auto row = to_tensor(*parse_npy(values));
    CHECK(v.cell(0, 0, 2, 1) == Catch::Approx(weight * row_norms(row->matrix())[1]));

    // Answered otherwise: the cells that were hidden are the others.
    v.session.tensors().ask_again();
    v.work();
    v.answer("mask meaning", "added");
    REQUIRE(v.open()->has_bias());
    CHECK(v.open()->stage_for(MapStage::masked) == MapStage::masked);
    CHECK(v.cell(0, 0, 0, 1) != masked_cell);
}

TEST_CASE("what names and shapes leave open is asked", "[tensors]") {
    // Four queries by four keys by nine heads, or four heads of four queries by nine keys.
    const std::vector<float> values = weights(16, 9, 5);
    TensorsVisit v;
    v.drop({{"attention.npy", npy({4, 4, 9}, values)}});
    CHECK_FALSE(v.open());
    REQUIRE(v.session.tensors().opening());
    const auto questions = v.session.tensors().opening()->questions();
    REQUIRE(questions.size() == 1);
    CHECK(questions[0].choices.size() == 2);
    CHECK(v.state().lens == LensId::tensors);
    v.answer(questions[0].id, "last");
    REQUIRE(v.open());
    CHECK(v.open()->summary() == "9 heads · 4 queries × 4 keys · float32");
    CHECK(v.cell(0, 7, 1, 2) == values[(1 * 4 + 2) * 9 + 7]);
    v.session.tensors().ask_again();
    v.work();
    v.answer(questions[0].id, "first");
    CHECK(v.open()->summary() == "4 heads · 4 queries × 9 keys · float32");
    v.session.tensors().ask_again();
    v.work();
    v.session.tensors().cancel();
    CHECK(v.open()->summary() == "4 heads · 4 queries × 9 keys · float32");
    CHECK_FALSE(v.session.tensors().opening());
}

TEST_CASE("files come one after another, in any order", "[tensors]") {
    TensorsVisit v;
    v.drop({{"q.npy", npy({4, 2}, normal(8, 1))}});
    CHECK_THAT(v.refusal(), ContainsSubstring("K is missing"));
    CHECK(names_of(v.session.tensors().waiting()) == std::vector<std::string>{"q.npy"});
    v.drop({{"k.npy", npy({4, 2}, normal(8, 2))}});
    REQUIRE(v.open());
    CHECK(v.session.tensors().waiting().empty());
    CHECK(v.open()->query_names()[0] == "0");
    // Tokens join what is open, without a second copy of it.
    const std::byte* before = v.open()->files()[0].bytes.get();
    v.drop({{"tokens.txt", text("The\ncat\nsat\ndown\n")}});
    CHECK(v.open()->query_names()[3] == "down");
    CHECK(v.open()->key_names()[1] == "cat");
    CHECK(v.open()->files()[0].bytes.get() == before);
    CHECK(v.state().tensors.files == std::vector<std::string>{"q.npy", "k.npy", "tokens.txt"});
    // As many as they like: then there are positions, and it is said.
    v.drop({{"tokens.txt", text("The\ncat\n")}});
    CHECK(v.open()->query_names()[1] == "1");
    REQUIRE(v.open()->remarks().size() == 1);
    CHECK_THAT(v.open()->remarks()[0], ContainsSubstring("tokens.txt has 2 tokens"));
    CHECK(v.page.notices.empty());
}

TEST_CASE("odd numbers are shown as they are, and said", "[tensors]") {
    std::vector<float> values = weights(4, 4, 1);
    values[0] = std::numeric_limits<float>::quiet_NaN();
    values[4] += 0.5f;
    for (std::size_t i = 8; i < 12; ++i) values[i] = 0;
    TensorsVisit v;
    v.drop({{"attention.npy", npy({4, 4}, values)}});
    REQUIRE(v.open());
    CHECK(std::isnan(v.cell(0, 0, 0, 0)));
    CHECK(v.cell(0, 0, 1, 0) == values[4]);
    const auto remarks = v.open()->remarks();
    REQUIRE(remarks.size() == 3);
    CHECK(remarks[0] == "attention.npy: 1 of 16 numbers is NaN, the first at row 0, column 0; shown as NaN.");
    CHECK_THAT(remarks[1], ContainsSubstring("1 of 4 rows is not of sum one"));
    CHECK_THAT(remarks[2], ContainsSubstring("1 of 4 rows is zero"));
    const auto why = explain_cell(v.session, {MatrixId::weight, 0, 0});
    REQUIRE(why);
    CHECK(std::isnan(why->f64));
}

TEST_CASE("files that cannot be used are one sentence, and what was open stays", "[tensors]") {
    TensorsVisit v;
    v.drop({{"attention.npy", weights_npy({2, 3, 3})}});
    REQUIRE(v.open());
    v.session.perform(Select{{0, 1, 2, 0}});
    const State before = v.state();
    const Bytes good = npy({4, 2}, normal(8, 1));
    const std::vector<std::int32_t> integers(9, 1);
    const Bytes whole = weights_npy({3, 3});
    const auto changed_within = [&](Bytes archive) {
        archive[30 + 5 + whole.size() - 1] ^= std::byte{1};  // behind a header of 30 bytes and the name
        return archive;
    };
    const auto lie = [](const char* name) { return read_file(source_dir() / "tests/golden/io/npz" / name); };
    const std::vector<std::pair<Drop, std::string>> refused{
        {{{"attention.npy", npy({5}, normal(5, 1))}}, "these files hold no matrix"},
        {{{"attention.npy", write_npy({3, 3}, integers)}}, "holds numbers of type int32"},
        {{{"attention.npy", npy({1025, 2, 2}, normal(4100, 1))}}, "would be 1 layers of 1025 heads"},
        {{{"q.npy", good}, {"k.npy", npy({4, 3}, normal(12, 1))}},
         "a query and a key need as many components"},
        {{{"attention.npy", Bytes(good.begin(), good.end() - 4)}}, "it is cut short"},
        {{{"attention.npy", text("<html>Not found</html>")}}, "this is not a .npy file"},
        {{{"attention.npy", {}}}, "this is not a .npy file"},
        {{{"run.npz", lie("lie_bomb.npz")}}, "more than deflate can make of them"},
        {{{"run.npz", changed_within(write_zip(std::vector<ZipFile>{{"a.npy", whole}}))}},
         "that is damaged: its CRC-32 is"},
        {{{"tokens.json", text("{}")}}, "should hold a list of tokens"},
        {{{"weights.csv", text("1,2\n3\n")}}, "weights.csv: "},
    };
    for (const auto& [files, says] : refused) {
        INFO(says);
        v.session.tensors().cancel();
        v.drop(files);
        CHECK_THAT(v.refusal(), ContainsSubstring(says));
        CHECK(v.state() == before);
        CHECK(v.open()->summary() == "2 heads · 3 queries × 3 keys · float32");
    }
}

TEST_CASE("a file that is larger than a tab can hold is refused before it is read", "[tensors]") {
    TensorsVisit v;
    const auto huge = v.session.tensors().buffer("attention.npy", 5'000'000'000);
    REQUIRE_FALSE(huge);
    CHECK(huge.error().message ==
          "attention.npy is 5.0 GB; a browser tab can hold tensors of up to 1.7 GB together: save "
          "fewer layers, or float16");
    v.session.tensors().discard();
    v.drop({{"attention.npy", weights_npy({1, 3, 512, 512})}});  // 3.1 MB
    REQUIRE(v.open());
    const auto beside = v.session.tensors().buffer("more.npy", 1'699'000'000);
    REQUIRE_FALSE(beside);
    CHECK_THAT(beside.error().message, ContainsSubstring("does not fit beside the 4 MB that are open"));
}

TEST_CASE("a link names the files it was made with", "[tensors]") {
    TensorsVisit v;
    v.session.start("v=1&lens=tensors&layer=1&head=2&query=3&key=1&files=a%5C,b.npy,tokens.json");
    CHECK(v.page.notices.empty());
    CHECK(v.session.wanted_tensors() == "a,b.npy and tokens.json");
    CHECK(v.state().selection.query == 3);
    const Drop files{{"a,b.npy", weights_npy({2, 3, 4, 5})},
                     {"tokens.json", text(R"(["a", "b", "c", "d"])")}};
    v.drop(files);
    v.answer("what", v.session.tensors().opening()
                         ? v.session.tensors().opening()->questions()[0].choices[0].answer
                         : "");
    REQUIRE(v.open());
    CHECK(v.session.wanted_tensors() == "");
    CHECK(v.state().selection == Selection{1, 2, 3, 1, {}});
    CHECK(v.open()->query_names()[1] == "b");

    // Others begin at their first head; a step back has no files of its own.
    v.drop({{"attention.npy", weights_npy({2, 2, 2})}});
    CHECK(v.state().selection == Selection{});
    v.session.undo();
    CHECK(v.state().tensors.files == std::vector<std::string>{"attention.npy"});
    v.session.open_fragment("v=1&lens=tensors&head=9&files=other.npy");
    REQUIRE(v.page.notices.size() == 1);
    CHECK(v.page.notices[0] == "This link was made with other.npy. Drop it onto the page to see the same.");
    CHECK(v.state().tensors.files == std::vector<std::string>{"attention.npy"});
    CHECK(v.state().selection.head == 1);

    v.session.close_tensors();
    CHECK_FALSE(v.open());
    CHECK(v.state().tensors.files.empty());
    v.session.undo();
    CHECK(v.session.wanted_tensors() == "attention.npy");
}

TEST_CASE("a selection of another lens does not reach beyond the tensors, nor theirs beyond a model",
          "[tensors]") {
    TensorsVisit v;
    load_tiny_model(v.session);
    v.session.tokens("the cat", {0, 1}, {"the", " cat"}, 2);
    finish(v.session);
    v.drop({{"attention.npy", weights_npy({6, 8, 3, 3})}});
    v.session.perform(Select{{5, 7, 2, 2}});
    v.session.perform(Pin{CellRef{MatrixId::weight, 2, 2}});
    CHECK(v.state().selection == Selection{5, 7, 2, 2, {}});
    CHECK(explain_cell(v.session, *v.state().pin));
    v.session.perform(OpenLens{LensId::sentence});
    CHECK(v.state().selection == Selection{1, 2, {}, {}});
    v.session.perform(OpenLens{LensId::tensors});
    v.drop({{"attention.npy", weights_npy({1, 1})}});
    CHECK(v.state().selection == Selection{});
}
