// A paragraph of a lesson: words with **strong**, *emphasised* and `code` pieces, $formulas$ in a small part
// of TeX, and numbers of the page in braces, as in a sentence (lesson/sentence.hpp). A backslash takes the
// meaning from a mark.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lesson/lesson.hpp"
#include "lesson/sentence.hpp"
#include "tensor/result.hpp"

namespace attn::lesson {

// A piece of a formula: raised by 1 as an exponent, by −1 as an index, by 2 as an index in an exponent.
struct FormulaPiece {
    std::string text;
    int raised = 0;
    bool operator==(const FormulaPiece&) const = default;
};

// Writes a formula on one line: \frac{a}{b} as a / b, \sqrt{d_k} as √d_k, \alpha as α. What it does not know
// stays as it is written.
std::vector<FormulaPiece> formula_pieces(std::string_view tex);

struct Inline {
    enum class Kind : std::uint8_t { words, strong, emphasis, code, formula };
    Kind kind = Kind::words;
    Sentence sentence = {};  // for words, strong and emphasised ones
    std::string code = {};   // for code
    std::vector<FormulaPiece> formula = {};
    bool operator==(const Inline&) const = default;
};

// An error says "column 7: …", counted within the text.
Result<std::vector<Inline>> parse_prose(std::string_view text);

}  // namespace attn::lesson
