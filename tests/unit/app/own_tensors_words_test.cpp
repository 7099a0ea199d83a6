// Tests the words of a user's own tensors: tokens of queries and keys are merged on each side separately.
#include "app/explained.hpp"
#include "app/table.hpp"
#include "parts/saving.hpp"
#include "subjects/tensors/own_tensors.hpp"
#include "unit/app/saved_heads.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::parts;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

TEST_CASE("tokens of queries and of keys are merged to their own words", "[tensors]") {
    constexpr Index queries = 4, keys = 7;
    const std::vector<float> values = random_weights(2 * 3 * queries, keys, 6);
    TensorsVisit v;
    v.drop({{"attention.npy", write_npy({2, 3, queries, keys}, values)},
            {"queries.json", text_file(R"([" did", "n", "'t", " go"])")},
            {"keys.json", text_file(R"(["The", " anim", "al", " didn", "'t", " go", "."])")}});
    REQUIRE(v.open());
    const TensorSet& set = *v.open();
    REQUIRE(set.has(Unit::words));
    CHECK(set.query_words().names == std::vector<std::string>{"didn't", "go"});
    CHECK(set.key_words().names == std::vector<std::string>{"The", "animal", "didn't", "go", "."});
    CHECK(set.unit_of({}) == Unit::tokens);
    v.visit.perform(SetMap{{.unit = Unit::words}, tensors_subject});
    v.visit.perform(Select{{1, 2, {}, {}}});
    CHECK(v.page.url.find("&shown=weight,words&") != std::string::npos);
    const MapPointer map = v.open()->map(1, 2, v.choice());
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
            const auto why = explained(v.visit, RunCell{Stage::weight, i, j, false, Unit::words});
            REQUIRE(why);
            CHECK(why->f64 == Catch::Approx(mean).epsilon(1e-15));
            CHECK(why->f32 == static_cast<double>(map->cell(i, j)));
            CHECK(why->provenance == "layer 1, head 2 · loaded from attention.npy");
            CHECK(std::ssize(why->operands) == rows.size() * columns.size());
        }
    CHECK(explained(v.visit, RunCell{Stage::weight, 0, 1, false, Unit::words})->title ==
          "Weights[\"didn't\", \"animal\"]");
    CHECK(explained(v.visit, RunCell{Stage::weight, 0, 1, false, Unit::words})->operands[0].name ==
          "·did→·anim");
    CHECK_FALSE(explained(v.visit, RunCell{Stage::weight, 2, 0, false, Unit::words}));
    const std::string table = tables_json(std::array{table_in(v.visit)});
    CHECK_THAT(table, ContainsSubstring("Weights between words of attention.npy, layer 1, head 2"));
    CHECK_THAT(table, ContainsSubstring(R"(["The","animal","didn't","go","."])"));

    // The archive of all heads has the same words as the map.
    v.visit.save(Saving::all_heads(all_heads(set, v.choice())));
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
    v.visit.perform(Pin{RunCell{Stage::weight, 1, 4, false, Unit::words}});
    CHECK(v.state().pin);
    v.drop({{"attention.npy", weights_npy({2, 3, queries, keys})}});
    CHECK_FALSE(v.state().pin);
}

TEST_CASE("a side without tokens keeps its positions, and tokens that are words stay single", "[tensors]") {
    const Drop files{{"q.npy", normal_npy({3, 2}, 1)}, {"k.npy", normal_npy({4, 2}, 2)}};
    const auto opened_with = [&](std::string_view keys) {
        auto v = std::make_unique<TensorsVisit>();
        Drop all = files;
        if (!keys.empty()) all.push_back({"tokens.json", text_file(keys)});
        v->drop(all);
        v->visit.perform(SetMap{{.unit = Unit::words}, tensors_subject});
        REQUIRE(v->open());
        return v;
    };
    const auto one_side = opened_with(R"(["a", " b", "c", " d"])");
    CHECK(one_side->open()->has(Unit::words));
    CHECK(one_side->open()->query_words().names == std::vector<std::string>{"0", "1", "2"});
    CHECK(one_side->open()->key_words().names == std::vector<std::string>{"a", "bc", "d"});
    const MapPointer tokens = one_side->open()->maps({.stage = Stage::weight})(0, 0);
    for (Index i = 0; i < 3; ++i) {
        CHECK(one_side->cell(0, 0, i, 0) == tokens->cell(i, 0));
        CHECK(one_side->cell(0, 0, i, 2) == tokens->cell(i, 3));
        CHECK_THAT(
            static_cast<double>(one_side->cell(0, 0, i, 1)),
            WithinAbs(static_cast<double>(tokens->cell(i, 1)) + static_cast<double>(tokens->cell(i, 2)),
                      6e-8));
    }
    one_side->visit.perform(SetMap{{.sink = Sink::renormalised, .unit = Unit::words}, tensors_subject});
    CHECK(one_side->cell(0, 0, 2, 0) == masked_cell);
    CHECK_THAT(static_cast<double>(one_side->cell(0, 0, 2, 1) + one_side->cell(0, 0, 2, 2)),
               WithinAbs(1, 2e-7));  // two roundings of at most 6e-8
    // Scores have no sums over words.
    CHECK(one_side->open()->unit_of({.stage = Stage::raw, .unit = Unit::words}) == Unit::tokens);

    for (const std::string_view keys : {"", R"(["a", " b", " c", " d"])"}) {
        const auto none = opened_with(keys);
        CHECK_FALSE(none->open()->has(Unit::words));
        CHECK(none->open()->unit_of(none->choice()) == Unit::tokens);
        CHECK(none->open()->map(0, 0, none->choice())->keys() == 4);
    }
    CHECK_FALSE(explained(opened_with("")->visit, RunCell{Stage::weight, 0, 0, false, Unit::words}));
}

TEST_CASE("finished weights open with their tokens, layer by layer and head by head", "[tensors]") {
    const std::vector<float> values = random_weights(2 * 3 * 4, 5, 7);
    const Bytes file = write_npy({2, 3, 4, 5}, values);
    TensorsVisit v;
    v.drop({{"attention.npy", file}, {"keys.json", text_file(R"(["a", "b", "c", "d", "é"])")}});
    REQUIRE(v.open());
    CHECK(v.page.notices.empty());
    CHECK(v.open()->title() == "attention.npy");
    CHECK(v.open()->summary() == "2 layers × 3 heads · 4 queries × 5 keys · float32");
    CHECK(v.open()->query_names() == std::vector<std::string>{"0", "1", "2", "3"});
    CHECK(v.open()->key_names() == std::vector<std::string>{"a", "b", "c", "d", "é"});
    CHECK(v.open()->remarks().empty());
    CHECK(v.state().subject == tensors_subject);
    CHECK(tensors_of(v.state()).files == std::vector<std::string>{"attention.npy", "keys.json"});
    const auto at = [&](Index layer, Index head, Index query, Index key) {
        return values[static_cast<std::size_t>(((layer * 3 + head) * 4 + query) * 5 + key)];
    };
    CHECK(v.cell(1, 2, 3, 4) == at(1, 2, 3, 4));
    CHECK(v.cell(0, 1, 2, 0) == at(0, 1, 2, 0));

    // The place of a number in its file: 4 bytes each, after the header.
    v.visit.perform(Select{{1, 2, 3, 4}});
    const auto why = explained(v.visit, RunCell{Stage::weight, 3, 4});
    REQUIRE(why);
    CHECK(why->title == "Weights[\"3\", \"é\"]");
    CHECK(why->provenance == "layer 1, head 2 · loaded from attention.npy");
    CHECK(why->f32 == static_cast<double>(at(1, 2, 3, 4)));
    const auto header = parse_npy_header(file, file.size());
    CHECK_THAT(why->note,
               ContainsSubstring("Stored as float32 at byte " +
                                 std::to_string(header->data_offset + 4 * 119) + " of attention.npy: "));
    CHECK_FALSE(explained(v.visit, RunCell{Stage::raw, 3, 4}));
    CHECK_FALSE(explained(v.visit, RunCell{Stage::weight, 4, 0}));
    CHECK_THAT(tables_json(std::array{table_in(v.visit)}),
               ContainsSubstring("Weights of attention.npy, layer 1, head 2"));

    // In these small pictures of the heads, each texel is one cell.
    const attn::Thumbnails& small = v.open()->overview()->maps();
    CHECK(small.exact() == 6);
    CHECK(small.strongest()(1 * 4 + 3, 2 * 5 + 4) == at(1, 2, 3, 4));
}

TEST_CASE("white-space tokens are shown like a sentence's", "[tensors]") {
    TensorsVisit v;
    v.drop({{"attention.npy", weights_npy({4, 4})},
            {"tokens.json", text_file(R"(["\n", " ", "\u200d", " cat"])")}});
    REQUIRE(v.open());
    const std::vector<std::string> shown{"↵", "·", "\\u200D", "·cat"};
    CHECK(v.open()->query_names() == shown);
    CHECK(std::ranges::equal(v.open()->key_tokens(), shown));
}
