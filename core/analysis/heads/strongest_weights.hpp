// How much a head concentrates: the largest weight of each of its rows.
#pragma once

#include <algorithm>
#include <vector>

#include "attention/record.hpp"

namespace attn {

inline std::vector<float> strongest_weights(const Record& record, Index head) {
    std::vector<float> all;
    for (Index query = 0; query < record.queries(); ++query)
        all.push_back(std::ranges::max(record.weights(head, query)));
    return all;
}

// Near 1 if the head attends to one token at a time.
inline double mean_strongest(const Record& record, Index head) {
    double sum = 0;
    for (const float each : strongest_weights(record, head)) sum += static_cast<double>(each);
    return sum / static_cast<double>(record.queries());
}

}  // namespace attn
