// Cuts an expression of a lesson into numbers, texts, names and marks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/result.hpp"

namespace attn::lesson {

struct Token {
    enum class Kind : std::uint8_t { end, number, text, name, mark };
    Kind kind = Kind::end;
    std::string text;  // a text without its quotes and escapes; a mark in ASCII, but for "±"
    double number = 0;
    std::size_t column = 0;  // in characters
};

// The first character stands in `first_column`. The last token is always the end.
Result<std::vector<Token>> tokens(std::string_view text, std::size_t first_column);

// Returns the error "column 7: …".
Error at_column(std::size_t column, std::string_view sentence);

std::string shown(std::string_view text);    // “text”, cut to 40 characters; needs UTF-8
std::string literal(std::string_view text);  // "text" as an expression spells it

// Returns where the first of these bytes stands outside the strings of an expression, or npos.
std::size_t find_outside_texts(std::string_view text, std::string_view bytes);
std::string_view trimmed(std::string_view text);  // without blanks and tabs around it
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace attn::lesson
