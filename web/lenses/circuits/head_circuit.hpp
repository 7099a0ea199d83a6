// One circuit of one head, with its map and, for a chosen token on each side, the tokens at the other end that it finds
// highest and lowest.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "analysis/heads/circuit_maps.hpp"
#include "analysis/heads/token_directions.hpp"

namespace attn::app {

inline constexpr std::size_t circuit_ends_listed = 8;

class HeadCircuit {
  public:
    explicit HeadCircuit(CircuitJob job) : job_(std::move(job)) {}

    const CircuitJob& job() const { return job_; }
    bool done() const { return job_.done(); }
    // At a distance where positions turn queries; null until its factors are made. The same object for the same distance.
    const MapPointer& map(Index distance);
    // Of a row, the columns with its highest and lowest cells; of a column, the rows. Null until its factors are made.
    const TokenDirections* list(bool of_row, Index token, Index distance);
    // Does a slice of the factors, then of the lists that were asked for; true while there is more to do.
    bool step();

    // What the map multiplies, [head_dim]: of a row turned as at that distance, but not scaled.
    std::vector<float> left(Index row, Index distance) const;
    std::vector<float> right(Index column) const;

  private:
    CircuitRotation turn_at(Index distance) const;

    struct List {
        Index token = 0, distance = 0;
        std::unique_ptr<TokenDirections> found;
    };
    CircuitJob job_;
    Index distance_ = 0;
    MapPointer map_;
    std::array<std::optional<List>, 2> lists_;  // of a column, of a row
};

}  // namespace attn::app
