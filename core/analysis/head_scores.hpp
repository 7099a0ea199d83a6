// What one attention head does with one text, in numbers: how its weights share out over named patterns, how
// spread they are, and the extent of its scores.
//
// A [queries, keys] are the head's weights and t the tokens. The share of a pattern P is Σ A·P / Σ A, the
// score "mul" of TransformerLens' head_detector.py, where also these patterns are from:
//   previous token   k = q − 1
//   duplicate token  k < q and t[k] = t[q]
//   induction        1 ≤ k ≤ q and t[k−1] = t[q]: the token after an earlier copy of this one
// The first token (k = 0, where many heads rest) and the current token (k = q) are measured the same way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/record.hpp"

namespace attn {

struct HeadScores {
    double previous_token = 0;
    double current_token = 0;
    double first_token = 0;
    double duplicate_token = 0;
    double induction = 0;

    // −Σ w ln w in nats, mean over the rows that may look at something.
    double entropy = 0;
    // Entropy / ln(keys that the row may look at), mean over the rows that may look at two or more: 0 is one key
    // alone, 1 is all of them alike.
    double spread = 0;

    // Over the cells that the mask allows; 0 where there is none.
    float scaled_least = 0, scaled_most = 0;
    float contribution_most = 0;
};

// Computed in slices, as the weights are: nothing quadratic is kept.
class HeadScoring {
  public:
    HeadScoring() = default;
    // `ids` [queries] name the tokens; the record and the ids outlive this object.
    HeadScoring(const Record& record, Index head, std::span<const std::int32_t> ids);

    bool step();  // some rows, about 2^16 cells; true while there is more to do
    bool done() const { return !record_ || next_row_ >= record_->queries(); }
    HeadScores scores() const;  // of the rows so far

  private:
    struct Row {
        double sum = 0, entropy = 0;
        Index allowed = 0;
    };
    void add_tile(Range rows, Range cols, std::span<Row> sums);

    const Record* record_ = nullptr;
    Index head_ = 0, next_row_ = 0;
    std::span<const std::int32_t> ids_;
    std::vector<float> value_norms_;  // [keys], ‖V[j]‖
    HeadScores sums_;                 // of the rows so far, not yet divided
    double weight_sum_ = 0;
    Index rows_ = 0, wide_rows_ = 0;  // that may look at something; at two keys or more
    bool any_allowed_ = false;
    std::vector<float> weights_, scaled_;
    std::vector<std::uint8_t> allowed_;
};

}  // namespace attn
