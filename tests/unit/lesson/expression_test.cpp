#include "lesson/expression.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "lesson/sentence.hpp"

using namespace attn;
using namespace attn::lesson;

namespace {

// Knows x = 0.3, y = −2, word = "cat", yes, no, twice(number), both(text, number) and nothing else.
Result<Value> look_up(std::string_view name, std::span<const Value> arguments) {
    if (name == "x") return Value(0.3);
    if (name == "y") return Value(-2.0);
    if (name == "word") return Value(std::string("cat"));
    if (name == "yes") return Value(true);
    if (name == "no") return Value(false);
    if (name == "twice" && arguments.size() == 1)
        if (const double* number = std::get_if<double>(&arguments[0])) return Value(2 * *number);
    return Error{"unknown " + std::string(name)};
}

Expression parse(std::string_view text) {
    const auto expression = parse_expression(text);
    INFO(text << ": " << (expression ? "" : expression.error().message));
    REQUIRE(expression);
    return *expression;
}
std::string canonical(std::string_view text) { return to_text(parse(text)); }
std::string error_of(std::string_view text) {
    const auto expression = parse_expression(text);
    return expression ? "no error" : expression.error().message;
}
Outcome outcome(std::string_view text) {
    const auto found = evaluate(parse(text), look_up);
    INFO(text << ": " << (found ? "" : found.error().message));
    REQUIRE(found);
    return *found;
}
bool truth(std::string_view text) { return std::get<bool>(outcome(text).value); }
double number(std::string_view text) { return std::get<double>(outcome(text).value); }
std::string failure(std::string_view text) {
    const auto found = evaluate(parse(text), look_up);
    return found ? "no error" : found.error().message;
}

}  // namespace

TEST_CASE("arithmetic binds as usual", "[lesson]") {
    CHECK(number("1 + 2 * 3") == 7);
    CHECK(number("(1 + 2) * 3") == 9);
    CHECK(number("10 - 2 - 3") == 5);
    CHECK(number("8 / 4 / 2") == 1);
    CHECK(number("-2 * -3") == 6);
    CHECK(number("--2") == 2);
    CHECK(number("2 − 3 × 2") == -4);
    CHECK(number(".5 + 1e-1 + 2E+1") == Catch::Approx(20.6));
    CHECK(number("80%") == 0.8);
    CHECK(number("80 %") == 0.8);
    CHECK(number("twice(x) + y") == Catch::Approx(-1.4));
    CHECK(std::isinf(number("1 / 0")));
    CHECK(std::isnan(number("0 / 0")));
}

TEST_CASE("comparisons chain, and logic binds weakest", "[lesson]") {
    CHECK(truth("0.2 < x < 0.4"));
    CHECK_FALSE(truth("0.2 < x < 0.25"));
    CHECK_FALSE(truth("0.4 < x < 0.5"));
    CHECK(truth("x ≤ 0.3 and x ≥ 0.3 and x ≠ 0.4"));
    CHECK(truth("yes or no and no"));
    CHECK_FALSE(truth("(yes or no) and no"));
    CHECK(truth("not x > 1"));
    CHECK(truth("not not yes"));
    CHECK(truth("(x < 1) = yes"));
    CHECK(truth("word = \"cat\""));
    CHECK(truth("word != \"Katze 🐈\""));
    CHECK_FALSE(truth("0 / 0 = 0 / 0"));
}

TEST_CASE("what decides already is not looked up any further", "[lesson]") {
    CHECK(truth("yes or unknown"));
    CHECK_FALSE(truth("no and unknown"));
    CHECK_FALSE(truth("1 < 0 < unknown"));
    CHECK(failure("no or unknown") == "unknown unknown");
}

TEST_CASE("two numbers are equal within a tolerance", "[lesson]") {
    CHECK(truth("x = 0.3000009"));
    CHECK_FALSE(truth("x = 0.300002"));
    CHECK(truth("1000000 = 1000000.9"));
    CHECK(truth("x = 0.31 ± 0.02"));
    CHECK(truth("x = 0.31 ± 2%"));
    CHECK(truth("x = 0.31 +/- 0.02"));
    CHECK_FALSE(truth("x = 0.31 ± 0.005"));
    CHECK(truth("x != 0.31 ± 0.005"));
    CHECK(truth("1 / 0 = 1 / 0"));
    CHECK(outcome("x = 0.31 ± 0.02").measured->tolerance == 0.02);
}

