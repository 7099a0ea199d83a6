// One head among the layers of a network.
#pragma once

#include "tensor/tensor.hpp"

namespace attn {

struct HeadIndex {
    Index layer = 0;
    Index head = 0;
    bool operator==(const HeadIndex&) const = default;
};

}  // namespace attn
