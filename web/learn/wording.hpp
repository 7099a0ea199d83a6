// Says in words what an expression of a lesson is about, and finds it in the picture.
#pragma once

#include <optional>
#include <string>

#include "app/cell.hpp"
#include "lesson/expression.hpp"
#include "runs/attention.hpp"

namespace attn::app::learn {

// Returns “sat” gives “cat” for weight("sat", "cat") and, with the tokens of an attention, for weight(1, 0);
// where it has no words, the expression itself.
std::string in_words(const lesson::Expression& expression, const Attention* attention = nullptr);
// The number of a lens that the expression compares and nothing else; nothing if there is none.
std::optional<CellRef> lens_number_in(const Attention& attention, const lesson::Expression& expression);

// The tokens and the number that an expression is about; nothing if it is about none.
struct Pointed {
    std::optional<Index> query, key;
    std::optional<CellRef> cell;
};
std::optional<Pointed> pointed_by(const Attention& attention, const lesson::Expression& expression);

// Writes a number as the expression's bound is written: per cent for shares, else four digits.
bool is_share(const lesson::Expression& expression);

}  // namespace attn::app::learn