TEST_CASE("the deciding comparison says how far it is", "[lesson]") {
    const auto [text, value, bound, comparison] = GENERATE(table<std::string, double, double, Comparison>({
        {"x > 0.8", 0.3, 0.8, Comparison::more},
        {"0.8 < x", 0.3, 0.8, Comparison::more},
        {"0.2 < x < 0.4", 0.3, 0.4, Comparison::less},
        {"0.2 < x < 0.25", 0.3, 0.25, Comparison::less},
        {"x < y", 0.3, -2, Comparison::less},
        {"x > 0.1 and y > 0 and x > 0.9", -2, 0, Comparison::more},
        {"x > 0.1 and y < 0", -2, 0, Comparison::less},
        {"x > 0.9 or y < 0", -2, 0, Comparison::less},
        {"x > 0.9 or y > 0", 0.3, 0.9, Comparison::more},
        {"not x < 0.8", 0.3, 0.8, Comparison::at_least},
        {"not not x >= 0.8", 0.3, 0.8, Comparison::at_least},
        {"not (x > 0.1 and y < 0)", 0.3, 0.1, Comparison::at_most},
        {"2 * 4 >= twice(x)", 0.6, 8, Comparison::at_most},
    }));
    INFO(text);
    const auto measured = outcome(text).measured;
    REQUIRE(measured);
    CHECK(measured->value == Catch::Approx(value));
    CHECK(measured->bound == Catch::Approx(bound));
    CHECK(measured->comparison == comparison);
    CHECK_FALSE(outcome("word = \"cat\"").measured);
    CHECK_FALSE(outcome("yes").measured);
}

TEST_CASE("a value of the wrong kind is one sentence", "[lesson]") {
    CHECK(failure("1 + yes") == "column 5: true or false stands where a number is needed; change one");
    CHECK(failure("x and yes") == "column 1: a number stands where true or false is needed; change one");
    CHECK(failure("-word") == "column 2: a text stands where a number is needed; change one");
    CHECK(failure("x = word") == "column 3: a number is compared with a text; compare two of one kind");
    CHECK(failure("word < \"dog\"") ==
          "column 6: only numbers have an order or a tolerance; compare these with = or !=");
    CHECK(failure("word = \"dog\" ± 1").starts_with("column 6: only numbers"));
    CHECK(failure("twice()") == "unknown twice");
    CHECK_FALSE(evaluate(parse("x"), nullptr));
    CHECK_FALSE(evaluate(Expression{}, look_up));
}

TEST_CASE("the canonical form has only the parentheses it needs", "[lesson]") {
    const auto [text, expected] = GENERATE(table<std::string, std::string>({
        {"((1)+(2*3))", "1 + 2 * 3"},
        {"1-(2-3)", "1 - (2 - 3)"},
        {"(1-2)-3", "1 - 2 - 3"},
        {"a and(b and c)", "a and (b and c)"},
        {"not(a or b)", "not (a or b)"},
        {"-(a*b)", "-(a * b)"},
        {"(a<b)<c", "(a < b) < c"},
        {"a<b<=c", "a < b <= c"},
        {"f()", "f"},
        {"f( 1,\"a\\\"\\\\\\n\\t|}\" , g(x) )", "f(1, \"a\\\"\\\\\\n\\t|}\", g(x))"},
        {"x=.5±1%", "x = 0.5 ± 1%"},
        {"80 % ≥ 1e22", "80% >= 1e+22"},
        {"W_Q.a2 != −1", "W_Q.a2 != -1"},
    }));
    CHECK(canonical(text) == expected);
    CHECK(canonical(expected) == expected);
    CHECK(parse(text) == parse(expected));
}

TEST_CASE("an error says what, at which column, and what to do", "[lesson]") {
    const auto [text, message] = GENERATE(table<std::string, std::string>({
        {"", "column 1: the expression ends where a number, a text or a name should be; add one"},
        {"1 +", "column 4: the expression ends where a number, a text or a name should be; add one"},
        {"“", "column 1: ““” means nothing here; put a text between two \" instead"},
        {"x == 1", "column 3: “==” means nothing here; write one = to compare"},
        {"x && y", "column 3: “&&” means nothing here; write and"},
        {"!x", "column 1: “!” means nothing here; write not, or != to compare"},
        {"\"é\" $", "column 5: “$” is no part of an expression; remove it"},
        {"x y", "column 3: an operator should stand before “y”; add one, or remove it"},
        {"1.2.3", "column 4: an operator should stand before this number; add one, or remove it"},
        {"2x", "column 2: a letter follows a number; write an operator between them"},
        {"f(1", "column 4: a “)” should stand here; close the “(” of column 2"},
        {"(1]", "column 3: “]” is no part of an expression; remove it"},
        {"\"abc", "column 1: this text is not closed; end it with \""},
        {"\"a\\q\"", "column 3: a \\ in a text stands before \", \\, n or t; write \\\\ for one \\"},
        {"x < 1 ± 2", "column 7: a tolerance belongs to = or !=; compare with one of them, or remove it"},
        {"x = 1 ± y", "column 9: a number should stand after ±; write the tolerance, such as 0.01"},
        {"x ± 1", "column 1: this tolerance belongs to no = or !=; compare with one of them"},
        {"1e999", "column 1: this number is larger than a double can be; write one below 1e308"},
        {"1 < not x",
         "column 5: “not” stands where a number, a text or a name should be; add one, or put the not and "
         "what "
         "follows in parentheses"},
        {"x = 1; y", "column 6: “;” is no part of an expression; remove it"},
    }));
    CHECK(error_of(text) == message);
}

