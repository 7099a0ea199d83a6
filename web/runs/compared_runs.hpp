// Compares two runs: which of their tokens correspond, how similar a token's vectors and rows of attention
// are in both, and what a head's maps differ by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/comparison.hpp"
#include "maps/map.hpp"
#include "runs/attention.hpp"

namespace attn::app {

// Pairs the tokens of two runs that correspond, including those that replace one another.
class Pairing {
  public:
    Pairing(std::vector<std::int32_t> first, std::vector<std::int32_t> second);

    const Alignment& alignment() const { return alignment_; }
    // A token corresponds to its partner in the other text or, without one, to the same token there if it
    // occurs only once.
    std::optional<Index> second_of(Index first_token) const;
    std::optional<Index> first_of(Index second_token) const;

  private:
    std::vector<std::int32_t> first_ids_, second_ids_;
    Alignment alignment_;
};

// Pairings of the queries and of the keys; in self-attention they are the same.
struct Pairings {
    Pairing queries, keys;
};
Pairings pairings_of(const Attention& first, const Attention& second);

using Versions = std::pair<std::uint64_t, std::uint64_t>;  // the two runs’
inline Versions versions_of(const Attention& first, const Attention& second) {
    return {first.version(), second.version()};
}

// The run whose residual stream a run's queries belong to, and the index of that stack's first attention.
struct QueryStack {
    const Trace* trace = nullptr;  // null: no model
    Index first = 0;
};
QueryStack query_stack(const Attention& attention);

// Returns the head of another run that stands beside this one: the same, or the nearest if that run has
// fewer.
HeadIndex beside(const HeadIndex& head, const Attention& other);

// How similar a query of each run is to the other.
struct Alike {
    Versions versions;
    Index query, second_query;
    Range layers;                  // matching layers, as far as both runs have them
    Index heads;                   // heads per layer
    std::vector<Cosine> residual;  // [layers + 1]; empty without a Trace, or if the streams differ in shape
    std::vector<Cosine> rows;      // [layers, heads]

    const Cosine& row(Index layer, Index head) const {  // `layer` counts the matching ones
        return rows[static_cast<std::size_t>(layer * heads + head)];
    }
};
Alike alike_of(const Attention& first, const Attention& second, const Alignment& keys, Index query,
               Index second_query);

// One head's weights in both runs.
struct PairMaps {
    MapPointer first, second, difference;             // the difference covers corresponding tokens only
    std::vector<std::string> query_names, key_names;  // names for the difference
};
PairMaps pair_maps(const Attention& first, const Attention& second, const Pairings& pairings,
                   const HeadIndex& head);

}  // namespace attn::app
