// One circuit of one head, with its map and, for a chosen token on each side, the tokens at the other end
// with the highest and lowest cells.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/heads/circuit_maps.hpp"
#include "analysis/heads/token_directions.hpp"
#include "model/explain.hpp"

namespace attn {

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
    // With rotary positions: mean_score_by_distance. Null until the factors are computed.
    const std::vector<double>* by_distance();
    // Computes a slice of the factors, then of the requested lists; true while there is more to do.
    bool step();

    // The vectors that the map multiplies, [head_dim]. A row's is rotated for that distance, but not scaled.
    std::vector<float> left(Index row, Index distance) const;
    std::vector<float> right(Index column) const;
    // Their products in double.
    std::vector<Term> explain_cell(Index row, Index column, Index distance) const;
    // One component in double: of a row's q or v, rotated for that distance, and of a column's k. V has no
    // bias here.
    VectorComponent explain_left(Index row, Index component, Index distance) const;
    VectorComponent explain_key(Index column, Index component) const;
    // With OV: the products that a component of a column's vector is the sum of.
    std::vector<Term> explain_written(Index column, Index component) const;

  private:
    const Network& network() const { return job_.ends().model()->network(); }
    Index key_head() const;  // the head's keys and values
    CircuitRotation rotation_at(Index distance) const;

    struct List {
        Index token = 0, distance = 0;
        std::unique_ptr<TokenDirections> found;
    };
    CircuitJob job_;
    Index distance_ = 0;
    MapPointer map_;
    std::array<std::optional<List>, 2> lists_;  // for a column, for a row
    std::optional<std::vector<double>> by_distance_;
};

}  // namespace attn
