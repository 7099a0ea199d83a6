// A record measured in slices, so that its map has a first picture long before it is complete: its row numbers, from which
// every stage follows. It has no output.
#pragma once

#include <memory>
#include <vector>

#include "maps/pyramid.hpp"

namespace attn {

// A background job over a record of Record::prepare. To cancel it, drop it.
class RecordJob {
  public:
    explicit RecordJob(Record prepared);

    // About 2^18 cells that the mask does not rule out, eight rows of a head of K and V at least; true while there is more
    // to do.
    bool step();
    // The rows of sample_window(side) are measured: a job that samples so may run, such as a Pyramid's until its sample() is
    // there. What other rows' weights say means something only when the record is done.
    bool sampled(Index side) const;
    bool done() const { return pass_ == passes_.size(); }
    double progress() const;  // 0 … 1

    std::shared_ptr<const Record> record() const { return record_; }

  private:
    Index cells(Index rows) const;  // of the next so many rows, of a head, that the mask does not rule out
    Index slice() const;            // rows

    std::shared_ptr<Record> record_;
    std::vector<MapWindow> passes_;  // some rows first, all in the end
    std::size_t pass_ = 0;
    Index next_row_ = 0;      // of the pass
    Index next_kv_head_ = 0;  // of these rows
};

}  // namespace attn
