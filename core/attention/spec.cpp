#include "attention/spec.hpp"

namespace attn {

ConstHeads Bias::view(Index heads, Index queries, Index keys) const {
    const Index of_head = values->dim(0) == 1 ? 0 : values->dim(1) * values->dim(2);
    // Along a diagonal the offset stays, so the next query's row begins one number earlier.
    if (zero) return {values->data() + *zero, heads, queries, keys, of_head, -1};
    return {values->data(), heads, queries, keys, of_head, values->dim(1) == 1 ? 0 : values->dim(2)};
}

float Bias::at(Index head, Index query, Index key) const {
    return view(head + 1, query + 1, key + 1).head(head)(query, one_column() ? 0 : key);
}

bool Bias::operator==(const Bias& other) const {
    return zero == other.zero &&
           (values == other.values || (values && other.values && *values == *other.values));
}

}  // namespace attn
