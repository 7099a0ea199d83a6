// Patterns of attention that heads are known for, and others that are given cell by cell.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/theory/head_change.hpp"

namespace attn {

enum class PatternKind : std::uint8_t { previous, itself, first, blocks, permutation, painted };
inline constexpr Index pattern_kind_count = 6;

// Says to which keys each query should attend. Each row shares its weight among its keys in equal parts.
struct Pattern {
    PatternKind kind = PatternKind::previous;
    Index tokens = 8;
    std::uint32_t seed = 1;                  // for the permutation, and for the initial values of the fits
    std::vector<std::uint8_t> painted = {};  // [tokens, tokens]; only for PatternKind::painted
    bool operator==(const Pattern&) const = default;
};
// Says which queries attend to which keys.
std::vector<std::uint8_t> cells_of(const Pattern& pattern);  // [tokens, tokens]
std::vector<double> target_of(const Pattern& pattern);       // [tokens, tokens], rows of weights or of zeros
// Turns the pattern into targets for a head: its cells share most of each row, as far as the head sees them.
std::vector<CellWish> wishes_of(const Pattern& pattern, const Record& record, Index head);

}  // namespace attn
