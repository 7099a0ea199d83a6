// The terms of a mask, as a person puts one together: what is joined by "and" or by "or", and the numbers that each
// term has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention/mask.hpp"

namespace attn {

enum class Join { all, any };  // and, or

struct MaskTerms {
    Join join = Join::all;    // of two or more
    std::vector<Mask> terms;  // none: every cell is allowed
};
// A mask that is no conjunction or disjunction is a term of its own.
MaskTerms terms_of(const Mask& mask);
Mask joined(const MaskTerms& terms);

// What a term is called: "causal", "not window", or the text of one that has terms of its own.
std::string name_of(const Mask& term);
// Returns the term without its "not", or with one.
Mask negated(const Mask& term);

// A number that can be set: "offset" of causal(2).
struct TermNumber {
    const char* name;
    Index value = 0, least = 0;
};
std::vector<TermNumber> numbers_of(const Mask& term);  // those of what is negated, too
// The term with another value for one of them, taken as the nearest that makes sense.
Mask with_number(const Mask& term, std::size_t number, Index value);

// The term with this cell changed, if it is painted, for all heads alike, and has the cell.
std::optional<Mask> with_cell_changed(const Mask& term, Index query, Index key);

// Moves the edges that follow the diagonal, those of causal, window and prefix, by so many keys: to the left if
// negative, so that fewer cells are allowed. This is what a mask that is off by one does.
Mask shifted(const Mask& mask, Index keys);

}  // namespace attn
