// A sentence with numbers in it: "“sat” gives “cat” {weight("sat", "cat"):%}; 80 % is asked." A number is
// followed by how it is written: {x:%} as per cent, {x:2} with two decimals. Two braces, {{ or }}, are one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lesson/expression.hpp"
#include "tensor/result.hpp"

namespace attn::lesson {

struct Format {
    bool is_percent = false;
    int decimals = -1;  // 0 … 9; −1: four significant digits, or a whole number of per cent
    bool operator==(const Format&) const = default;
};

struct Part {
    std::string text;
    Expression expression;  // stands after the text; empty only in the last part
    Format format;
    bool operator==(const Part&) const = default;
};

struct Sentence {
    std::vector<Part> parts;
    bool operator==(const Sentence&) const = default;
};

Result<Sentence> parse_sentence(std::string_view text, std::size_t first_column = 1);
std::string to_text(const Sentence& sentence);  // written with canonical expressions

// Computes the numbers. What cannot be computed is an error.
Result<std::string> filled(const Sentence& sentence, const Lookup& lookup);
std::string formatted(const Value& value, Format format);

}  // namespace attn::lesson
