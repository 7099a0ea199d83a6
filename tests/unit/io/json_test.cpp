#include "io/json.hpp"

#include <catch_amalgamated.hpp>
#include <string>

#include "io/quote.hpp"
#include "support/files.hpp"

using namespace attn;
using attn::test::as_bytes;

namespace {

std::string json_refusal(const std::string& text, JsonLimits limits = {}) {
    const auto tree = parse_json(as_bytes(text), "x.json", limits);
    REQUIRE(!tree);
    return tree.error().message;
}

std::string repeat(const std::string& text, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out += text;
    return out;
}

}  // namespace

TEST_CASE("a JSON text becomes the tree that nlohmann/json builds", "[json]") {
    for (const std::string text : {
             R"({"a":[1,-2,3.5,1e3,true,false,null,"text \u00e9\ud83d\ude00"],"b":{"c":{},"d":[]}})",
             R"([[],[{}],[[1,[2]],3],{"x":[{"y":1},{"y":2}]}])",
             "18446744073709551615",
             "-9223372036854775808",
             "\"text\"",
             " \n\t null \r\n",
         }) {
        INFO(text);
        const auto tree = parse_json(as_bytes(text), "x.json");
        REQUIRE(tree);
        CHECK(*tree == nlohmann::json::parse(text, nullptr, false));
    }
}

TEST_CASE("a broken text is refused with line, column and reason", "[json]") {
    const std::string invalid = "x.json is not valid JSON at ";
    CHECK(json_refusal("") == "x.json is empty; it should hold JSON");
    CHECK(json_refusal(" \n") == "x.json is empty; it should hold JSON");
    CHECK(json_refusal("{\n  \"a\": 1,\n}") ==
          invalid + "line 3, column 1: unexpected '}'; expected string literal");
    CHECK(json_refusal("[1, 2") == invalid + "line 1, column 6: unexpected end of input; expected ']'");
    CHECK(json_refusal("{} {}") == invalid + "line 1, column 4: unexpected '{'; expected end of input");
    CHECK(json_refusal("\"a\nb\"") ==
          invalid +
              "line 1, column 3: invalid string: control character U+000A (LF) must be "
              "escaped to \\u000A or \\n");
    CHECK(json_refusal("[\"\xff\"]") == invalid + "line 1, column 3: invalid string: ill-formed UTF-8 byte");
    CHECK(json_refusal("\n\n[NaN]") == invalid + "line 3, column 2: invalid literal");
    CHECK(json_refusal("{'a': 1}") == invalid + "line 1, column 2: invalid literal");
    CHECK(json_refusal("[1e999]") == "x.json has a number that is too large at line 1, column 6");
    CHECK(json_refusal("[\"\\ud800\"]") ==
          invalid +
              "line 1, column 9: invalid string: surrogate U+D800..U+DBFF must be "
              "followed by U+DC00..U+DFFF");
    CHECK(json_refusal("// no comments\n1") == invalid + "line 1, column 1: invalid literal");
    CHECK(json_refusal(std::string("{}\n \0 {", 7)) == invalid + "line 2, column 2: it has a zero byte");
}

TEST_CASE("a repeated key is refused", "[json]") {
    CHECK(json_refusal(R"({"a": 1, "b": 2, "a": 3})") == "x.json has the key 'a' twice");
    CHECK(json_refusal(R"({"a": {"b": {"c": 1, "c": 1}}})") == "x.json has the key 'c' twice in 'b'");
    CHECK(json_refusal(R"({"a": [{"b": 1}, {"b": 1, "b": 1}]})") == "x.json has the key 'b' twice in 'a'");
    CHECK(json_refusal(R"({"a": 1, "\u0061": 2})") == "x.json has the key 'a' twice");
}

TEST_CASE("a small file cannot become a large tree", "[json]") {
    CHECK(json_refusal(repeat("[", 1'000'000)) == "x.json is nested more than 32 levels deep");
    CHECK(json_refusal(repeat("{\"a\":", 1'000'000)) == "x.json is nested more than 32 levels deep in 'a'");
    CHECK(parse_json(as_bytes(repeat("[", 32) + repeat("]", 32)), "x.json"));
    CHECK(!parse_json(as_bytes(repeat("[", 33) + repeat("]", 33)), "x.json"));

    CHECK(json_refusal("[1,2,3]", {.values = 3}) == "x.json holds more than 3 values");
    CHECK(json_refusal("[[],[]]", {.values = 2}) == "x.json holds more than 2 values");
    CHECK(parse_json(as_bytes("[1,2,3]"), "x.json", {.values = 4}));
    CHECK(json_refusal("[" + repeat("[],", 200'000) + "0]", {.values = 100'000}) ==
          "x.json holds more than 100000 values");

    CHECK(json_refusal("[1, 2]", {.bytes = 5}) == "x.json has 6 bytes; at most 5 can be read here");
}

TEST_CASE("text from a file is made fit for a message", "[quote]") {
    CHECK(quote("wte.weight") == "'wte.weight'");
    CHECK(quote("") == "''");
    CHECK(quote("a\n\x7f\xc3\xa9") == "'a\\x0a\\x7f\\xc3\\xa9'");
    CHECK(quote(std::string(1000, 'a')) == "'" + std::string(60, 'a') + "…'");
}