TEST_CASE("an expression has limits", "[lesson]") {
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '(') + "1" + std::string(depth, ')');
    };
    CHECK(parse_expression(nested(40)));
    CHECK(error_of(nested(41)) ==
          "column 41: parentheses, names and signs are nested more than 40 deep; use fewer");
    CHECK(parse_expression(std::string(40, '-') + "1"));
    CHECK_FALSE(parse_expression(std::string(41, '-') + "1"));
    CHECK_FALSE(parse_expression(std::string(100'000, '(')));
    CHECK_FALSE(parse_expression(std::string(1'000'000, '1')));
    std::string nots;
    for (int i = 0; i < 41; ++i) nots += "not ";
    CHECK_FALSE(parse_expression(nots + "x"));
    std::string sum = "1";
    for (int i = 1; i < 100; ++i) sum += "+1";
    CHECK(parse_expression(sum));  // 199 parts
    CHECK(number(sum) == 100);
    CHECK_FALSE(parse_expression(sum + "+1"));
    CHECK(error_of(sum + "+1").find("more than 200 parts") != std::string::npos);
    CHECK(parse_expression("\"" + std::string(1998, 'a') + "\""));
    CHECK_FALSE(parse_expression("\"" + std::string(1999, 'a') + "\""));
    CHECK_FALSE(parse_expression(std::string("1\0", 2)));
    CHECK_FALSE(parse_expression(std::string("\"a\0\"", 4)));
    CHECK_FALSE(parse_expression("\"\xff\""));
    CHECK_FALSE(parse_expression("1\n+ 2"));
}

TEST_CASE("names and thresholds of an expression", "[lesson]") {
    const Expression expression =
        parse("f(1, g(2)) > 80% and h = -3 ± 0.5 or f(1, 2) and f(9) * 2 < 4 and 7");
    CHECK(used_names(expression) == std::vector<UsedName>{{"g", 1}, {"f", 2}, {"h", 0}, {"f", 1}});
    CHECK(thresholds(expression) == std::vector<double>{0.8, 3, 2, 4});
}

TEST_CASE("a sentence is filled with its numbers", "[lesson]") {
    const auto fill = [](std::string_view text) {
        const auto sentence = parse_sentence(text);
        INFO(text << ": " << (sentence ? "" : sentence.error().message));
        REQUIRE(sentence);
        const auto again = parse_sentence(to_text(*sentence));
        REQUIRE(again);
        CHECK(*again == *sentence);
        const auto full = filled(*sentence, look_up);
        return full ? *full : full.error().message;
    };
    CHECK(fill("It is {x:%}, not {y:2} of {word}; {{a}} {yes}.") ==
          "It is 30 %, not -2.00 of cat; {a} true.");
    CHECK(fill("{{{x}}}") == "{0.3}");
    CHECK(fill("{1 / 3}") == "0.3333");
    CHECK(fill("{-0.001:0}{\"a:}{\":%}") == "0a:}{");
    CHECK(fill("{1 / 0} {-1 / 0:2} {0 / 0:%}") == "∞ -∞ NaN %");
    CHECK(fill("{1e308:9}").size() == 319);
    CHECK(fill("").empty());
    CHECK(fill("{unknown}") == "unknown unknown");
    for (const char* text :
         {"{", "}", "a {x", "{x}}", "{}", "{x:}", "{x:10}", "{x:y}", "{{}", "{x {y}}", "{\"}"})
        CHECK_FALSE(parse_sentence(text));
    CHECK(parse_sentence("é {x:q}").error().message ==
          "column 6: a number has no such format; write :% for per cent or :2 for two decimals");
}
