// Defines the settings of lens Make it so, and the commands that change them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/fields.hpp"
#include "lenses/inverse/head_change.hpp"

namespace attn::app {

inline constexpr std::size_t wish_limit = 32;
inline constexpr Index pattern_least = 2, pattern_limit = 16;  // tokens in a pattern
inline constexpr Index pattern_block = 3;

enum class PatternKind : std::uint8_t { previous, itself, first, blocks, permutation, painted };
inline constexpr Index pattern_kind_count = 6;

// A pattern to fit. Each row shares its weight among its keys in equal parts.
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

struct InverseState {
    ChangeOf of = ChangeOf::q;
    std::vector<CellWish> wishes = {};  // ordered by query, then by key
    Pattern pattern;
    Index components = 2;  // d_k of the fit that is shown
    bool operator==(const InverseState&) const = default;
    static const Fields<InverseState>& fields();

    const CellWish* wish_of(Index query, Index key) const;
    // Add or replace a target, or remove it.
    void wish(Index query, Index key, double weight);
    void forget(Index query, Index key);
};
using SetInverse = Set<InverseState>;
// Sets all numbers of a change at once.
struct MakeItSo {
    std::vector<Command> edits;
    Status apply(State& state) const;
    std::string describe(const State&) const { return "the least change that makes it so"; }
};

LinkRows inverse_links();

}  // namespace attn::app
