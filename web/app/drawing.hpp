// Holds what everything drawn in one frame shares.
#pragma once

#include "app/clock.hpp"
#include "app/hover.hpp"
#include "app/visit.hpp"

namespace attn::app {

inline constexpr double frame_ms = 2;  // computing time per frame for what is drawn

struct Drawing {
    Visit& visit;
    const Hover& pointed;  // what the cursor was over in the last frame; all parts highlight it
    Hover& now;            // what the cursor is over in this frame so far
    const Deadline& deadline;

    const State& state() const { return visit.state(); }
    // Call if a token or a pair of tokens is under the cursor.
    void point(std::optional<Index> query, std::optional<Index> key) const {
        now.query = query;
        now.key = key;
    }
};

}  // namespace attn::app
