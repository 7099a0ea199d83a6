// Measures a record in slices, so that its map has a first picture long before it is complete. It computes
// the row numbers, from which every stage follows, but no output.
#pragma once

#include <memory>
#include <vector>

#include "maps/pyramid.hpp"

namespace attn {

// A background job over a record from Record::prepare. To cancel it, drop it.
class RecordJob {
  public:
    explicit RecordJob(Record prepared);

    // Processes about 2^18 cells that the mask does not rule out, and at least eight rows of one head of K
    // and V; true while there is more to do. The output is computed, too, where it takes at most 2^26
    // multiplications.
    bool step();
    // Makes the tiles of a map of weights on the way, from the scores that the row numbers are computed from,
    // as long as somebody else holds the pyramid: Q Kᵀ is computed once then. That is done for the map of an
    // only head that is too large for a tile to be a cell each; any other pyramid is left alone. Tiles whose
    // rows are all measured already are left to Pyramid::step.
    void give_scores(const std::shared_ptr<Pyramid>& pyramid);
    // True once the rows of sample_window(side) are measured: a job that samples these may run, such as a
    // Pyramid until its sample() is there. The weights of other rows are meaningless until the record is
    // done.
    bool sampled(Index side) const;
    bool done() const { return pass_ == passes_.size(); }
    double progress() const;  // 0 … 1

    std::shared_ptr<const Record> record() const { return record_; }

  private:
    // Cells of one head, in the next `rows` rows, without what the mask rules out.
    Index cells(Index rows) const;
    Index slice() const;  // how many rows
    // Some rows whose scores are computed, and then given to the pyramid.
    struct Band {
        struct Release {
            void operator()(float* p) const { AlignedAllocator<float>().deallocate(p, 0); }
        };
        Range queries{};
        Index next_key = 0;
        std::vector<RowSums> sums{};
        // [queries, keys rounded up to 64]. They begin as they are: a slice takes time for new pages, too.
        std::unique_ptr<float, Release> scores{};
    };
    bool in_last_pass() const { return pass_ + 1 == passes_.size(); }
    bool can_give_scores(const Pyramid& pyramid) const;
    void step_for(Pyramid& pyramid);
    void measure_some(Index stride);

    std::shared_ptr<Record> record_;
    std::vector<MapWindow> passes_;  // some rows first, finally all
    std::size_t pass_ = 0;
    Index next_row_ = 0;      // in this pass
    Index next_kv_head_ = 0;  // for these rows
    bool with_output_ = false;
    std::weak_ptr<Pyramid> pyramid_;  // takes the scores
    Band band_;
};

}  // namespace attn
