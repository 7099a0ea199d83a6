// The online softmax: a row of attention from its scores s_j and values v_j, a tile of keys at a time,
// without ever having the whole row (Milakov & Gimelshein 2018, arXiv 1805.02867; with the output, Rabe &
// Staats 2021, arXiv 2112.05682, and Dao et al. 2022, arXiv 2205.14135, Algorithm 1; the output is divided
// once, at the end, as in Dao 2023, arXiv 2307.08691).
//
//   m' = max(m, max_j s_j)   maximum        at first −∞
//   f  = exp(m − m')         factor
//   p_j = exp(s_j − m')      weights, still to be divided by the sum
//   l' = f l + Σ_j p_j       sum            at first 0
//   o' = f o + Σ_j p_j v_j   output [d_v]   at first 0
//
// After the last tile the attention output is o / l. Edge cases are those of attention/record.hpp.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "attention/record.hpp"

namespace attn {

// What a row carries from tile to tile. Real is float or double.
template <class Real>
struct RunningRow {
    Real max = -std::numeric_limits<Real>::infinity(), sum = 0;
    std::vector<Real> output;  // [d_v]
};

// What a tile does to a row.
template <class Real>
struct RowStep {
    std::vector<Real> scores, weights;  // [keys of the tile]; masked scores
    Real factor = 1, weight_sum = 0;
    RunningRow<Real> after;
};

enum class RunningNumber { max_before, max, factor, sum_before, weight_sum, sum };
enum class TileOutput {
    before,
    after,
    result,      // output / sum
    naive,       // softmax of the whole row, times the values
    difference,  // result − naive
};

// The naive order: softmax of the whole row, and then its product with the values. Masked scores [keys],
// values [keys, d_v].
template <class Real>
struct NaiveRow {
    std::vector<Real> weights, output;  // [keys], [d_v]
    NaiveRow(std::span<const Real> scores, ConstMatrix values);
};

// A row's way through its tiles, of which all are kept.
template <class Real>
class OnlineRow {
  public:
    explicit OnlineRow(Index d_v) { start_.output.resize(static_cast<std::size_t>(d_v)); }

    // Takes in the next tile: masked scores [keys], −∞ where the mask forbids, and values [keys, d_v].
    void add(std::span<const Real> scores, ConstMatrix values);
    // Takes in a tile without an allowed cell.
    void skip(Index keys);

    Index tiles() const { return std::ssize(steps_); }
    const RowStep<Real>& step(Index tile) const { return steps_[static_cast<std::size_t>(tile)]; }
    const RunningRow<Real>& before(Index tile) const { return tile > 0 ? step(tile - 1).after : start_; }
    // o / l after that tile, [d_v]; zeros if no key has taken part.
    std::vector<Real> result(Index tile) const;
    std::vector<Real> scores() const;  // all tiles
    // The key with the largest of these scores, and the score; NaN is not compared.
    std::pair<Index, Real> largest_score(Range keys) const;
    // What the tile makes of the row.
    Real number(Index tile, RunningNumber number) const;
    Real output(Index tile, TileOutput output, const NaiveRow<Real>& naive, Index component) const;

  private:
    RunningRow<Real> start_;
    std::vector<RowStep<Real>> steps_;
};

extern template class OnlineRow<float>;
extern template class OnlineRow<double>;
extern template struct NaiveRow<float>;
extern template struct NaiveRow<double>;

// Walks some rows of a head through all tiles of keys in f32, from the scores that the kernels give, a tile
// at a time.
class OnlineWalk {
  public:
    OnlineWalk(std::shared_ptr<const Record> record, Index head, Range queries, Index keys_a_tile);

    bool step();  // the next tile; true while there are more
    bool done() const { return next_ >= record_->keys(); }
    Range queries() const { return queries_; }
    const OnlineRow<float>& row(Index query) const {
        return rows_[static_cast<std::size_t>(query - queries_.begin)];
    }
    ConstMatrix values() const;  // [keys, d_v]

    // The query whose numbers the tile rescales most; the first one if it rescales none.
    Index most_rescaled(Index tile) const;

    // These require a finished walk.
    const NaiveRow<float>& naive(Index query);
    struct Difference {
        double largest = 0;  // finite, between the outputs after a tile and those of the naive order
        bool finite = true;  // all of them are finite
    };
    Difference difference(Index tile);

  private:
    std::shared_ptr<const Record> record_;
    Index head_;
    Range queries_;
    Index keys_a_tile_, next_ = 0;  // key
    std::vector<OnlineRow<float>> rows_;
    std::vector<NaiveRow<float>> naive_;
};

// Walks one row in double, from scores in double.
OnlineRow<double> exact_walk(const Record& record, Index head, Index query, Index keys_a_tile);

// One row in f32 and in double, by tiles and in the naive order.
struct RowBothWays {
    OnlineRow<float> f32;
    OnlineRow<double> f64;
    NaiveRow<float> naive32;
    NaiveRow<double> naive64;
};
RowBothWays row_both_ways(const std::shared_ptr<const Record>& record, Index head, Index query,
                          Index keys_a_tile);

}  // namespace attn
