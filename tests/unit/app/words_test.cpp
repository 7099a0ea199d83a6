// Tests words in a visit: the map by words, the explanations of its cells, and its saved file.
#include <algorithm>
#include <array>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/heads/head_maps.hpp"
#include "app/explained.hpp"
#include "app/link.hpp"
#include "app/table.hpp"
#include "parts/saving.hpp"
#include "unit/app/saved_heads.hpp"
#include "unit/app/support.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::parts;
using namespace attn::test;

namespace {

const std::vector<std::string> subwords{"The", "Ġanimal", "Ġdidn", "'t", "Ġcross", ".", "ĠIt", "s"};
const std::vector<Range> word_tokens{{0, 1}, {1, 2}, {2, 4}, {4, 5}, {5, 6}, {6, 8}};

struct WordVisit {
    FakePage page;
    Visit visit{page};
    explicit WordVisit(std::vector<std::string> pieces = subwords) {
        load_tiny_model(visit);
        visit.perform(OpenSubject{sentence_subject});
        visit.text_typed(Box::first, "x y");
        visit.tokens({Box::first, "x y", {3, 1, 4, 1, 5, 9, 2, 6}, std::move(pieces), 8});
        finish(visit);
        REQUIRE(sentence_in(visit).run());
    }
    TextRun& run() const { return *sentence_in(visit).run(); }
    std::vector<std::vector<float>> weights(Index layer, Index head) const {
        const Record& record = run().record_at(layer);
        std::vector<std::vector<float>> rows;
        for (Index q = 0; q < 8; ++q) rows.push_back(record.weights(head, q));
        return rows;
    }
};

double merged(const std::vector<std::vector<float>>& weights, Range queries, Range keys) {
    double sum = 0;
    for (Index q = queries.begin; q < queries.end; ++q)
        for (Index k = keys.begin; k < keys.end; ++k)
            sum += static_cast<double>(weights[static_cast<std::size_t>(q)][static_cast<std::size_t>(k)]);
    return sum / static_cast<double>(queries.size());
}

}  // namespace

TEST_CASE("the words of a run, and which of them a token belongs to") {
    const WordVisit v;
    const UnitAxis& axis = v.run().words;
    CHECK(axis.tokens == word_tokens);
    CHECK(axis.names == std::vector<std::string>{"The", "animal", "didn't", "cross", ".", "Its"});
    CHECK(axis.merges());
    CHECK(axis.unit_of(3) == 2);
    CHECK(axis.unit_of(7) == 5);
    CHECK(axis.units_of({3, 6}) == Range{2, 5});
    CHECK(axis.tokens_of({2, 6}) == Range{2, 8});
    CHECK_FALSE(WordVisit({"a", "b", "c", "d", "e", "f", "g", "h"}).run().words.merges());
}

TEST_CASE("a side that shows words names them for their tokens, and back") {
    const UnitAxis axis = word_axis(subwords);
    const ShownAxis words{axis.names, &axis}, tokens{subwords};
    CHECK(words.shown(2) == 2);
    CHECK(words.shown(3) == 2);
    CHECK(words.shown(7) == 5);
    CHECK_FALSE(words.shown(8));
    CHECK_FALSE(words.shown(std::nullopt));
    CHECK(words.token(2) == 3);
    CHECK(words.token(5) == 7);
    CHECK_FALSE(words.token(std::nullopt));
    for (Index token = 0; token < 8; ++token) {
        CHECK(tokens.shown(token) == token);
        CHECK(tokens.token(token) == token);
    }
    CHECK_FALSE(tokens.shown(8));
    CHECK(below_units(axis, subwords) ==
          std::vector<std::string>{"The", "Ġanimal", "2 tokens", "Ġcross", ".", "2 tokens"});
}

TEST_CASE("a cell between words names the weights it is computed from") {
    WordVisit v;
    v.visit.perform(Select{{1, 2, {}, {}}});
    const auto weights = v.weights(1, 2);
    for (Index i = 0; i < 6; ++i)
        for (Index j = 0; j < 6; ++j) {
            const auto query = word_tokens[static_cast<std::size_t>(i)],
                       key = word_tokens[static_cast<std::size_t>(j)];
            const auto why = explained(v.visit, RunCell{Stage::weight, i, j, false, Unit::words});
            REQUIRE(why);
            CAPTURE(i, j);
            CHECK(why->masked == (j > i));
            // The f32 value is rounded once; the token weights are within 1e-6 of those in double
            // (core/attention's bound).
            CHECK(std::abs(why->f32 - merged(weights, query, key)) <= 6e-8);
            CHECK(std::abs(why->f64 - why->f32) <= 1e-6);
            REQUIRE(std::ssize(why->operands) == query.size() * key.size());
            double sum = 0;
            for (const auto& operand : why->operands) {
                CHECK(operand.right == 1.0 / static_cast<double>(query.size()));
                sum += operand.product;
            }
            CHECK(std::abs(sum - why->f64) <= 1e-15);
        }
    const auto why = explained(v.visit, RunCell{Stage::weight, 5, 2, false, Unit::words});
    CHECK(why->title == "Weights[\"Its\", \"didn't\"]");
    CHECK(why->formula == "1/2 · Σ_i Σ_j Weights[i, j], i in \"Its\", j in \"didn't\"");
    REQUIRE(why->steps.size() == 3);
    CHECK(why->steps[0].name == "Σ from ĠIt");
    CHECK(why->steps[2].name == "mean");
    CHECK(why->steps[2].current);
    CHECK_FALSE(explained(v.visit, RunCell{Stage::weight, 6, 0, false, Unit::words}));
}

