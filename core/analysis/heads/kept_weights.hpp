// Computes the weights of the heads that share keys and values in one layer, in a decoding with fewer keys.
#pragma once

#include <memory>
#include <vector>

#include "analysis/cached_decoding.hpp"
#include "maps/map.hpp"

namespace attn {

// Works in slices. Queries and keys are the text's tokens; the prompt's queries see all keys.
class KeptWeights {
  public:
    // Requires a finished decoding that evicts keys.
    KeptWeights(const CachedDecoding& decoding, Index layer, Index kv_head);

    bool step();  // some rows; true while there is more to do
    bool done() const { return next_ == record_->queries(); }
    // Holds all heads, but only those that share the keys are measured.
    const Record& record() const { return *record_; }
    // Requires a head that shares the keys.
    MapPointer map(Index head) const { return stage_map(record_, head, Stage::weight); }
    bool sees(Index query, Index key) const {
        return key <= query && query < gone_[static_cast<std::size_t>(key)];
    }
    Index gone(Index key) const { return gone_[static_cast<std::size_t>(key)]; }
    // Σ of the weights that these heads gave a key before that query; for heavy hitters only.
    double sum(Index query, Index key) const;
    // Returns one summand of sum(): the weights that a query gave, summed over the heads.
    double given(Index query, Index key) const;

  private:
    void add_row();  // adds the weights of the previous query

    std::vector<Index> gone_;
    bool adds_up_;
    std::shared_ptr<Record> record_;
    Range heads_{};  // heads that share the keys
    Index kv_head_ = 0, next_ = 0;
    std::vector<std::vector<double>> sums_;  // for each query, over earlier keys and queries; may be empty
};

}  // namespace attn
