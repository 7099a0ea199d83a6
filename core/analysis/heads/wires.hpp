// The pairs of heads that compose most: which heads read most of what earlier heads write.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "analysis/heads/composition.hpp"

namespace attn {

// Connects a head to a later one that reads its output.
struct Wire {
    Composition kind = Composition::q;
    HeadIndex from, to;
    bool operator==(const Wire&) const = default;
};

struct Wires {
    static constexpr std::size_t usual = 24, most = 240;

    struct One {
        Wire wire;
        double value = 0;
    };
    std::vector<One> listed;  // the strongest first, down to the threshold; at most `most`
    double strongest = 0, threshold = 0;
    Index left_out = 0;  // wires beyond those
};
// Without a threshold, lists the usual number. The job is done.
Wires strongest_wires(const CompositionJob& composition, const std::array<bool, composition_count>& kinds,
                      std::optional<double> threshold);

}  // namespace attn
