// A record computed in slices, so that its map has a first picture long before it is complete.
#pragma once

#include <memory>

#include "maps/pyramid.hpp"

namespace attn {

// A background job over a record of Record::prepare. To cancel it, drop it.
class RecordJob {
  public:
    explicit RecordJob(Record prepared);

    // Of all heads about 2^18 cells that the mask does not rule out, eight rows at least; true while there is more to do.
    bool step();
    // The rows that a Pyramid samples are computed: it may be stepped until its sample() is there. What it shows of other
    // rows' weights means something only when the record is done.
    bool sampled() const { return sampled_ >= sample_.rows(); }
    bool done() const { return sampled() && computed_ >= all_.rows(); }
    double progress() const;  // 0 … 1

    std::shared_ptr<const Record> record() const { return record_; }

  private:
    Index slice(const MapWindow& window, Index first_row) const;  // rows
    void compute(const MapWindow& window, Index& next_row);

    std::shared_ptr<Record> record_;
    MapWindow sample_, all_;
    Index sampled_ = 0, computed_ = 0;  // rows of each
};

}  // namespace attn
