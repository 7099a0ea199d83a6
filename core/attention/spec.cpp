#include "attention/spec.hpp"

namespace attn {

float Bias::at(Index head, Index query, Index key) const {
    const auto along = [&](Index axis, Index i) { return values->dim(axis) == 1 ? 0 : i; };
    const Index row = along(0, head) * values->dim(1) + along(1, query);
    return values->data()[row * values->dim(2) + along(2, key)];
}

bool Bias::operator==(const Bias& other) const {
    return values == other.values || (values && other.values && *values == *other.values);
}

}  // namespace attn
