// What one attention head does with one text, in numbers: how its weights share out over named patterns, how
// spread they are, and the extent of its scores.
//
// A [queries, keys] are the head's weights and t the tokens. The share of a pattern P is Σ A·P / Σ A, the
// score "mul" of TransformerLens' head_detector.py, where also these patterns are from:
//   previous token   k = q − 1
//   duplicate token  k < q and t[k] = t[q]
//   induction        1 ≤ k ≤ q and t[k−1] = t[q]: the token after an earlier copy of this one
// The first token (k = 0, where many heads rest) and the current token (k = q) are measured the same way.
//
// All but the first token, entropy and spread say how queries and keys of one text stand to each other: they are NaN of a map
// that is not square, and duplicate token and induction without the tokens. A masked weight counts 0.
#pragma once

#include <cstdint>
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

    // −Σ w ln w in nats, mean over the rows that may look at something.
    double entropy = 0;
    // Entropy / ln(keys that the row may look at), mean over the rows that may look at two or more: 0 is one key
    // alone, 1 is all of them alike.
    double spread = 0;
};

// Computed in slices, as the weights are: nothing quadratic is kept.
class HeadScoring {
  public:
    HeadScoring() = default;
    // `ids` name the tokens: one for each query, or none.
    HeadScoring(MapPointer weights, std::span<const std::int32_t> ids);

    bool step();  // at most 64 rows by 1,024 keys; true while there is more to do
    bool done() const { return !map_ || next_row_ >= map_->queries(); }
    HeadScores scores() const;  // once it is done

  private:
    struct Row {
        double sum = 0, entropy = 0;
        Index allowed = 0;
    };
    void add(Range rows, Range keys);
    void finish_rows();

    MapPointer map_;
    Index next_row_ = 0, next_key_ = 0;
    // Positions by their token, of one token ascending; of each position where it stands among them, and where the first
    // of its token does.
    std::vector<Index> by_token_, place_, first_;
    HeadScores sums_;  // of the rows so far, not yet divided
    double weight_sum_ = 0;
    Index counted_rows_ = 0, wide_rows_ = 0;  // that may look at something; at two keys or more
    std::vector<Row> rows_;                   // from next_row_ on, of the keys before next_key_
    std::vector<float> cells_;
    std::vector<double> entropies_;
};

}  // namespace attn
