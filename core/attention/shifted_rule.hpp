// The mask as the kernels see it, of a part of its heads and queries.
#pragma once

#include "kernels/table.hpp"

namespace attn {

// Shifts the rule for a call that begins at another head, and whose queries are every `step`-th from a given
// one on.
struct ShiftedRule {
    CellRule rule;
    Index head = 0, query = 0, step = 1;

    CellRule shifted() const {
        return {.self = this,
                .row = rule.row ? &row : nullptr,
                .tile = rule.tile ? &tile : nullptr,
                .run = rule.run ? &run : nullptr};
    }
    static void row(const void* self, Index head, Index query, Index first_key,
                    std::span<std::uint8_t> allowed) {
        const auto& s = *static_cast<const ShiftedRule*>(self);
        s.rule.row(s.rule.self, s.head + head, s.query + query * s.step, first_key, allowed);
    }
    static Coverage tile(const void* self, Index head, Range queries, Range keys) {
        const auto& s = *static_cast<const ShiftedRule*>(self);
        // This also covers the rows in between: what holds for all of them holds for some.
        return s.rule.tile(s.rule.self, s.head + head,
                           {s.query + queries.begin * s.step, s.query + (queries.end - 1) * s.step + 1},
                           keys);
    }
    static bool run(const void* self, Index head, Index query, Range& keys) {
        const auto& s = *static_cast<const ShiftedRule*>(self);
        return s.rule.run(s.rule.self, s.head + head, s.query + query * s.step, keys);
    }
};

}  // namespace attn
