// Tests a lesson's paragraphs: their faces, their formulas, and the sentences in them.
#include "lesson/prose.hpp"

#include <catch_amalgamated.hpp>

using namespace attn;
using namespace attn::lesson;
using Kind = Inline::Kind;

namespace {

std::string text_of(const std::vector<FormulaPiece>& pieces) {
    std::string text;
    for (const FormulaPiece& piece : pieces)
        text += piece.raised == 0  ? piece.text
                : piece.raised < 0 ? "_" + piece.text
                : piece.raised > 1 ? "~" + piece.text
                                   : "^" + piece.text;
    return text;
}

std::vector<Inline> prose(std::string_view text) {
    const auto read = parse_prose(text);
    INFO(text);
    REQUIRE(read);
    return *read;
}

}  // namespace

TEST_CASE("prose has faces, code, formulas and numbers") {
    const auto all = prose("Change **only** $W_K$, see `k` and *this*: {weight(\"a\", \"b\"):%}.");
    std::vector<Kind> kinds;
    for (const Inline& each : all) kinds.push_back(each.kind);
    CHECK(kinds == std::vector{Kind::words, Kind::strong, Kind::words, Kind::formula, Kind::words, Kind::code,
                               Kind::words, Kind::emphasis, Kind::words});
    CHECK(all[1].sentence.parts[0].text == "only");
    CHECK(text_of(all[3].formula) == "W_K");
    CHECK(all[5].code == "k");
    CHECK(to_text(all[8].sentence) == ": {weight(\"a\", \"b\"):%}.");
}

TEST_CASE("marks that end nowhere, follow a backslash or stand in a number are words") {
    for (const char* text : {"2 * 3 * 4", "a $ sign", "an `open quote", "**bold", "*", "$$", "", "“cat”"}) {
        INFO(text);
        for (const Inline& each : prose(text)) CHECK(each.kind == Kind::words);
    }
    const auto escaped = prose("\\*not\\* \\$this\\$");
    REQUIRE(escaped.size() == 1);
    CHECK(escaped[0].sentence.parts[0].text == "*not* $this$");
    const auto product = prose("It is {a * b} and {c * d}.");
    REQUIRE(product.size() == 1);
    CHECK(product[0].sentence.parts.size() == 3);
    CHECK_FALSE(parse_prose("It is {a +}."));
    CHECK_FALSE(parse_prose("It is {a"));
}

TEST_CASE("formulas are written on one line") {
    const std::pair<const char*, const char*> written[] = {
        {"W_K", "W_K"},
        {"x_{ij}", "x_ij"},
        {"e^{s_{ij}}", "e^s~ij"},
        {"\\frac{a}{b}", "a / b"},
        {"\\frac{a + b}{c d}", "(a + b) / (c d)"},
        {"\\sqrt{d_k}", "√d_k"},
        {"\\sqrt{a+b}", "√(a + b)"},
        {"q \\cdot k", "q · k"},
        {"\\alpha \\le \\beta", "α ≤ β"},
        {"QK^\\top", "QK^⊤"},
        {"\\text{softmax}(x)", "softmax(x)"},
        {"a-b", "a−b"},
        {"\\unknown{x}", "\\unknownx"},
    };
    for (const auto& [tex, text] : written) {
        INFO(tex);
        CHECK(text_of(formula_pieces(tex)) == text);
    }
}

TEST_CASE("formulas of any bytes end, and deep ones are written flat") {
    std::string deep;
    for (int i = 0; i < 2000; ++i) deep += "\\frac{";
    CHECK_FALSE(formula_pieces(deep).empty());
    for (const char* text : {"_", "^", "\\", "{", "}", "x_\\é", "x^\\猫", "\\frac", "\\frac{a", "_{_{_{"})
        for (const FormulaPiece& piece : formula_pieces(text)) CHECK(piece.raised <= 2);
}
