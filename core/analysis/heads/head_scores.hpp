// Describes in numbers what one attention head does with one text: how its weights are shared among known
// patterns, how spread out they are, and the range of its scores.
//
// A [queries, keys] are the head's weights, and t are the tokens. The share of a pattern P is Σ A·P / Σ A,
// the score "mul" of TransformerLens' head_detector.py, which also defines these patterns:
//   previous token   k = q − 1
//   duplicate token  k < q and t[k] = t[q]
//   induction        1 ≤ k ≤ q and t[k−1] = t[q]: the token after an earlier copy of this one
// The first token (k = 0, where many heads park unused attention) and the current token (k = q)
// are measured the same way.
//
// All scores but the first token, entropy and spread relate queries and keys of one text: they are NaN for a
// map that is not square or whose keys are of another text, and so are duplicate token and induction without
// the tokens. A masked weight counts as 0. Rows whose weights sum to 0, and those with a weight that is not
// finite, count for no score; a head of such rows alone has none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "maps/map.hpp"

namespace attn {

struct HeadScores {
    double previous_token = 0;
    double current_token = 0;
    double first_token = 0;
    double duplicate_token = 0;
    double induction = 0;

    // Σ A · |q − k| / Σ A, in tokens (Vig & Belinkov 2019, arXiv 1906.04284).
    double distance = 0;

    // −Σ w ln w in nats, the mean over the rows that count.
    double entropy = 0;
    // Entropy / ln(number of keys that the row may attend to), the mean over those that may attend to two or
    // more: 0 means that one key has it all, 1 that all keys have the same.
    double spread = 0;
};

// Where the tokens of a text come again.
struct TokenCopies {
    explicit TokenCopies(std::span<const std::int32_t> ids);
    // by_token lists positions grouped by token, ascending within each. For each position, `place` is its
    // index in that list, and `first` the index of its token's first position.
    std::vector<Index> by_token, place, first;
};

// Computed in slices, like the weights: nothing quadratic is kept.
class HeadScoring {
  public:
    // The sums over the first rows, not yet divided.
    struct Sums {
        HeadScores scores;
        double weights = 0;
        Index counted_rows = 0, wide_rows = 0;  // `wide_rows` may attend to two keys or more
        Index rows = 0;
    };

    HeadScoring() = default;
    // `ids` are the tokens: one for each query, or none. No copies: the keys are another text's.
    HeadScoring(MapPointer weights, std::span<const std::int32_t> ids)
        : HeadScoring(std::move(weights), std::make_shared<const TokenCopies>(ids)) {}
    HeadScoring(MapPointer weights, std::shared_ptr<const TokenCopies> copies)
        : map_(std::move(weights)), copies_(std::move(copies)) {}

    // Before the first step: goes on from what another scoring had after some rows, if its first `kept` rows
    // were the same.
    void go_on_from(std::span<const Sums> before, Index kept);
    // The sums after every 64 rows and at the end so far, so that another scoring can go on from there.
    const std::vector<Sums>& sums() const { return sums_; }

    bool step();  // at most 64 rows by 1,024 keys; true while there is more to do
    bool done() const { return !map_ || next_row() >= map_->queries(); }
    HeadScores scores() const;  // call this when it is done

  private:
    struct Row {
        HeadScores parts;
        double sum = 0;
        Index allowed = 0;
    };
    Index next_row() const { return sums_.empty() ? 0 : sums_.back().rows; }
    void add(Range rows, Range keys);
    void finish_rows();

    MapPointer map_;
    std::shared_ptr<const TokenCopies> copies_;
    std::vector<Sums> sums_;
    Index next_key_ = 0;
    std::vector<Row> rows_;  // the next one first, over the keys before next_key_
    std::vector<float> cells_;
    std::vector<double> entropies_;
};

}  // namespace attn
