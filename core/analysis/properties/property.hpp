// Properties that attention must have, and the cells on which they are checked: each error beside a bound.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/linalg/vectors.hpp"
#include "tensor/tensor.hpp"

namespace attn {

enum class Property : std::uint8_t {
    rows,         // the weights of a row are not negative and sum to 1
    masked,       // a masked key has weight 0, and it and its value are never read
    hull,         // an output lies in the box around the values that it is made of
    permutation,  // permuting queries and keys permutes the outputs
    shift,        // a constant added to the scores of a row changes nothing
    heads,        // what the heads add, and the bias, are the attention's output
    past,         // what comes later changes no bit
    bits,         // the same run gives the same bits
    rounding,     // f32 stays within its bound around double
    // Experiments:
    lengths,    // a text cut short: the rows that are left keep their bits
    parallel,   // rows computed alone, the last one first, have the bits of the whole run
    positions,  // the model reads the text with its tokens permuted
};
inline constexpr Index property_count = 12, required_properties = 9;

// A number that a check compared with another one.
struct CheckedCell {
    double error = 0, bound = 0;  // |here − there|, unless the property says otherwise
    double here = 0, there = 0;   // the run's number, and what it is compared with
    Index layer = 0, head = 0, query = 0;
    Index at = -1;  // a key or a component, as the property says; −1: the whole row
    bool operator==(const CheckedCell&) const = default;

    bool holds() const { return error <= bound; }  // an error of NaN does not
    double ratio() const;                          // error / bound; 0 without an error
};

// Why a property cannot be checked.
enum class Lacking : std::uint8_t {
    nothing,
    scores,       // the weights were given in finished form
    values,       // there are no values, so no outputs
    masked_keys,  // every query sees every key
    projection,   // there is no model, whose W_O would add heads up
    model,        // there is no model that could read another text
    tokens,       // the text is a single token
    rerun,        // the model refused to run again
};

// What was found out about a property.
struct PropertyResult {
    bool done = false;
    Lacking lacking = Lacking::nothing;
    bool is_meant = true;  // false: it need not hold here, and its errors are measured only
    std::int64_t cells = 0, broken = 0;
    CheckedCell worst;                 // the largest ratio; of equal ones, the largest error
    std::vector<CheckedCell> queries;  // the worst of each query of the first head, ascending
    std::vector<CheckedCell> heads;    // the worst of each head, in the order of checking

    bool holds() const { return broken == 0; }
    bool can_be_checked() const { return lacking == Lacking::nothing; }
    // Takes the cells of one query and head.
    void add(std::span<const CheckedCell> cells);
};

// At most so many of `count` rows, evenly spaced, and the last one among them.
std::vector<Index> even_rows(Index count, Index at_most);

// The numbers below `count` in an order drawn from a seed.
std::vector<Index> shuffled(Index count, std::uint64_t seed);

}  // namespace attn
