#include "maps/record_job.hpp"

#include <algorithm>

namespace attn {

namespace {

// Each slice packs all keys and values anew: with fewer cells that is most of its time.
constexpr Index cells_a_step = Index{1} << 19;

}  // namespace

RecordJob::RecordJob(Record prepared)
    : record_(std::make_shared<Record>(std::move(prepared))),
      sample_(sample_window(record_->queries(), record_->keys(), tile_side)),
      rows_(std::max(Index{4}, cells_a_step / std::max(Index{1}, record_->keys() * record_->heads()))) {
    // Where every row is in the sample there is nothing to do first.
    if (sample_.step == 1) sampled_ = sample_.rows();
}

bool RecordJob::step() {
    if (done()) return false;
    if (!sampled()) {
        const Index end = std::min(sampled_ + rows_, sample_.rows());
        record_->compute({sample_.query(sampled_), sample_.query(end - 1) + 1}, sample_.step);
        sampled_ = end;
    } else {
        const Index end = std::min(next_ + rows_, record_->queries());
        record_->compute({next_, end});
        next_ = end;
    }
    return !done();
}

double RecordJob::progress() const {
    return done() ? 1 : static_cast<double>(next_) / static_cast<double>(record_->queries());
}

}  // namespace attn
