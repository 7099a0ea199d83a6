#include "text/utf8.hpp"

#include <catch_amalgamated.hpp>

using namespace attn;

namespace {

std::string read(std::string_view text) {
    std::string storage;
    return std::string(well_formed(text, storage));
}

}  // namespace

TEST_CASE("well-formed text is unchanged", "[text]") {
    const std::string text(
        "a\0\x7f\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\xF0\x90\x80\x80"
        "\xF4\x8F\xBF\xBF\xEF\xBB\xBF",
        30);
    std::string storage = "untouched";
    const std::string_view same = well_formed(text, storage);
    CHECK(same.data() == text.data());
    CHECK(same.size() == text.size());
    CHECK(storage == "untouched");
}

TEST_CASE("a code point and its bytes", "[text]") {
    const auto [text, value] = GENERATE(table<std::string, char32_t>({
        {"z", U'z'},
        {"é", U'é'},
        {"한", U'한'},
        {"😀", U'😀'},
    }));
    const CodePoint point = first_code_point(text + "rest");
    CHECK(point.value == value);
    CHECK(point.bytes == text.size());
    CHECK(point.well_formed);
}

// The expected texts are those of TextDecoder in node 20; the first is the example of The
// Unicode Standard, table 3-11.
TEST_CASE("each maximal ill-formed part is one U+FFFD", "[text]") {
    const auto [bytes, expected] = GENERATE(table<std::string, std::string>({
        {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "����A"},
        {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", "��������A"},
        {"\xED\xA0\x80\xED\xBF\xBF\x41", "������A"},
        {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "�����A��B"},
        {"a\xF0\x9F\x98", "a�"},
        {"\xC3(", "�("},
        {"\xEF\xBF\xBD\xFE", "��"},
    }));
    CHECK(read(bytes) == expected);
}

TEST_CASE("is_utf8 refuses broken, overlong and surrogate sequences") {
    for (const char* text : {"", "cat", "Käse", "注意", "🐈", "\xf4\x8f\xbf\xbf"}) CHECK(is_utf8(text));
    for (const char* text : {"\x80", "\xc3", "\xc3(", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80",
                             "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe6\xb3"})
        CHECK_FALSE(is_utf8(text));
}
