// The weights of the heads that share keys and values in one layer, as a decoding with fewer keys has them.
#pragma once

#include <memory>
#include <vector>

#include "analysis/cached_decoding.hpp"
#include "maps/map.hpp"

namespace attn::app {

// In slices. Queries and keys are the text's tokens; the prompt's queries see all.
class KeptHead {
  public:
    // The decoding is done and evicts keys.
    KeptHead(const CachedDecoding& decoding, Index layer, Index kv_head);

    bool step();  // some rows; true while there is more to do
    bool done() const { return next_ == record_->queries(); }
    // Of all heads; only those that share the keys are measured.
    const Record& record() const { return *record_; }
    MapPointer map(Index head) const { return stage_map(record_, head, Stage::weight); }  // one of these
    bool sees(Index query, Index key) const {
        return key <= query && query < gone_[static_cast<std::size_t>(key)];
    }
    Index gone(Index key) const { return gone_[static_cast<std::size_t>(key)]; }
    // Σ of the weights that these heads gave a key before that query; of heavy hitters alone.
    double sum(Index query, Index key) const;
    // Those that it is the sum of: of the query, over the heads.
    double given(Index query, Index key) const;

  private:
    void add_row();  // of the weights of the query before the next

    std::vector<Index> gone_;
    bool adds_up_;
    std::shared_ptr<Record> record_;
    Range heads_{};  // that share the keys
    Index kv_head_ = 0, next_ = 0;
    std::vector<std::vector<double>> sums_;  // before each query, of the keys before it; or none
};

}  // namespace attn::app
