// Says which sources decide between the keys of a row, and between the keys of all rows of many texts, in
// slices: a source's share of the variance of the scores (score_sources.hpp). Biases are one source.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analysis/attribution/score_terms.hpp"

namespace attn {

class RowSources {
  public:
    // The place's key does not matter.
    explicit RowSources(ScorePlace place);

    bool step();  // takes a key apart; true while there is more to do
    bool done() const { return done_; }
    float progress() const;

    const ScorePlace& place() const { return place_; }
    const std::vector<Index>& keys() const { return keys_; }  // visible to the query
    // Once done.
    const RowTerms& terms() const { return terms_; }
    const std::vector<DecidingSource>& deciding() const { return deciding_; }
    // What the source of this rank, or all past the last one, adds to the score of keys()[i].
    double added(Index rank, Index i) const;

  private:
    ScorePlace place_;
    std::vector<Index> keys_;
    std::optional<WrittenRows> heads_;
    std::vector<std::vector<Source>> sources_;  // [keys], as far as they are known
    RowTerms terms_;
    std::vector<DecidingSource> deciding_;
    bool done_ = false;
};

class TextSources {
  public:
    TextSources(std::vector<std::shared_ptr<const Trace>> texts, Index attention, Index head);

    bool step();  // takes a key apart, or adds a row; true while there is more to do
    bool done() const { return text_ == std::ssize(texts_); }
    float progress() const;

    // Once done. A text's share is the sum of the covariances in all its rows, over that of the variances.
    // Texts whose scores do not vary, or are not finite, are left out.
    struct Mean : DecidingSource {
        std::vector<double> of_texts = {};  // [texts that count]
    };
    const std::vector<Mean>& means() const { return means_; }       // the largest share first
    const std::vector<Index>& counted() const { return counted_; }  // the texts that count

  private:
    void finish_text();

    std::vector<std::shared_ptr<const Trace>> texts_;
    Index attention_, head_, text_ = 0, row_ = 0;
    std::optional<WrittenRows> heads_;
    std::vector<std::vector<Source>> keys_;  // the present text's
    std::vector<Mean> present_;              // its covariances so far
    double variance_ = 0;
    std::vector<Mean> means_;
    std::vector<Index> counted_;
};

}  // namespace attn
