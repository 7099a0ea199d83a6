// One circuit of one head, with its map and, for a chosen token on each side, the tokens at the other end
// with the highest and lowest cells.
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
    // The distance matters if positions rotate queries. Null until the factors are computed. Returns the same
    // object for the same distance.
    const MapPointer& map(Index distance);
    // For a row, lists the columns with its highest and lowest cells; for a column, the rows. Null until the
    // factors are computed.
    const TokenDirections* list(bool of_row, Index token, Index distance);
    // Computes a slice of the factors, then of the requested lists; true while there is more to do.
    bool step();

    // The vectors that the map multiplies, [head_dim]. A row's is rotated for that distance, but not scaled.
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
    std::array<std::optional<List>, 2> lists_;  // for a column, for a row
};

}  // namespace attn::app