TEST_CASE("a pinned cell of words is dropped with a text that has fewer") {
    WordVisit v;
    v.visit.perform(Pin{RunCell{Stage::weight, 5, 5, false, Unit::words}});
    CHECK(v.visit.state().pin);
    v.visit.text_typed(Box::first, "x z");
    v.visit.tokens({Box::first, "x z", {3, 1}, {"a", "Ġb"}, 2});
    finish(v.visit);
    CHECK_FALSE(v.visit.state().pin);
}

TEST_CASE("words are in the link, for the map and for a pinned cell") {
    State s = after(default_state(), OpenSubject{sentence_subject});
    s = after(s, SetMap{{.scaling = Scaling::rank, .unit = Unit::words}});
    s = after(s, Pin{RunCell{Stage::weight, 3, 2, false, Unit::words}});
    const std::string link = to_fragment(s);
    CHECK(link == "v=1&subject=sentence&map=weight,rank,words&pin=weight.3.2.words");
    const auto parsed = parse_fragment(link);
    CHECK(parsed.note.empty());
    CHECK(parsed.state == s);
    // Words are defined only for weights, and only within one text.
    CHECK(refusal(s, Pin{RunCell{Stage::raw, 0, 0, false, Unit::words}}) ==
          "Choose a cell on screen to pin; this one does not exist.");
    CHECK(refusal(default_state(), Pin{RunCell{Stage::weight, 0, 0, false, Unit::words}}) ==
          "Choose a cell on screen to pin; this one does not exist.");
}

TEST_CASE("saved words match the map, for all heads, too") {
    WordVisit v;
    const TextRun& run = v.run();
    v.visit.save(Saving::all_heads(all_heads(run, {.unit = Unit::words})));
    while (v.visit.work(1000)) {
    }
    CHECK(v.page.downloaded == "attention-weight.npz");
    const SavedHeads archive = read_saved_heads(v.page.downloaded_bytes);
    CHECK(archive.shape == Shape{2, 3, 6, 6});
    for (std::size_t i = 0; i < archive.attention.size(); ++i) {
        const auto head = static_cast<Index>(i / 36);
        const MapPointer map =
            merged_map_of(run.run, head / 3, head % 3, word_tokens, word_tokens, Sink::shown);
        const float cell = map->cell(static_cast<Index>(i % 36 / 6), static_cast<Index>(i % 6));
        CHECK(archive.attention[i] == (cell == masked_cell ? 0 : cell));
    }
    CHECK(archive.about["words"] == run.words.names);
    CHECK(archive.about["tokens of a word"] == std::vector<int>{1, 1, 2, 1, 1, 2});
    CHECK(archive.about["tokens"] == subwords);
    CHECK(archive.about["tensors"]["attention"] ==
          std::vector<std::string>{"layer", "head", "query word", "key word"});
}

TEST_CASE("no two attentions have the same version, whatever their subjects") {
    WordVisit v;
    std::uint64_t last = 0;
    const auto newest = [&](std::string_view subject) {
        v.visit.perform(OpenSubject{subject});
        const std::uint64_t version = subject_in(v.visit).attention()->version();
        const bool newer = version > last;
        last = version;
        return newer;
    };
    for (const double value : {0.25, 0.75}) {
        const std::int32_t other = value < 0.5 ? 4 : 5;
        const std::string text = "x y " + std::to_string(other);
        v.visit.text_typed(Box::first, text);
        v.visit.tokens({Box::first, text, {3, 1, other}, {"x", "y", "z"}, 8});
        finish(v.visit);
        CHECK(newest(sentence_subject));
        v.visit.perform(OpenSubject{worked_subject});
        v.visit.perform(SetCell{{Stage::x, 0, 0}, value});
        CHECK(newest(worked_subject));
        v.visit.perform(OpenSubject{sentence_subject});
    }
}

TEST_CASE("the table shows the map's words") {
    WordVisit v;
    v.visit.perform(SetMap{{.unit = Unit::words}});
    const auto table = nlohmann::json::parse(tables_json(std::array{table_in(v.visit)})).at(0);
    CHECK(table["title"] == "Weights between words of tiny, layer 0, head 0");
    CHECK(table["columns"] == v.run().words.names);
    const double shown = std::stod(table["rows"][2][2].get<std::string>());
    CHECK(std::abs(shown - merged(v.weights(0, 0), {2, 4}, {1, 2})) <= 1e-6);  // six digits
}
