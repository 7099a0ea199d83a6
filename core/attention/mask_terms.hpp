// The terms of a mask, as a person puts one together: what is joined by "and" or by "or", and the numbers
// that each term has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention/mask.hpp"

namespace attn {

enum class Join { all, any };  // and, or

struct MaskTerms {
    Join join = Join::all;    // joins two or more
    std::vector<Mask> terms;  // none: every cell is allowed
};
// A mask that is no conjunction or disjunction is a term of its own.
MaskTerms terms_of(const Mask& mask);
Mask joined(const MaskTerms& terms);

// What a term is called: "causal", "not window", or the text of one that has terms of its own.
std::string name_of(const Mask& term);
// Returns the term without a "not", or with one.
Mask negated(const Mask& term);
bool is_negated(const Mask& term);

// The terms of a term that stands in brackets, whether the brackets are negated or not; none: it is no such
// term.
MaskTerms inside(const Mask& term);
// The term with other terms in its brackets.
Mask with_inside(const Mask& term, const MaskTerms& terms);
// Without the brackets of one of the terms. What was in them is joined as the others are; a "not" before them
// is then before each of it. Where there are no others, the mask stays what it was.
MaskTerms dissolved(const MaskTerms& terms, std::size_t term);
// With brackets around one of the terms and another, joined the other way; without another, around it and the
// next.
MaskTerms bracketed(const MaskTerms& terms, std::size_t term, const std::optional<Mask>& other);

// A number that can be set: "offset" of causal(2).
struct TermNumber {
    const char* name;
    Index value = 0, least = 0;
};
std::vector<TermNumber> numbers_of(const Mask& term);  // also those of negated terms
// The term with another value for one of them, taken as the nearest that makes sense.
Mask with_number(const Mask& term, std::size_t number, Index value);

// The mask with these cells allowed or hidden, whatever else it says. They stand behind it as
// "(mask | cells) & !cells", and what is painted over them changes these two.
Mask with_cells(const Mask& mask, const CellRegion& cells, bool allowed);

// Moves the edges that follow the diagonal, those of causal, window and prefix, by so many keys: to the left
// if negative, so that fewer cells are allowed. This is what a mask that is off by one does.
Mask shifted(const Mask& mask, Index keys);

}  // namespace attn
