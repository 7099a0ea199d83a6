// What must hold of whatever a target reads.
#pragma once

#include <cstdlib>

inline void require(bool condition) {
    if (!condition) std::abort();
}
