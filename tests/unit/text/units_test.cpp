// Tests units of a text that are larger than its tokens: sentences, and spans with names.
#include "text/units.hpp"

#include <catch_amalgamated.hpp>

using namespace attn;

namespace {

using Pieces = std::vector<std::string>;

// A piece for each word and mark, with a space in front where there is one.
Pieces pieces_of(std::string_view text) {
    Pieces pieces;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at + 1;
        while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end]))) ++end;
        if (text[at] == ' ' && end == at + 1 && end < text.size()) ++end;  // a mark behind a space
        pieces.emplace_back(text.substr(at, end - at));
        at = end;
    }
    return pieces;
}

std::vector<std::string> sentences_of(const std::string& text) {
    const Pieces pieces = pieces_of(text);
    std::vector<std::string> sentences;
    for (const Range& tokens : sentence_axis(pieces, text).tokens) {
        std::string& sentence = sentences.emplace_back();
        for (Index i = tokens.begin; i < tokens.end; ++i) sentence += pieces[static_cast<std::size_t>(i)];
    }
    return sentences;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("sentences end behind their marks") {
    CHECK(sentences_of("It rains. We stay! Do you? Yes") ==
          Texts{"It rains.", " We stay!", " Do you?", " Yes"});
    CHECK(sentences_of("It rains") == Texts{"It rains"});
    CHECK(sentences_of("") == Texts{});
}

TEST_CASE("a full stop ends no sentence within a number, a name, or before lower case") {
    CHECK(sentences_of("It is 3.14 or so. No") == Texts{"It is 3.14 or so.", " No"});
    CHECK(sentences_of("See example.com now. No") == Texts{"See example.com now.", " No"});
    CHECK(sentences_of("Apples, pears, etc. are fruit. No") ==
          Texts{"Apples, pears, etc. are fruit.", " No"});
    CHECK(sentences_of("Well... so it is") == Texts{"Well... so it is"});
}

TEST_CASE("what closes a quotation belongs to its sentence") {
    CHECK(sentences_of("(It rains.) We stay") == Texts{"(It rains.)", " We stay"});
    CHECK(sentences_of("He said \"No.\" She left") == Texts{"He said \"No.\"", " She left"});
    CHECK(sentences_of("It rains. \"No\" she said") == Texts{"It rains.", " \"No\" she said"});
}

TEST_CASE("line breaks end sentences, and Chinese marks need no space") {
    const Pieces lines{"A", "Ġtitle", "Ċ", "It", "Ġrains"};
    CHECK(sentence_axis(lines).tokens == std::vector<Range>{{0, 3}, {3, 5}});
    const Pieces chinese{"我", "在", "。", "你", "呢", "？", "好"};
    CHECK(sentence_axis(chinese, "我在。你呢？好").tokens == std::vector<Range>{{0, 3}, {3, 6}, {6, 7}});
}

TEST_CASE("all tokens belong to one sentence each, whose name is short") {
    const std::string text = "The animal did not cross the street because it was too tired. It slept.";
    const Pieces pieces = pieces_of(text);
    const UnitAxis axis = sentence_axis(pieces, text);
    REQUIRE(axis.count() == 2);
    CHECK(axis.tokens.front().begin == 0);
    CHECK(axis.tokens.back().end == std::ssize(pieces));
    CHECK(axis.of(0).end == axis.of(1).begin);
    CHECK(axis.name(0) == "The animal did not cross…");
    CHECK(axis.name(1) == "It slept.");
    CHECK(axis.merges());
}

TEST_CASE("spans have their names, and other tokens their own") {
    const Pieces names{"The", "old", "cat", "sat", "down"};
    const std::vector<TokenSpan> spans{{{0, 3}, "subject"}, {{3, 5}, "verb"}};
    const UnitAxis both = span_axis(names, spans);
    CHECK(both.tokens == std::vector<Range>{{0, 3}, {3, 5}});
    CHECK(both.names == Pieces{"subject", "verb"});
    const UnitAxis one = span_axis(names, std::vector<TokenSpan>{{{1, 3}, "cat"}});
    CHECK(one.tokens == std::vector<Range>{{0, 1}, {1, 3}, {3, 4}, {4, 5}});
    CHECK(one.names == Pieces{"The", "cat", "sat", "down"});
    // Spans of another text and beyond the end are left out.
    CHECK(span_axis(names, std::vector<TokenSpan>{{{1, 3}, "cat", 1}}).count() == 5);
    CHECK(span_axis(names, std::vector<TokenSpan>{{{4, 6}, "end"}}).count() == 5);
    CHECK(span_axis({}, spans).count() == 0);
}

TEST_CASE("a text finds its units when it is asked for them") {
    const TextUnits text({"It", " rains", ".", " We", " st", "ay"}, "It rains. We stay");
    CHECK(text.words().count() == 5);
    CHECK(text.axis(Unit::sentences, {}).count() == 2);
    std::vector<TokenSpan> spans{{{0, 2}, "weather"}};
    CHECK(text.axis(Unit::spans, spans).names.front() == "weather");
    spans.front().name = "rain";
    CHECK(text.axis(Unit::spans, spans).names.front() == "rain");
}
