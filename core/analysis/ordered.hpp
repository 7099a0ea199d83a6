// Orders indices by a key of theirs.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

// The indices from 0 up to `count`, that with the smallest key first; of equal keys, the lower index comes
// first.
std::vector<Index> ordered_by(Index count, const auto& key) {
    std::vector<Index> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::sort(order, {}, [&](Index i) { return std::pair(key(i), i); });
    return order;
}

}  // namespace attn
