// A record computed in slices, so that its map has a first picture long before it is complete.
#pragma once

#include <memory>

#include "maps/pyramid.hpp"

namespace attn {

// A background job over a record of Record::prepare. To cancel it, drop it.
class RecordJob {
  public:
    explicit RecordJob(Record prepared);

    // About 2^19 cells, four rows at least; true while there is more to do.
    bool step();
    // The rows that a Pyramid samples are computed: it may be stepped until its sample() is there. What it shows of other
    // rows' weights means something only when the record is done.
    bool sampled() const { return sampled_ >= sample_.rows(); }
    bool done() const { return sampled() && next_ == record_->queries(); }
    double progress() const;  // 0 … 1

    std::shared_ptr<const Record> record() const { return record_; }

  private:
    std::shared_ptr<Record> record_;
    MapWindow sample_;
    Index rows_ = 1;                // a slice
    Index sampled_ = 0, next_ = 0;  // rows of the sample, and of all
};

}  // namespace attn
